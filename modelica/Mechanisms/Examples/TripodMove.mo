within Mechanisms.Examples;
model TripodMove "Tripod whose carriages follow a Fourier series each"
  extends Modelica.Icons.Example;
  FMUs.Tripod robot "Robot"
    annotation (Placement(transformation(extent={{10,-20},{50,20}})));
  Sources.FourierMotion motion[3](
    each omega=3.141592653589793,
    offset={0.03, 0.02, -0.01},
    sine={{0.02, -0.01, 0, 0, 0, 0}, {-0.02, 0.01, 0, 0, 0, 0}, {0.04, -0.02, 0, 0, 0, 0}},
    cosine={{-0.02, -0.01, 0, 0, 0, 0}, {-0.03, 0.01, 0, 0, 0, 0}, {0.02, -0.01, 0, 0, 0, 0}}) "Motion of the rails"
    annotation (Placement(transformation(extent={{-60,-20},{-20,20}})));
equation
  connect(motion.q, robot.s_ref) annotation (Line(points={{-18,12},{-6,12},{-6,16},{6,16}}, color={0,0,127}));
  connect(motion.qd, robot.v_ref) annotation (Line(points={{-18,0},{-2,0},{-2,8},{6,8}}, color={0,0,127}));
  connect(motion.qdd, robot.a_ref) annotation (Line(points={{-18,-12},{-2,-12},{-2,-8},{6,-8}}, color={0,0,127}));
  annotation (
    experiment(StopTime=2, Tolerance=1e-8, Interval=0.001),
    Documentation(info="<html>
<p>The reference starts at rest where the robot stands, and comes back to it after two seconds.</p>
</html>"));
end TripodMove;
