within Mechanisms.UsersGuide;
class ReleaseNotes "Release notes"
  extends Modelica.Icons.Information;
  annotation (
    preferredView="info",
    DocumentationClass=true,
    Documentation(info="<html>
<h4>Version 0.4.0, 2026-11-26</h4>
<p>Models that use version 0.3.0 need no conversion.</p>
<ul>
<li>Both robots go both ways: <a href=\"modelica://Mechanisms.Robots.DeltaForward\">DeltaForward</a> moves under motor
    torques, <a href=\"modelica://Mechanisms.Robots.TripodInverse\">TripodInverse</a> returns the torques of a motion.
    Forward and inverse model share their equations.</li>
<li>The tripod outputs speed and acceleration of its drives. Its protected variables <code>driveAngle</code>,
    <code>driveSpeed</code> and <code>driveAcceleration</code> are <code>motorAngle</code>, <code>motorSpeed</code> and
    <code>motorAcceleration</code>.</li>
<li>Examples: <code>DeltaFeedForward</code> and <code>TripodRoundTrip</code>.</li>
</ul>
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
<li><code>equivalentMass</code> and <code>gearDamping</code> of the tripod are final parameters; they were
    variables.</li>
<li>The arguments <code>Fc</code>, <code>Fs</code> and <code>vs</code> of
    <a href=\"modelica://Mechanisms.Friction.Functions.stribeckLevel\">stribeckLevel</a> are <code>coulombLevel</code>,
    <code>staticLevel</code> and <code>stribeckSpeed</code>.</li>
<li>Icons fill their frames, and no name of a signal overlaps them; the cascade controller is drawn with its
    signals.</li>
</ul>
<h4>Version 0.2.0, 2026-11-22</h4>
<p>
No name and no equation of a machine has changed: models that use version 0.1.0 need no conversion.
</p>
<ul>
<li>Inputs and outputs are connectors (<a href=\"modelica://Modelica.Blocks.Interfaces.RealInput\">RealInput</a>,
    <a href=\"modelica://Modelica.Blocks.Interfaces.RealOutput\">RealOutput</a>), with a place in icon and diagram.</li>
<li>Icons and diagrams that show the machine; examples are wired.</li>
<li>Parameter dialogs with groups and tabs.</li>
<li><a href=\"modelica://Mechanisms.Sources\">Sources</a>: <code>SumOfSines</code> and <code>Constant</code>.</li>
<li>User's guide: connectors, literature, license and contact.</li>
</ul>
<h4>Version 0.1.0, 2026-11-21</h4>
<p>First version: oscillators, friction laws, drive trains, slider-crank, delta robot and tripod.</p>
</html>"));
end ReleaseNotes;
