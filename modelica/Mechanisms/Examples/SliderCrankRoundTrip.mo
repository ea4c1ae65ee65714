within Mechanisms.Examples;
model SliderCrankRoundTrip "Driven slider-crank; the inverse model returns its torque"
  extends Modelica.Icons.Example;
  Sources.SumOfSines torque(amplitude={0.25, 0.1, 0}, omega={5.65, 2.2, 1}, phase={0.4, 0.3, 0}) "Crank torque"
    annotation (Placement(transformation(extent={{-80,-10},{-60,10}})));
  FMUs.SliderCrankForward forward "Crank driven by a torque"
    annotation (Placement(transformation(extent={{-40,-20},{0,20}})));
  FMUs.SliderCrankInverse inverse "Inverse model, fed with the motion of the crank"
    annotation (Placement(transformation(extent={{30,-20},{70,20}})));
  output SI.Torque difference "Torque of the inverse model less that of the drive";
equation
  connect(torque.y, forward.tau) annotation (Line(points={{-59,0},{-52,0},{-52,-8},{-44,-8}}, color={0,0,127}));
  connect(forward.q, inverse.q) annotation (Line(points={{2,-12},{8,-12},{8,16},{26,16}}, color={0,0,127}));
  connect(forward.qd, inverse.qd) annotation (Line(points={{2,-16},{12,-16},{12,8},{26,8}}, color={0,0,127}));
  connect(forward.qdd, inverse.qdd) annotation (Line(points={{2,-20},{16,-20},{16,-8},{26,-8}}, color={0,0,127}));
  difference = inverse.tau - forward.tau;
  annotation (
    experiment(StopTime=4, Tolerance=1e-8, Interval=0.001),
    Documentation(info="<html>
<p><code>difference</code> stays zero.</p>
</html>"));
end SliderCrankRoundTrip;
