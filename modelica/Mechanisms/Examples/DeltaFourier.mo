within Mechanisms.Examples;
model DeltaFourier "Delta robot moved along a Fourier series in every arm"
  extends Modelica.Icons.Example;
  parameter SI.AngularVelocity omega(min=1e-9) = 1.5707963267948966 "Fundamental frequency of the motion"
    annotation (Dialog(group="Signal"));
  FMUs.DeltaInverse robot "Robot"
    annotation (Placement(transformation(extent={{10,-20},{50,20}})));
  Sources.FourierMotion motion[3](
    each omega=omega,
    each offset=0.6,
    sine={{-0.1243, -0.0063, -0.0208, 0.0589, 0.1175, -0.0377},
          {-0.0790, -0.1021, 0.0260, -0.0622, 0.0255, -0.1227},
          {0.0904, 0.0704, 0.0714, -0.1496, -0.0086, 0.0482}},
    cosine={{0.0246, -0.1159, 0.1369, 0.1420, 0.0820, 0.1294},
            {-0.1218, -0.0326, -0.0647, -0.0605, -0.1409, -0.0878},
            {-0.0201, 0.0050, 0.0446, -0.0558, 0.0621, 0.0390}}) "Motion of the arms"
    annotation (Placement(transformation(extent={{-60,-20},{-20,20}})));
equation
  connect(motion.q, robot.q) annotation (Line(points={{-18,12},{-6,12},{-6,16},{6,16}}, color={0,0,127}));
  connect(motion.qd, robot.qd) annotation (Line(points={{-18,0},{-2,0},{-2,8},{6,8}}, color={0,0,127}));
  connect(motion.qdd, robot.qdd) annotation (Line(points={{-18,-12},{-2,-12},{-2,-8},{6,-8}}, color={0,0,127}));
  annotation (
    experiment(StopTime=4, Tolerance=1e-8, Interval=0.002),
    Documentation(info="<html>
<p>One period of four seconds; the arms move over about one radian and brake as often as they drive.</p>
</html>"));
end DeltaFourier;
