within Mechanisms.Robots;
model DeltaInverse "Delta robot, inverse dynamics with smooth friction and gear efficiency"
  extends Interfaces.PartialDelta;
  Modelica.Blocks.Interfaces.RealInput q[3](
    each final quantity="Angle",
    each final unit="rad",
    each displayUnit="deg",
    each start=0.6) "Angles of the upper arms below the horizontal"
    annotation (Placement(transformation(extent={{-140,40},{-100,80}})));
  Modelica.Blocks.Interfaces.RealInput qd[3](
    each final quantity="AngularVelocity",
    each final unit="rad/s",
    each start=0) "Speeds of the upper arms"
    annotation (Placement(transformation(extent={{-140,-20},{-100,20}})));
  Modelica.Blocks.Interfaces.RealInput qdd[3](
    each final quantity="AngularAcceleration",
    each final unit="rad/s2",
    each start=0) "Accelerations of the upper arms"
    annotation (Placement(transformation(extent={{-140,-80},{-100,-40}})));
  Modelica.Blocks.Interfaces.RealOutput tau[3](each final quantity="Torque", each final unit="N.m") "Motor torques"
    annotation (Placement(transformation(extent={{100,50},{120,70}})));
equation
  armAngle = q;
  armSpeed = qd;
  armAcceleration = qdd;
  tau = motorTorque;
  annotation (
    experiment(StopTime=1, Tolerance=1e-8, Interval=0.01),
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Text(extent={{-98,65.8},{-91.8,54.2}}, textColor={128,128,128}, textString="q"),
        Text(extent={{-98,5.8},{-85.6,-5.8}}, textColor={128,128,128}, textString="qd"),
        Text(extent={{-98,-54.2},{-79.4,-65.8}}, textColor={128,128,128}, textString="qdd"),
        Text(extent={{79.4,65.8},{98,54.2}}, textColor={128,128,128}, textString="tau")}),
    Documentation(info="<html>
<p>
<img src=\"modelica://Mechanisms/Resources/Images/Robots/DeltaInverse.svg\" alt=\"DeltaInverse\">
</p>
<p>
Inverse dynamics of a delta robot with three drives. Inputs are angle, speed and acceleration of the upper arms; outputs
are the motor torques, the platform's position, the energies and the powers.
</p>
<h4>Assumptions</h4>
<ul>
<li>Rigid arms and bars; the joints of the bars have neither play nor friction.</li>
<li>The platform keeps its orientation: the two bars of an arm are of equal length and parallel.</li>
<li>Upper arms and bars are uniform slender rods, the platform is a point mass.</li>
</ul>
<h4>Implementation</h4>
<p>
Arms, drives and equations: <a href=\"modelica://Mechanisms.Interfaces.PartialDelta\">PartialDelta</a>. There is no
nonlinear equation and no state.
</p>
<h4>Limitations</h4>
<p>
Lengths and gear ratio must be positive. A pose out of reach ends the simulation with an error that names the arm whose
elbow is farthest from the others.
</p>
<h4>References</h4>
<p>
R. Kampfmann, D. M&ouml;sch, N. Menager: <em>Parameter Estimation based on FMI</em>. 12th International Modelica
Conference, Prague, 2017.
</p>
</html>"));
end DeltaInverse;
