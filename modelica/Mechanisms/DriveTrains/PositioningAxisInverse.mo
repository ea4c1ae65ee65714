within Mechanisms.DriveTrains;
model PositioningAxisInverse "Linear positioning axis, force from prescribed motion"
  extends Icons.Mechanism;
  parameter Units.Mass M(min=1e-12) = 95.1089 "Moved mass including the reflected inertia of the motor";
  parameter Units.TranslationalDampingConstant Fv(min=0) = 203.5034 "Viscous friction coefficient";
  parameter Units.Force Fc(min=0) = 20.3935 "Coulomb friction force";
  parameter Units.Force offset = -3.1648 "Constant force offset";
  parameter Units.Velocity speedWidth(min=1e-12) = 1e-3 "Width of the smooth sign of the Coulomb friction";
  input Units.Position q(start=0) "Position";
  input Units.Velocity qd(start=0) "Speed";
  input Units.Acceleration qdd(start=0) "Acceleration";
  output Units.Force force "Driving force";
  output Units.Energy kineticEnergy "Kinetic energy";
  output Units.Energy potentialEnergy "Energy of the constant offset force, zero at q = 0";
  output Units.Power inputPower "Power of the driving force";
  output Units.Power dissipatedPower "Dissipated power";
  Friction.TranslationalCoulombViscous friction(
    v=qd,
    Fc=Fc,
    d=Fv,
    width=speedWidth) "Friction of the axis";
equation
  force = M*qdd + friction.f + offset;
  kineticEnergy = 0.5*M*qd^2;
  potentialEnergy = offset*q;
  inputPower = force*qd;
  dissipatedPower = friction.lossPower;
  annotation (
    experiment(StopTime=5, Tolerance=1e-8, Interval=0.001),
    Documentation(info="<html>
<p>
<code>force = M*q'' + Fv*q' + Fc*tanh(q'/speedWidth) + offset</code>. The default values are the reference values of a
published benchmark of an electro-mechanical positioning system, identified with <code>sgn(q')</code>; set
<code>speedWidth</code> well below the speeds of interest.
</p>
<h4>Implementation</h4>
<p>
Nothing differentiates an input: position, speed and acceleration are separate inputs, which must fit together. The
force is linear in <code>M</code>, <code>Fv</code>, <code>Fc</code> and <code>offset</code>.
</p>
<h4>Limitations</h4>
<p>
One friction level for both directions; the difference between the directions goes into <code>offset</code>.
</p>
<h4>References</h4>
<p>
A. Janot, M. Gautier, M. Brunot: <em>Data Set and Reference Models of EMPS</em>, Workshop on Nonlinear System
Identification Benchmarks, 2019.
</p>
</html>"));
end PositioningAxisInverse;
