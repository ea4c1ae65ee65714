within Mechanisms.FMUs;
model TripodInverse "Tripod robot (linear delta) with elastic drives, torques from the motion of the drives"
  extends Robots.ElasticTripod;
  Modelica.Blocks.Interfaces.RealInput q[3](each final quantity="Length", each final unit="m", each start=0)
    "Positions of the drives, in travel of the rails"
    annotation (Placement(transformation(extent={{-140,60},{-100,100}})));
  Modelica.Blocks.Interfaces.RealInput qd[3](each final quantity="Velocity", each final unit="m/s", each start=0)
    "Speeds of the drives, in travel of the rails"
    annotation (Placement(transformation(extent={{-140,20},{-100,60}})));
  Modelica.Blocks.Interfaces.RealInput qdd[3](
    each final quantity="Acceleration",
    each final unit="m/s2",
    each start=0) "Accelerations of the drives, in travel of the rails"
    annotation (Placement(transformation(extent={{-140,-60},{-100,-20}})));
  Modelica.Mechanics.Rotational.Sources.Move move[3] "Prescribed motion of the drives"
    annotation (Placement(transformation(extent={{-84,-50},{-64,-30}})));
equation
  connect(move.flange, axis)
    annotation (Line(points={{-64,-40},{-60,-40},{-60,-14},{-100,-14},{-100,0}}, color={0,0,0}));
  for i in 1:3 loop
    move[i].u = gearFactor*{q[i], qd[i], qdd[i]};
  end for;
  annotation (
    experiment(StopTime=1, Tolerance=1e-8, Interval=0.001),
    Documentation(info="<html>
<p>
Inputs are position, speed and acceleration of the drives of
<a href=\"modelica://Mechanisms.Robots.ElasticTripod\">ElasticTripod</a>, as their encoders measure them; outputs are
the torques that go with this motion. No controller is part of it: it serves where references and gains are not known.
</p>
<p>
The springs feel the difference between a position and the straight line between its samples, up to
<code>qdd*h^2/8</code> at the sampling time <code>h</code>: 0.6 N at 1 ms, 10 m/s2 and the default stiffness, 1/100 of
that in N.m at the drive.
</p>
</html>"));
end TripodInverse;
