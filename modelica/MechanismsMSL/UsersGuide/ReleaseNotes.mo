within MechanismsMSL.UsersGuide;
class ReleaseNotes "Release notes"
  extends Modelica.Icons.ReleaseNotes;
  annotation (
    preferredView="info",
    DocumentationClass=true,
    Documentation(info="<html>
<h4>Version 0.3.0, 2026-11-22</h4>
<p>
One thing has one name, in every class and in both libraries. The conversion script renames modifiers and references.
</p>
<table border=\"1\" cellspacing=\"0\" cellpadding=\"2\">
<tr><th>Parameter</th><th>Before</th><th>Now</th></tr>
<tr><td>Coulomb friction, force and torque</td><td><code>Fc</code>, <code>Tc</code></td> <td><code>coulombForce</code>,
<code>coulombTorque</code></td></tr>
<tr><td>Static friction</td><td><code>Fs</code>, <code>Ts</code></td> <td><code>staticForce</code>,
<code>staticTorque</code></td></tr>
<tr><td>Stribeck speed</td><td><code>vs</code>, <code>ws</code></td> <td><code>stribeckSpeed</code></td></tr>
<tr><td>Viscous friction</td><td><code>Fv</code>, <code>sigma2</code>, <code>d</code> of friction laws</td>
<td><code>viscousFriction</code></td></tr>
<tr><td>Width of the smooth sign of friction</td><td><code>width</code>, <code>frictionSpeedWidth</code></td>
<td><code>speedWidth</code></td></tr>
<tr><td>Moved mass of the positioning axis</td><td><code>M</code></td> <td><code>m</code></td></tr>
<tr><td>Gains and limit of its controller</td><td><code>kp</code>, <code>kv</code>, <code>vMax</code></td>
<td><code>positionGain</code>, <code>speedGain</code>, <code>voltageLimit</code></td></tr>
<tr><td>Gravity acceleration of the tripod</td><td><code>g</code></td> <td><code>gravity</code></td></tr>
<tr><td>Start values of the tripod</td><td><code>toolStart</code>, <code>driveStart</code></td>
<td><code>toolPosition_start</code>, <code>drivePosition_start</code></td></tr>
</table>
<ul>
<li>Examples of the delta robot, of the tripod and of the slider-crank; all examples are wired.</li>
<li>The documentation shows the diagrams, and every class says its assumptions.</li>
</ul>
<h4>Version 0.2.0, 2026-11-22</h4>
<ul>
<li>Diagrams: every component has a place and every connection a line. Icons show the machine.</li>
<li>Parameter dialogs with groups and tabs.</li>
<li>The smooth friction elements put the laws of <a href=\"modelica://Mechanisms.Friction\">Mechanisms.Friction</a>
    between flanges instead of repeating them. The LuGre elements, <code>SlideWithLuGreFriction</code> and
    <code>RotaryDriveWithLuGreFriction</code> have the parameter <code>reversalWidth</code>
    (<code>loadReversalWidth</code>) of their counterparts. <code>MechanismsMSL.Friction.Functions</code> is
    <a href=\"modelica://Mechanisms.Friction.Functions\">Mechanisms.Friction.Functions</a> now: the conversion script
    renames the calls; <code>lugreDeflectionRate</code> has one more input, <code>width</code>, which must be added by
    hand.</li>
<li>Inputs and outputs of the delta robot and of the slider-crank are connectors.</li>
<li>Machines no longer have the icon of an example.</li>
</ul>
<h4>Version 0.1.0</h4>
<p>First version.</p>
</html>"));
end ReleaseNotes;
