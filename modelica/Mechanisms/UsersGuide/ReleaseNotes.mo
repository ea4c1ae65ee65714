within Mechanisms.UsersGuide;
class ReleaseNotes "Release notes"
  extends Modelica.Icons.ReleaseNotes;
  annotation (
    preferredView="info",
    DocumentationClass=true,
    Documentation(info="<html>
<h4>Version 1.0.0, 2026-11-28</h4>
<p>
One library takes the place of <code>Mechanisms</code> 0.4.0, which had signals, and <code>MechanismsMSL</code> 0.3.0,
which had flanges. The conversion script renames classes.
</p>
<ul>
<li>Oscillators, friction, drive trains, linkages and robots are components with the flanges of the standard library.
    What is exported stands in <a href=\"modelica://Mechanisms.FMUs\">FMUs</a>:
    <code>Mechanisms.Robots.DeltaInverse</code> is <code>Mechanisms.FMUs.DeltaInverse</code>. Parameters, inputs and
    outputs have the names that they had.</li>
<li>Friction laws are elements between flanges, with support and heat port; they had the speed as input and the force as
    output. Coulomb friction sticks by state events in the variants <code>WithEvents</code>, and so does the gear.</li>
<li><code>Mechanisms.Units</code>, signal connectors and general icons are those of the standard library.</li>
<li>Masses and inertias of the slider-crank can be zero.</li>
<li>New: <a href=\"modelica://Mechanisms.Robots.SerialArm\">SerialArm</a>, an open chain of revolute joints with
    drives.</li>
<li>Leave: <code>Sources.Constant</code> (<code>Modelica.Blocks.Sources.Constant</code>),
    <code>MechanismsMSL.Robots.DeltaInverseConstraints</code>, <code>DeltaInverseWithEvents</code> (set
    <code>speedWidth</code> and <code>gearPowerWidth</code> of <code>DeltaInverse</code> to small values).</li>
</ul>
<h4>Version 0.4.0, 2026-11-26</h4>
<p>Models that use version 0.3.0 need no conversion.</p>
<ul>
<li>Both robots go both ways: <a href=\"modelica://Mechanisms.FMUs.DeltaForward\">DeltaForward</a> moves under motor
    torques, <a href=\"modelica://Mechanisms.FMUs.TripodInverse\">TripodInverse</a> returns the torques of a motion.
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
<h4>Versions 0.1.0 and 0.2.0, 2026-11-21</h4>
<p>First versions: oscillators, friction laws, drive trains, slider-crank, delta robot and tripod.</p>
</html>"));
end ReleaseNotes;
