within Mechanisms.Oscillators;
model MassSpringDamperNormalForm "Oscillator in normal form, with damping ratio and natural frequency"
  extends Icons.Mechanism;
  parameter Units.DimensionlessRatio zeta(min=0) = 7.216878364870322e-4 "Damping ratio";
  parameter Units.AngularVelocity omega0(min=1e-12) = 11.547005383792516 "Undamped natural frequency";
  parameter Units.Position x_start = 0 "Position at the start";
  parameter Units.Velocity v_start = 0 "Velocity at the start";
  input Units.Acceleration u(start=0) "Driving force over mass";
  output Units.Position x(start=x_start, fixed=true, nominal=0.001) "Position";
  output Units.Velocity v(start=v_start, fixed=true, nominal=0.01) "Velocity";
  output Units.Acceleration a "Acceleration";
  output Units.SpecificEnergy kineticEnergy "Kinetic energy over mass";
  output Units.SpecificEnergy potentialEnergy "Energy of the spring over mass";
  output Units.SpecificPower inputPower "Power of the driving force over mass";
  output Units.SpecificPower dissipatedPower "Power lost in the damper over mass";
equation
  der(x) = v;
  der(v) = a;
  a + 2*zeta*omega0*v + omega0^2*x = u;
  kineticEnergy = 0.5*v^2;
  potentialEnergy = 0.5*omega0^2*x^2;
  inputPower = u*v;
  dissipatedPower = 2*zeta*omega0*v^2;
  annotation (
    experiment(StopTime=5, Tolerance=1e-8, Interval=0.001),
    Documentation(info="<html>
<p>
<code>x'' + 2*zeta*omega0*x' + omega0^2*x = u</code>, with <code>u</code> the force over the mass. The default values
are those of <a href=\"modelica://Mechanisms.Oscillators.MassSpringDamper\">MassSpringDamper</a>:
<code>omega0 = sqrt(k/m)</code>, <code>zeta = d/(2*sqrt(k*m))</code>.
</p>
<h4>Implementation</h4>
<p>
Energies and powers are those of a mass of one kilogram: they carry units per mass, and the balance
<code>inputPower = der(kineticEnergy + potentialEnergy) + dissipatedPower</code> holds.
</p>
<h4>Limitations</h4>
<p>
Small damping ratios are hard to see in short measurements: the decay over one period is
<code>exp(-2*pi*zeta)</code>.
</p>
<h4>References</h4>
<p>
Any textbook on vibrations, such as S. S. Rao: <em>Mechanical Vibrations</em>, chapter 3.
</p>
</html>"));
end MassSpringDamperNormalForm;
