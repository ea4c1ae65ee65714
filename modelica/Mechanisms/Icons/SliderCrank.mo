within Mechanisms.Icons;
partial model SliderCrank "Icon of a slider-crank"
  extends Mechanism;
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{18,-8.2},{57,-8.2}}, color={64,64,64}),
        Line(points={{22.8,-8.2},{18,-13}}, color={64,64,64}),
        Line(points={{30,-8.2},{25.2,-13}}, color={64,64,64}),
        Line(points={{37.2,-8.2},{32.4,-13}}, color={64,64,64}),
        Line(points={{44.4,-8.2},{39.6,-13}}, color={64,64,64}),
        Line(points={{51.6,-8.2},{46.8,-13}}, color={64,64,64}),
        Line(points={{-60,-1},{57,-1}}, color={160,160,160}, pattern=LinePattern.DashDot),
        Polygon(points={{-36,-1},{-42,-10.6},{-30,-10.6},{-36,-1}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Line(points={{-45.6,-10.6},{-26.4,-10.6}}, color={64,64,64}),
        Line(points={{-40.8,-10.6},{-45.6,-15.4}}, color={64,64,64}),
        Line(points={{-33.6,-10.6},{-38.4,-15.4}}, color={64,64,64}),
        Line(points={{-26.4,-10.6},{-31.2,-15.4}}, color={64,64,64}),
        Rectangle(extent={{20.8,6.2},{42.4,-8.2}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Line(points={{-36,-1},{-25.8,16.6}}, color={90,110,150}, thickness=0.9),
        Line(points={{-25.8,16.6},{31.6,-1}}, color={90,110,150}, thickness=0.6),
        Ellipse(extent={{-39.6,2.6},{-32.4,-4.6}}, lineColor={64,64,64}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Ellipse(extent={{-28.8,19.6},{-22.8,13.6}}, lineColor={64,64,64}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Ellipse(extent={{28.6,2},{34.6,-4}}, lineColor={64,64,64}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Line(points={{-22.8,-1},{-24,4.4},{-26.4,8},{-29.4,10.4}}, color={0,0,127},
          arrow={Arrow.None,Arrow.Filled}, smooth=Smooth.Bezier),
        Text(extent={{-21.6,11.6},{-13.2,3.2}}, textColor={0,0,127}, textString="q"),
        Text(extent={{-42,16.4},{-31.2,8}}, textColor={64,64,64}, textString="1"),
        Text(extent={{0,22.4},{9.6,14}}, textColor={64,64,64}, textString="2"),
        Text(extent={{28,18.2},{36.4,8.6}}, textColor={64,64,64}, textString="3")}),
    Documentation(info="<html>
<p>Icon of a slider-crank. It holds no equation.</p>
</html>"));
end SliderCrank;
