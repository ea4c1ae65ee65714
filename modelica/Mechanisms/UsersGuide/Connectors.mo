within Mechanisms.UsersGuide;
class Connectors "Flanges inside, signals outside"
  extends Modelica.Icons.Information;
  annotation (
    preferredView="info",
    DocumentationClass=true,
    Documentation(info="<html>
<p>
Components connect by the flanges of <code>Modelica.Mechanics</code>: inertias, springs, gears and sources of the
standard library fit between them, and friction has the support and the heat port of the standard library. Energies,
powers and measured quantities are signal outputs.
</p>
<p>
A Functional Mock-up Unit has signals only. The classes of <a href=\"modelica://Mechanisms.FMUs\">FMUs</a> extend a
component and drive its flanges by sources: <code>Torque</code> or <code>Force</code> where the machine moves,
<code>Move</code> where its motion is given and the torque is the result. The speed and acceleration inputs of
<code>Move</code> are taken as the derivatives of the position, so that nothing is differentiated numerically.
</p>
</html>"));
end Connectors;
