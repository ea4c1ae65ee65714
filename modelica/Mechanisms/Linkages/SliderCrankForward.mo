within Mechanisms.Linkages;
model SliderCrankForward "Slider-crank driven by a crank torque, with smooth friction"
  extends Interfaces.PartialSliderCrank;
  parameter Units.Angle q_start = 0.5 "Crank angle at the start";
  parameter Units.AngularVelocity qd_start = 0 "Crank speed at the start";
  input Units.Torque tau(start=0) "Crank torque";
  output Units.Angle q(start=q_start, fixed=true) "Crank angle, zero with the crank pin farthest along the guide";
  output Units.AngularVelocity qd(start=qd_start, fixed=true) "Crank speed";
  output Units.AngularAcceleration qdd "Crank acceleration";
equation
  der(q) = qd;
  der(qd) = qdd;
  crankAngle = q;
  crankSpeed = qd;
  crankAcceleration = qdd;
  tau = crankTorque;
  annotation (
    experiment(StopTime=2, Tolerance=1e-8, Interval=0.001),
    Documentation(info="<html>
<p>
Crank, connecting rod and slider with the geometry and the inertial parameters of the reference. Input is the crank
torque; states are crank angle and speed. Friction between slider and guide:
<code>coulombForce*tanh(v/frictionSpeedWidth) + viscousFriction*v</code>.
</p>
<h4>Implementation</h4>
<p>
Bodies, joints and conventions: <a href=\"modelica://Mechanisms.Interfaces.PartialSliderCrank\">PartialSliderCrank</a>.
The acceleration is the torque less the bias torque, over the inertia felt at the crank.
</p>
<h4>Limitations</h4>
<p>
<code>length2</code> must be greater than <code>length1</code>, and the inertia felt at the crank must stay positive. The
slider creeps instead of sticking.
</p>
<h4>References</h4>
<p>
Study on the linear-regression-based identification of closed-loop multibody systems: numerical example of the
slider-crank, Tables 1 and 2.
</p>
</html>"));
end SliderCrankForward;
