within ;
package Mechanisms "Machines with friction, made for the estimation of their parameters"
  extends Modelica.Icons.Package;
  import Modelica.Units.SI;
  annotation (
    preferredView="info",
    uses(Modelica(version="4.0.0")),
    version="1.0.0",
    versionDate="2026-11-28",
    dateModified="2026-11-28 00:00:00Z",
    conversion(
      from(version={"0.3.0","0.4.0"},
        script="modelica://Mechanisms/Resources/Scripts/ConvertFromMechanisms_0.4.0.mos"),
      from(version={"0.1.0","0.2.0"}, to="0.4.0",
        script="modelica://Mechanisms/Resources/Scripts/ConvertFromMechanisms_0.2.0.mos")),
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{23.5,-42.5},{78.8,-42.5}}, color={64,64,64}),
        Line(points={{30.3,-42.5},{23.5,-49.2}}, color={64,64,64}),
        Line(points={{40.5,-42.5},{33.7,-49.2}}, color={64,64,64}),
        Line(points={{50.7,-42.5},{43.9,-49.2}}, color={64,64,64}),
        Line(points={{60.9,-42.5},{54.1,-49.2}}, color={64,64,64}),
        Line(points={{71.1,-42.5},{64.3,-49.2}}, color={64,64,64}),
        Line(points={{-87,-32.2},{78.8,-32.2}}, color={160,160,160}, pattern=LinePattern.DashDot),
        Polygon(points={{-53,-32.2},{-61.5,-45.8},{-44.5,-45.8},{-53,-32.2}}, lineColor={64,64,64},
          fillColor={192,192,192}, fillPattern=FillPattern.Solid),
        Line(points={{-66.6,-45.8},{-39.4,-45.8}}, color={64,64,64}),
        Line(points={{-59.8,-45.8},{-66.6,-52.6}}, color={64,64,64}),
        Line(points={{-49.6,-45.8},{-56.4,-52.6}}, color={64,64,64}),
        Line(points={{-39.4,-45.8},{-46.2,-52.6}}, color={64,64,64}),
        Rectangle(extent={{27.4,-22.1},{58,-42.5}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Line(points={{-53,-32.2},{-38.5,-7.3}}, color={90,110,150}, thickness=1.275),
        Line(points={{-38.5,-7.3},{42.7,-32.2}}, color={90,110,150}, thickness=0.85),
        Ellipse(extent={{-58.1,-27.1},{-47.9,-37.4}}, lineColor={64,64,64}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Ellipse(extent={{-42.8,-3},{-34.3,-11.5}}, lineColor={64,64,64}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid)}),
    Documentation(info="<html>
<p>
Machines whose parameters are to be estimated from measurements: oscillators, friction, drive trains, linkages and
robots, with the flanges of the Modelica Standard Library. Start with
<a href=\"modelica://Mechanisms.UsersGuide\">UsersGuide</a> for the conventions, with
<a href=\"modelica://Mechanisms.Examples\">Examples</a> for models that run as they are, and with
<a href=\"modelica://Mechanisms.FMUs\">FMUs</a> for what is exported.
</p>
</html>"));
end Mechanisms;
