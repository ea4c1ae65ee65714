within Mechanisms.FMUs;
model DeltaInverse "Delta robot, inverse dynamics with smooth friction and gear efficiency"
  extends Robots.Delta;
  Modelica.Blocks.Interfaces.RealInput q[3](
    each final quantity="Angle",
    each final unit="rad",
    each displayUnit="deg",
    each start=0.6) "Angles of the upper arms below the horizontal"
    annotation (Placement(transformation(extent={{-140,60},{-100,100}})));
  Modelica.Blocks.Interfaces.RealInput qd[3](
    each final quantity="AngularVelocity",
    each final unit="rad/s",
    each start=0) "Speeds of the upper arms"
    annotation (Placement(transformation(extent={{-140,20},{-100,60}})));
  Modelica.Blocks.Interfaces.RealInput qdd[3](
    each final quantity="AngularAcceleration",
    each final unit="rad/s2",
    each start=0) "Accelerations of the upper arms"
    annotation (Placement(transformation(extent={{-140,-60},{-100,-20}})));
  Modelica.Blocks.Interfaces.RealOutput tau[3](each final quantity="Torque", each final unit="N.m") "Motor torques"
    annotation (Placement(transformation(extent={{100,50},{120,70}})));
  Modelica.Mechanics.Rotational.Sources.Move move[3] "Prescribed motion of the motors"
    annotation (Placement(transformation(extent={{-84,-50},{-64,-30}})));
equation
  connect(move.flange, axis)
    annotation (Line(points={{-64,-40},{-58,-40},{-58,-14},{-100,-14},{-100,0}}, color={0,0,0}));
  for i in 1:3 loop
    move[i].u = gearRatio*{q[i], qd[i], qdd[i]};
    tau[i] = -move[i].flange.tau;
  end for;
  annotation (
    experiment(StopTime=1, Tolerance=1e-8, Interval=0.01),
    Documentation(info="<html>
<p>
The motor torques that <a href=\"modelica://Mechanisms.Robots.Delta\">Delta</a> needs for a motion of its arms.
Speeds and accelerations are inputs of their own and must be the derivatives of the angles. There is no nonlinear
equation and no state.
</p>
</html>"));
end DeltaInverse;
