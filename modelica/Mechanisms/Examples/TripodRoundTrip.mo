within Mechanisms.Examples;
model TripodRoundTrip "Controlled tripod; the inverse model returns the torques of its drives"
  extends Modelica.Icons.Example;
  Sources.FourierMotion motion[3](
    each omega=3.141592653589793,
    offset={0.03, 0.02, -0.01},
    sine={{0.02, -0.01, 0, 0, 0, 0}, {-0.02, 0.01, 0, 0, 0, 0}, {0.04, -0.02, 0, 0, 0, 0}},
    cosine={{-0.02, -0.01, 0, 0, 0, 0}, {-0.03, 0.01, 0, 0, 0, 0}, {0.02, -0.01, 0, 0, 0, 0}}) "Motion of the rails"
    annotation (Placement(transformation(extent={{-90,-15},{-60,15}})));
  FMUs.Tripod robot "Robot with its controllers"
    annotation (Placement(transformation(extent={{-35,-20},{5,20}})));
  FMUs.TripodInverse inverse "Inverse model, fed with the motion of the drives"
    annotation (Placement(transformation(extent={{40,-20},{80,20}})));
  output SI.Torque difference[3] "Torques of the inverse model less those of the drives";
equation
  connect(motion.q, robot.s_ref) annotation (Line(points={{-58.5,9},{-50,9},{-50,16},{-39,16}}, color={0,0,127}));
  connect(motion.qd, robot.v_ref) annotation (Line(points={{-58.5,0},{-46,0},{-46,8},{-39,8}}, color={0,0,127}));
  connect(motion.qdd, robot.a_ref) annotation (Line(
      points={{-58.5,-9},{-50,-9},{-50,-8},{-39,-8}}, color={0,0,127}));
  connect(robot.drivePosition, inverse.q) annotation (Line(points={{7,12},{18,12},{18,16},{36,16}}, color={0,0,127}));
  connect(robot.driveSpeed, inverse.qd) annotation (Line(points={{7,6},{22,6},{22,8},{36,8}}, color={0,0,127}));
  connect(robot.driveAcceleration, inverse.qdd) annotation (Line(
      points={{7,0},{22,0},{22,-8},{36,-8}}, color={0,0,127}));
  difference = inverse.driveTorque - robot.driveTorque;
  annotation (
    experiment(StopTime=2, Tolerance=1e-8, Interval=0.001),
    Documentation(info="<html>
<p><code>difference</code> stays zero.</p>
</html>"));
end TripodRoundTrip;
