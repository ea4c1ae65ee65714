within MechanismsMSL;
package UsersGuide "User's guide"
  extends Modelica.Icons.Information;
  annotation (
    preferredView="info",
    DocumentationClass=true,
    Documentation(info="<html>
<p>
Machines whose parameters are to be estimated from measurements, assembled from <code>Modelica.Mechanics</code>.
</p>
<h4>Conventions</h4>
<ul>
<li>Parameters to be estimated are at the top level of the model, with literal defaults, so that they stay tunable in an
    exported FMU.</li>
<li>Inverse models take position, speed and acceleration as three separate inputs; no input is differentiated.</li>
<li>Every machine outputs <code>kineticEnergy</code>, <code>potentialEnergy</code>, <code>inputPower</code> and
    <code>dissipatedPower</code>, so that
    <code>inputPower = der(kineticEnergy + potentialEnergy) + dissipatedPower</code> can be checked without knowing the
    equations.</li>
<li>Smooth forms of sign and of the direction of power flow are <code>tanh(x/width)</code>; the width is a
    parameter.</li>
</ul>
<h4>Connectors</h4>
<p>
The friction elements, gears and the arm of the delta robot have the flanges, supports, frames and heat ports of the
standard library. A machine as a whole has signal connectors: it becomes a Functional Mock-up Unit, whose interface is
causal.
</p>
</html>"));
end UsersGuide;
