within Mechanisms.Oscillators;
model MassSpringDamper "Mass on spring and damper, driven by a force"
  extends Icons.Mechanism;
  parameter Units.Mass m(min=1e-12) = 3 "Mass";
  parameter Units.TranslationalDampingConstant d(min=0) = 0.05 "Damping constant";
  parameter Units.TranslationalSpringConstant k(min=0) = 400 "Spring constant";
  parameter Units.Position x_start = 0 "Position at the start";
  parameter Units.Velocity v_start = 0 "Velocity at the start";
  input Units.Force F(start=0) "Driving force";
  output Units.Position x(start=x_start, fixed=true, nominal=0.001) "Position";
  output Units.Velocity v(start=v_start, fixed=true, nominal=0.01) "Velocity";
  output Units.Acceleration a "Acceleration";
  output Units.Energy kineticEnergy "Kinetic energy";
  output Units.Energy potentialEnergy "Energy of the spring";
  output Units.Power inputPower "Power of the driving force";
  output Units.Power dissipatedPower "Power lost in the damper";
equation
  der(x) = v;
  der(v) = a;
  m*a + d*v + k*x = F;
  kineticEnergy = 0.5*m*v^2;
  potentialEnergy = 0.5*k*x^2;
  inputPower = F*v;
  dissipatedPower = d*v^2;
  annotation (
    experiment(StopTime=5, Tolerance=1e-8, Interval=0.001),
    Documentation(info="<html>
<p>
<code>m*x'' + d*x' + k*x = F</code>. The default values are those of a study on algebraic and Kalman identification
(mass 3 kg, damping 0.05 N.s/m, stiffness 400 N/m, natural frequency 11.55 rad/s, damping ratio 7.2e-4).
</p>
<h4>Implementation</h4>
<p>
Position and velocity have nominal values of a millimetre and a centimetre per second, the size of the motion in a step
response study with 1 mm of final deflection; a larger motion is then integrated more tightly than asked for.
</p>
<h4>Limitations</h4>
<p>
From a motion and its force all three constants can be told apart; from a free oscillation only the ratios
<code>d/m</code> and <code>k/m</code>, see
<a href=\"modelica://Mechanisms.Oscillators.MassSpringDamperNormalForm\">MassSpringDamperNormalForm</a>.
</p>
<h4>References</h4>
<p>
Any textbook on vibrations, such as S. S. Rao: <em>Mechanical Vibrations</em>, chapter 3.
</p>
</html>"));
end MassSpringDamper;
