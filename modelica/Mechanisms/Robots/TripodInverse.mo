within Mechanisms.Robots;
model TripodInverse "Tripod robot (linear delta) with elastic drives, torques from the motion of the drives"
  extends Interfaces.PartialTripod;
  Modelica.Blocks.Interfaces.RealInput q[3](each final quantity="Length", each final unit="m", each start=0)
    "Positions of the drives, in travel of the rails"
    annotation (Placement(transformation(extent={{-140,40},{-100,80}})));
  Modelica.Blocks.Interfaces.RealInput qd[3](each final quantity="Velocity", each final unit="m/s", each start=0)
    "Speeds of the drives, in travel of the rails"
    annotation (Placement(transformation(extent={{-140,-20},{-100,20}})));
  Modelica.Blocks.Interfaces.RealInput qdd[3](
    each final quantity="Acceleration",
    each final unit="m/s2",
    each start=0) "Accelerations of the drives, in travel of the rails"
    annotation (Placement(transformation(extent={{-140,-80},{-100,-40}})));
equation
  motorAngle = gearFactor*q;
  motorSpeed = gearFactor*qd;
  motorAcceleration = gearFactor*qdd;
  annotation (
    experiment(StopTime=1, Tolerance=1e-8, Interval=0.001),
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Text(extent={{-98,65.8},{-91.8,54.2}}, textColor={128,128,128}, textString="q"),
        Text(extent={{-98,5.8},{-85.6,-5.8}}, textColor={128,128,128}, textString="qd"),
        Text(extent={{-98,-54.2},{-79.4,-65.8}}, textColor={128,128,128}, textString="qdd")}),
    Documentation(info="<html>
<p>
<img src=\"modelica://Mechanisms/Resources/Images/Robots/TripodInverse.svg\" alt=\"TripodInverse\">
</p>
<p>
Inputs are position, speed and acceleration of the drives, as their encoders measure them; outputs are the torques of
the drives that go with this motion. No controller is part of it: it serves where references and gains are not known.
</p>
<h4>Assumptions</h4>
<ul>
<li>Rigid, massless rods with ideal joints; tool and carriages are point masses.</li>
<li>The elasticity of each drive is one linear spring with a linear damper.</li>
</ul>
<h4>Implementation</h4>
<p>
Mechanism and drives: <a href=\"modelica://Mechanisms.Interfaces.PartialTripod\">PartialTripod</a>. Carriages and tool
hang on the drives by springs: their motion is not known from that of the drives at one instant, so the position and the
velocity of the tool are states. The default start is the equilibrium for the default values and <code>q = 0</code>;
with another start set <code>toolPosition_start</code> to match, or the tool begins with an oscillation.
</p>
<h4>Limitations</h4>
<p>
The tool must stay inside the workspace: horizontally nearer to every rail than <code>rodLength</code>. The springs feel
the difference between a position and the straight line between its samples, up to <code>qdd*h^2/8</code> at the
sampling time <code>h</code>: 0.6 N at 1 ms, 10 m/s2 and the default stiffness, 1/100 of that in N.m at the drive.
</p>
<h4>References</h4>
<p>
<em>Special Genetic Identification Algorithm with smoothing in the frequency domain</em> (study of a tripod robot;
drive, equivalent mass and identified parameters).
</p>
</html>"));
end TripodInverse;
