within Mechanisms.Icons;
partial model SliderCrank "Icon of a slider-crank"
  extends Mechanism;
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-1.3,18.4},{44,18.4}}, color={64,64,64}),
        Line(points={{4.2,18.4},{-1.3,12.8}}, color={64,64,64}),
        Line(points={{12.6,18.4},{7,12.8}}, color={64,64,64}),
        Line(points={{21,18.4},{15.4,12.8}}, color={64,64,64}),
        Line(points={{29.4,18.4},{23.8,12.8}}, color={64,64,64}),
        Line(points={{37.7,18.4},{32.1,12.8}}, color={64,64,64}),
        Line(points={{-92,26.8},{44,26.8}}, color={160,160,160}, pattern=LinePattern.DashDot),
        Polygon(points={{-64.1,26.8},{-71.1,15.6},{-57.1,15.6},{-64.1,26.8}}, lineColor={64,64,64},
          fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Line(points={{-75.3,15.6},{-52.9,15.6}}, color={64,64,64}),
        Line(points={{-69.7,15.6},{-75.3,10}}, color={64,64,64}),
        Line(points={{-61.3,15.6},{-66.9,10}}, color={64,64,64}),
        Line(points={{-52.9,15.6},{-58.5,10}}, color={64,64,64}),
        Rectangle(extent={{1.9,35.1},{27,18.4}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Line(points={{-64.1,26.8},{-52.2,47.2}}, color={90,110,150}, thickness=1.05),
        Line(points={{-52.2,47.2},{14.5,26.8}}, color={90,110,150}, thickness=0.7),
        Ellipse(extent={{-68.3,31},{-59.9,22.6}}, lineColor={64,64,64}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Ellipse(extent={{-55.7,50.7},{-48.8,43.7}}, lineColor={64,64,64}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Ellipse(extent={{11,30.3},{18,23.3}}, lineColor={64,64,64}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Line(points={{-48.8,26.8},{-50.2,33},{-52.9,37.2},{-56.4,40}}, color={0,0,127},
          arrow={Arrow.None,Arrow.Filled}, smooth=Smooth.Bezier),
        Text(extent={{-47.4,41.4},{-37.6,31.7}}, textColor={0,0,127}, textString="q"),
        Text(extent={{-71.1,47},{-58.5,37.2}}, textColor={64,64,64}, textString="1"),
        Text(extent={{-22.3,54},{-11.1,44.2}}, textColor={64,64,64}, textString="2"),
        Text(extent={{10.3,49.1},{20.1,37.9}}, textColor={64,64,64}, textString="3")}),
    Documentation(info="<html>
<p>Icon of a slider-crank. It holds no equation.</p>
</html>"));
end SliderCrank;
