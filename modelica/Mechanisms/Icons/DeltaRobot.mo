within Mechanisms.Icons;
partial model DeltaRobot "Icon of a delta robot"
  extends Mechanism;
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Rectangle(extent={{-30,41.6},{30,34.4}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Line(points={{-28.8,41.6},{-24,46.4}}, color={64,64,64}),
        Line(points={{-21.6,41.6},{-16.8,46.4}}, color={64,64,64}),
        Line(points={{-14.4,41.6},{-9.6,46.4}}, color={64,64,64}),
        Line(points={{-7.2,41.6},{-2.4,46.4}}, color={64,64,64}),
        Line(points={{0,41.6},{4.8,46.4}}, color={64,64,64}),
        Line(points={{7.2,41.6},{12,46.4}}, color={64,64,64}),
        Line(points={{14.4,41.6},{19.2,46.4}}, color={64,64,64}),
        Line(points={{21.6,41.6},{26.4,46.4}}, color={64,64,64}),
        Line(points={{-24,34.4},{-50.4,17.6}}, color={90,110,150}, thickness=0.9),
        Line(points={{24,34.4},{50.4,17.6}}, color={90,110,150}, thickness=0.9),
        Line(points={{0,34.4},{0,14}}, color={90,110,150}, thickness=0.9),
        Line(points={{-52.8,17.6},{-13.2,-35.2}}, color={64,64,64}),
        Line(points={{-48,17.6},{-8.4,-35.2}}, color={64,64,64}),
        Ellipse(extent={{-53.4,20.6},{-47.4,14.6}}, lineColor={64,64,64}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Line(points={{48,17.6},{8.4,-35.2}}, color={64,64,64}),
        Line(points={{52.8,17.6},{13.2,-35.2}}, color={64,64,64}),
        Ellipse(extent={{47.4,20.6},{53.4,14.6}}, lineColor={64,64,64}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Line(points={{-2.4,14},{-2.4,-35.2}}, color={64,64,64}),
        Line(points={{2.4,14},{2.4,-35.2}}, color={64,64,64}),
        Ellipse(extent={{-3,17},{3,11}}, lineColor={64,64,64}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Rectangle(extent={{-15.6,-32.8},{15.6,-38.8}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Ellipse(extent={{-28.2,38.6},{-19.8,30.2}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Ellipse(extent={{19.8,38.6},{28.2,30.2}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Ellipse(extent={{-4.2,38.6},{4.2,30.2}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Text(extent={{18,-31.6},{30,-42.4}}, textColor={0,0,127}, textString="r")}),
    Documentation(info="<html>
<p>Icon of a delta robot. It holds no equation.</p>
</html>"));
end DeltaRobot;
