within Mechanisms.Linkages;
model SliderCrankInverse "Slider-crank, inverse dynamics with smooth friction"
  extends Interfaces.PartialSliderCrank;
  input Units.Angle q(start=0) "Crank angle, zero with the crank pin farthest along the guide";
  input Units.AngularVelocity qd(start=0) "Crank speed";
  input Units.AngularAcceleration qdd(start=0) "Crank acceleration";
  output Units.Torque tau "Crank torque";
equation
  crankAngle = q;
  crankSpeed = qd;
  crankAcceleration = qdd;
  tau = crankTorque;
  annotation (
    experiment(StopTime=1, Tolerance=1e-8, Interval=0.001),
    Documentation(info="<html>
<p>
Crank, connecting rod and slider with the geometry and the inertial parameters of the reference. Inputs are angle, speed
and acceleration of the crank, output is its torque. Friction between slider and guide:
<code>coulombForce*tanh(v/frictionSpeedWidth) + viscousFriction*v</code>. The torque and the energies are linear in every
inertial parameter.
</p>
<h4>Implementation</h4>
<p>
Bodies, joints and conventions: <a href=\"modelica://Mechanisms.Interfaces.PartialSliderCrank\">PartialSliderCrank</a>.
There is no state and no system of equations.
</p>
<h4>Limitations</h4>
<p>
<code>length2</code> must be greater than <code>length1</code>. Only combinations of the twelve inertial parameters can be
identified from the torque: <code>inertia1 + length1^2*(mass2 + mass3)</code>,
<code>momentX1 + length1*(mass2 + mass3)</code>, <code>inertia2 + length2^2*mass3</code>,
<code>momentX2 + length2*mass3</code>, <code>momentY1</code> and <code>momentY2</code>.
</p>
<h4>References</h4>
<p>
Study on the linear-regression-based identification of closed-loop multibody systems: numerical example of the
slider-crank, Tables 1 and 2.
</p>
</html>"));
end SliderCrankInverse;
