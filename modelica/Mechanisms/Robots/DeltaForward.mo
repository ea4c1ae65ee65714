within Mechanisms.Robots;
model DeltaForward "Delta robot driven by motor torques, with smooth friction and gear efficiency"
  extends Interfaces.PartialDelta;
  parameter SI.Angle q_min = -1.0471975511965976 "Least angle of an arm; an arm that passes it is an error"
    annotation (Dialog(group="Geometry"));
  parameter SI.Angle q_max = 1.5707963267948966 "Greatest angle of an arm; an arm that passes it is an error"
    annotation (Dialog(group="Geometry"));
  parameter SI.Angle q_start[3] = {0.6, 0.6, 0.6} "Angles of the upper arms at the start"
    annotation (Dialog(tab="Initialization", group="Start values"));
  parameter SI.AngularVelocity qd_start[3] = {0, 0, 0} "Speeds of the upper arms at the start"
    annotation (Dialog(tab="Initialization", group="Start values"));
  Modelica.Blocks.Interfaces.RealInput tau[3](
    each final quantity="Torque",
    each final unit="N.m",
    each start=0) "Motor torques"
    annotation (Placement(transformation(extent={{-140,-20},{-100,20}})));
  Modelica.Blocks.Interfaces.RealOutput q[3](
    each final quantity="Angle",
    each final unit="rad",
    each displayUnit="deg",
    start=q_start, each fixed=true) "Angles of the upper arms below the horizontal"
    annotation (Placement(transformation(extent={{100,70},{120,90}})));
  Modelica.Blocks.Interfaces.RealOutput qd[3](
    each final quantity="AngularVelocity",
    each final unit="rad/s",
    start=qd_start, each fixed=true) "Speeds of the upper arms"
    annotation (Placement(transformation(extent={{100,40},{120,60}})));
  Modelica.Blocks.Interfaces.RealOutput qdd[3](each final quantity="AngularAcceleration", each final unit="rad/s2")
    "Accelerations of the upper arms"
    annotation (Placement(transformation(extent={{100,10},{120,30}})));
equation
  assert(q[1] > q_min and q[1] < q_max,
    "Delta robot: arm 1 has passed a joint limit: q[1] is not between q_min and q_max.");
  assert(q[2] > q_min and q[2] < q_max,
    "Delta robot: arm 2 has passed a joint limit: q[2] is not between q_min and q_max.");
  assert(q[3] > q_min and q[3] < q_max,
    "Delta robot: arm 3 has passed a joint limit: q[3] is not between q_min and q_max.");
  der(q) = qd;
  der(qd) = qdd;
  armAngle = q;
  armSpeed = qd;
  armAcceleration = qdd;
  tau = motorTorque;
  annotation (
    experiment(StopTime=1, Tolerance=1e-8, Interval=0.001),
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Text(extent={{-98,5.8},{-79.4,-5.8}}, textColor={128,128,128}, textString="tau"),
        Text(extent={{91.8,85.8},{98,74.2}}, textColor={128,128,128}, textString="q"),
        Text(extent={{85.6,55.8},{98,44.2}}, textColor={128,128,128}, textString="qd"),
        Text(extent={{79.4,25.8},{98,14.2}}, textColor={128,128,128}, textString="qdd")}),
    Documentation(info="<html>
<p>
<img src=\"modelica://Mechanisms/Resources/Images/Robots/DeltaForward.svg\" alt=\"DeltaForward\">
</p>
<p>
Forward dynamics of a delta robot with three drives. Inputs are the motor torques; states are angles and speeds of the
upper arms. Its equations are those of <a href=\"modelica://Mechanisms.Robots.DeltaInverse\">DeltaInverse</a>, which
returns the torques when it is fed with this model's angles, speeds and accelerations.
</p>
<h4>Assumptions</h4>
<ul>
<li>Rigid arms and bars; the joints of the bars have neither play nor friction.</li>
<li>The platform keeps its orientation: the two bars of an arm are of equal length and parallel.</li>
<li>Upper arms and bars are uniform slender rods, the platform is a point mass.</li>
</ul>
<h4>Implementation</h4>
<p>
Arms, drives and equations: <a href=\"modelica://Mechanisms.Interfaces.PartialDelta\">PartialDelta</a>. The torque that
an arm needs is <code>tauLoad = M(q)*qdd + c(q, qd)</code>, and the direction of power in the gear depends on it: the
accelerations solve three equations together, by Newton's method. With the increasing function
<code>f(tauLoad) = tauLoad/(gearRatio*gearEfficiency^tanh(tauLoad*qd/gearPowerWidth))</code> these are the condition for
the minimum of a convex function, so that there is one solution, whatever the start: <code>f</code> increases for every
load while <code>gearEfficiency &gt; 0.11</code>.
</p>
<h4>Limitations</h4>
<p>
Lengths and gear ratio must be positive. An arm that passes a joint limit ends the simulation with an error, and so does
a pose in which the lower arms do not meet; both name the arm. The drives creep instead of sticking.
</p>
<h4>References</h4>
<p>
R. Kampfmann, D. M&ouml;sch, N. Menager: <em>Parameter Estimation based on FMI</em>. 12th International Modelica
Conference, Prague, 2017.
</p>
</html>"));
end DeltaForward;
