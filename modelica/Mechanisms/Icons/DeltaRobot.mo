within Mechanisms.Icons;
partial model DeltaRobot "Icon of a delta robot"
  extends Mechanism;
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Rectangle(extent={{-36.2,50.4},{40.2,41.3}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Line(points={{-34.7,50.4},{-28.6,56.5}}, color={64,64,64}),
        Line(points={{-25.5,50.4},{-19.4,56.5}}, color={64,64,64}),
        Line(points={{-16.3,50.4},{-10.2,56.5}}, color={64,64,64}),
        Line(points={{-7.2,50.4},{-1.1,56.5}}, color={64,64,64}),
        Line(points={{2,50.4},{8.1,56.5}}, color={64,64,64}),
        Line(points={{11.2,50.4},{17.3,56.5}}, color={64,64,64}),
        Line(points={{20.3,50.4},{26.4,56.5}}, color={64,64,64}),
        Line(points={{29.5,50.4},{35.6,56.5}}, color={64,64,64}),
        Line(points={{-28.6,41.3},{-62.2,19.9}}, color={90,110,150}, thickness=1.15),
        Line(points={{32.6,41.3},{66.2,19.9}}, color={90,110,150}, thickness=1.15),
        Line(points={{2,41.3},{2,15.3}}, color={90,110,150}, thickness=1.15),
        Line(points={{-65.2,19.9},{-14.8,-47.4}}, color={64,64,64}),
        Line(points={{-59.1,19.9},{-8.7,-47.4}}, color={64,64,64}),
        Ellipse(extent={{-66,23.7},{-58.4,16}}, lineColor={64,64,64}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Line(points={{63.1,19.9},{12.7,-47.4}}, color={64,64,64}),
        Line(points={{69.2,19.9},{18.8,-47.4}}, color={64,64,64}),
        Ellipse(extent={{62.4,23.7},{70,16}}, lineColor={64,64,64}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Line(points={{-1.1,15.3},{-1.1,-47.4}}, color={64,64,64}),
        Line(points={{5.1,15.3},{5.1,-47.4}}, color={64,64,64}),
        Ellipse(extent={{-1.8,19.1},{5.8,11.5}}, lineColor={64,64,64}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Rectangle(extent={{-17.9,-44.3},{21.9,-52}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Ellipse(extent={{-33.9,46.6},{-23.2,35.9}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Ellipse(extent={{27.2,46.6},{37.9,35.9}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Ellipse(extent={{-3.3,46.6},{7.3,35.9}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Text(extent={{24.9,-42.8},{40.2,-56.5}}, textColor={0,0,127}, textString="r")}),
    Documentation(info="<html>
<p>Icon of a delta robot. It holds no equation.</p>
</html>"));
end DeltaRobot;
