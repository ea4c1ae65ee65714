within Mechanisms.FMUs;
model ArmInverse "Six-axis arm, inverse dynamics"
  extends Robots.SerialArm(final n=6);
  Modelica.Blocks.Interfaces.RealInput q[6](
    each final quantity="Angle",
    each final unit="rad",
    each displayUnit="deg",
    each start=0) "Angles of the joints"
    annotation (Placement(transformation(extent={{-140,60},{-100,100}})));
  Modelica.Blocks.Interfaces.RealInput qd[6](
    each final quantity="AngularVelocity",
    each final unit="rad/s",
    each start=0) "Speeds of the joints"
    annotation (Placement(transformation(extent={{-140,20},{-100,60}})));
  Modelica.Blocks.Interfaces.RealInput qdd[6](
    each final quantity="AngularAcceleration",
    each final unit="rad/s2",
    each start=0) "Accelerations of the joints"
    annotation (Placement(transformation(extent={{-140,-60},{-100,-20}})));
  Modelica.Blocks.Interfaces.RealOutput tau[6](each final quantity="Torque", each final unit="N.m")
    "Torques of the drives, times their gear ratios"
    annotation (Placement(transformation(extent={{100,50},{120,70}})));
  Modelica.Mechanics.Rotational.Sources.Move move[6] "Prescribed motion of the axes"
    annotation (Placement(transformation(extent={{-84,-50},{-64,-30}})));
protected
  Real motion[3, 6] = {Functions.axisMotion(coupling, q), Functions.axisMotion(coupling, qd),
    Functions.axisMotion(coupling, qdd)} "Angles, speeds and accelerations of the axes, one per row";
equation
  connect(move.flange, axis)
    annotation (Line(points={{-64,-40},{-58,-40},{-58,-14},{-100,-14},{-100,0}}, color={0,0,0}));
  for i in 1:6 loop
    move[i].u = motion[:, i];
    tau[i] = -move[i].flange.tau;
  end for;
  annotation (
    experiment(StopTime=1, Tolerance=1e-8, Interval=0.01),
    Documentation(info="<html>
<p>
The torques that <a href=\"modelica://Mechanisms.Robots.SerialArm\">SerialArm</a> needs for a motion of its joints.
Speeds and accelerations are inputs of their own and must be the derivatives of the angles. There is no equation to be
solved and no state.
</p>
</html>"));
end ArmInverse;
