within Mechanisms;
package Sources "Motions that excite a machine"
  extends Modelica.Icons.Package;
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-64,-26},{64,-26}}, color={160,160,160}),
        Line(points={{-64,-26},{-32,30},{0,-26},{32,-82},{64,-26}}, color={0,0,127}, thickness=0.4,
          smooth=Smooth.Bezier)}),
    Documentation(info="<html>
<p>
Signals whose position, speed and acceleration fit together exactly, for inverse models.
</p>
</html>"));
end Sources;
