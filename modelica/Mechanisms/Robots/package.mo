within Mechanisms;
package Robots "Parallel and serial robots"
  extends Modelica.Icons.Package;
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Rectangle(extent={{-36,21.5},{36,12.9}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Line(points={{-34.6,21.5},{-28.8,27.3}}, color={64,64,64}),
        Line(points={{-25.9,21.5},{-20.2,27.3}}, color={64,64,64}),
        Line(points={{-17.3,21.5},{-11.5,27.3}}, color={64,64,64}),
        Line(points={{-8.6,21.5},{-2.9,27.3}}, color={64,64,64}),
        Line(points={{0,21.5},{5.8,27.3}}, color={64,64,64}),
        Line(points={{8.6,21.5},{14.4,27.3}}, color={64,64,64}),
        Line(points={{17.3,21.5},{23,27.3}}, color={64,64,64}),
        Line(points={{25.9,21.5},{31.7,27.3}}, color={64,64,64}),
        Line(points={{-28.8,12.9},{-60.5,-7.3}}, color={90,110,150}, thickness=1.08),
        Line(points={{28.8,12.9},{60.5,-7.3}}, color={90,110,150}, thickness=1.08),
        Line(points={{0,12.9},{0,-11.6}}, color={90,110,150}, thickness=1.08),
        Line(points={{-63.4,-7.3},{-15.8,-70.6}}, color={64,64,64}),
        Line(points={{-57.6,-7.3},{-10.1,-70.6}}, color={64,64,64}),
        Ellipse(extent={{-64.1,-3.7},{-56.9,-10.9}}, lineColor={64,64,64}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Line(points={{57.6,-7.3},{10.1,-70.6}}, color={64,64,64}),
        Line(points={{63.4,-7.3},{15.8,-70.6}}, color={64,64,64}),
        Ellipse(extent={{56.9,-3.7},{64.1,-10.9}}, lineColor={64,64,64}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Line(points={{-2.9,-11.6},{-2.9,-70.6}}, color={64,64,64}),
        Line(points={{2.9,-11.6},{2.9,-70.6}}, color={64,64,64}),
        Ellipse(extent={{-3.6,-8},{3.6,-15.2}}, lineColor={64,64,64}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Rectangle(extent={{-18.7,-67.8},{18.7,-75}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Ellipse(extent={{-33.8,17.9},{-23.8,7.8}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Ellipse(extent={{23.8,17.9},{33.8,7.8}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Ellipse(extent={{-5,17.9},{5,7.8}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid)}),
    Documentation(info="<html>
<p>Robots: rotary arms (delta robot) and vertical rails (tripod) in parallel, and arms of links in series.</p>
</html>"));
end Robots;
