within Mechanisms.FMUs;
model DeltaForward "Delta robot driven by motor torques, with smooth friction and gear efficiency"
  extends Robots.Delta;
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
    annotation (Placement(transformation(extent={{-140,-60},{-100,-20}})));
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
  Modelica.Mechanics.Rotational.Sources.Torque torque[3] "Torques of the motors"
    annotation (Placement(transformation(extent={{-84,-50},{-64,-30}})));
equation
  for i in 1:3 loop
    assert(q[i] > q_min and q[i] < q_max, "Delta robot: arm " + String(i) + " has passed a joint limit: q["
      + String(i) + "] is not between q_min and q_max.");
  end for;
  connect(tau, torque.tau) annotation (Line(points={{-120,-40},{-86,-40}}, color={0,0,127}));
  connect(torque.flange, axis)
    annotation (Line(points={{-64,-40},{-58,-40},{-58,-14},{-100,-14},{-100,0}}, color={0,0,0}));
  q = linkage.q;
  qd = linkage.qd;
  qdd = linkage.qdd;
  annotation (
    experiment(StopTime=1, Tolerance=1e-8, Interval=0.001),
    Documentation(info="<html>
<p>
<a href=\"modelica://Mechanisms.Robots.Delta\">Delta</a> under given motor torques; states are angles and speeds of the
arms.
</p>
<p>
The torque that an arm needs is <code>tauLoad = M(q)*q'' + c(q, q')</code>, and the direction of power in the gear
depends on it: the accelerations solve three equations together, by Newton's method. They are the condition for the
minimum of a convex function, so that there is one solution, whatever the start, as the torque of a gear increases with
every load while <code>gearEfficiency &gt; 0.11</code>.
</p>
</html>"));
end DeltaForward;
