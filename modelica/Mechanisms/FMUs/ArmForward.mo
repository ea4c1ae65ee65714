within Mechanisms.FMUs;
model ArmForward "Six-axis arm driven by torques"
  extends Robots.SerialArm(final n=6);
  parameter SI.Angle q_start[6] = {0, 0, 0, 0, 0, 0} "Angles of the joints at the start"
    annotation (Dialog(tab="Initialization", group="Start values"));
  parameter SI.AngularVelocity qd_start[6] = {0, 0, 0, 0, 0, 0} "Speeds of the joints at the start"
    annotation (Dialog(tab="Initialization", group="Start values"));
  Modelica.Blocks.Interfaces.RealInput tau[6](
    each final quantity="Torque",
    each final unit="N.m",
    each start=0) "Torques of the drives, times their gear ratios"
    annotation (Placement(transformation(extent={{-140,-60},{-100,-20}})));
  Modelica.Blocks.Interfaces.RealOutput q[6](
    each final quantity="Angle",
    each final unit="rad",
    each displayUnit="deg",
    start=q_start, each fixed=true) "Angles of the joints"
    annotation (Placement(transformation(extent={{100,70},{120,90}})));
  Modelica.Blocks.Interfaces.RealOutput qd[6](
    each final quantity="AngularVelocity",
    each final unit="rad/s",
    start=qd_start, each fixed=true) "Speeds of the joints"
    annotation (Placement(transformation(extent={{100,40},{120,60}})));
  Modelica.Blocks.Interfaces.RealOutput qdd[6](each final quantity="AngularAcceleration", each final unit="rad/s2")
    "Accelerations of the joints"
    annotation (Placement(transformation(extent={{100,10},{120,30}})));
  Modelica.Mechanics.Rotational.Sources.Torque torque[6] "Torques of the drives"
    annotation (Placement(transformation(extent={{-84,-50},{-64,-30}})));
equation
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
<a href=\"modelica://Mechanisms.Robots.SerialArm\">SerialArm</a> under given torques; states are angles and speeds of
the joints. The accelerations solve six linear equations together, whose matrix is the inertia of links and rotors.
</p>
</html>"));
end ArmForward;
