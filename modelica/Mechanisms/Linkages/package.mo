within Mechanisms;
package Linkages "Planar linkages with closed loops"
  extends Modelica.Icons.Package;
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{20,-41.6},{72,-41.6}}, color={64,64,64}),
        Line(points={{26.4,-41.6},{20,-48}}, color={64,64,64}),
        Line(points={{36,-41.6},{29.6,-48}}, color={64,64,64}),
        Line(points={{45.6,-41.6},{39.2,-48}}, color={64,64,64}),
        Line(points={{55.2,-41.6},{48.8,-48}}, color={64,64,64}),
        Line(points={{64.8,-41.6},{58.4,-48}}, color={64,64,64}),
        Line(points={{-84,-32},{72,-32}}, color={160,160,160}, pattern=LinePattern.DashDot),
        Polygon(points={{-52,-32},{-60,-44.8},{-44,-44.8},{-52,-32}}, lineColor={64,64,64},
          fillColor={192,192,192}, fillPattern=FillPattern.Solid),
        Line(points={{-64.8,-44.8},{-39.2,-44.8}}, color={64,64,64}),
        Line(points={{-58.4,-44.8},{-64.8,-51.2}}, color={64,64,64}),
        Line(points={{-48.8,-44.8},{-55.2,-51.2}}, color={64,64,64}),
        Line(points={{-39.2,-44.8},{-45.6,-51.2}}, color={64,64,64}),
        Rectangle(extent={{23.7,-22.4},{52.5,-41.6}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Line(points={{-52,-32},{-38.4,-8.5}}, color={90,110,150}, thickness=1.2),
        Line(points={{-38.4,-8.5},{38.1,-32}}, color={90,110,150}, thickness=0.8),
        Ellipse(extent={{-56.8,-27.2},{-47.2,-36.8}}, lineColor={64,64,64}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Ellipse(extent={{-42.4,-4.5},{-34.4,-12.5}}, lineColor={64,64,64}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Ellipse(extent={{34.1,-28},{42.1,-36}}, lineColor={64,64,64}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Line(points={{-34.4,-32},{-36,-24.8},{-39.2,-20},{-43.2,-16.8}}, color={0,0,127},
          arrow={Arrow.None,Arrow.Filled}, smooth=Smooth.Bezier)}),
    Documentation(info="<html>
<p>
Planar mechanisms with a closed kinematic loop, solved in closed form.
</p>
</html>"));
end Linkages;
