within Mechanisms.Examples;
model SliderCrankRoundTrip "Driven slider-crank; the inverse model returns its torque"
  extends Icons.Example;
  Linkages.SliderCrankForward forward(tau=0.25*sin(5.65*time + 0.4) + 0.1*sin(2.2*time + 0.3)) "Crank driven by a torque";
  Linkages.SliderCrankInverse inverse(q=forward.q, qd=forward.qd, qdd=forward.qdd) "Inverse model, fed with the motion of the crank";
  output Units.Torque difference "Torque of the inverse model less that of the drive";
equation
  difference = inverse.tau - forward.tau;
  annotation (
    experiment(StopTime=4, Tolerance=1e-8, Interval=0.001),
    Documentation(info="<html>
<p><code>difference</code> stays zero.</p>
</html>"));
end SliderCrankRoundTrip;
