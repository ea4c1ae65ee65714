within Mechanisms.DriveTrains;
model PositioningAxisDelayedLoop "Linear positioning axis under position control by a sampled controller"
  extends Icons.Mechanism;
  parameter Units.Mass M(min=1e-12) = 95.1089 "Moved mass including the reflected inertia of the motor";
  parameter Units.TranslationalDampingConstant Fv(min=0) = 203.5034 "Viscous friction coefficient";
  parameter Units.Force Fc(min=0) = 20.3935 "Coulomb friction force";
  parameter Units.Force offset = -3.1648 "Constant force offset";
  parameter Units.Time speedDelay(min=1e-6) = 1e-3 "Delay of the measured speed";
  parameter Units.Time driveDelay(min=1e-6) = 5e-4 "Delay from the computed to the acting force";
  parameter Real gtau(unit="N/V") = 35.15065188248547 "Drive gain, force over control voltage";
  parameter Real kp(unit="1/s") = 160.18 "Position gain";
  parameter Real kv(unit="V.s/m") = 243.45 "Speed gain";
  parameter Units.Voltage vMax(min=1e-12) = 10 "Limit of the control voltage";
  parameter Units.Voltage voltageWidth(min=1e-12) = 1e-3 "Width of the rounded corners of the limit";
  parameter Units.Velocity speedWidth(min=1e-12) = 1e-3 "Width of the smooth sign of the Coulomb friction";
  parameter Units.Position q_start = 0 "Position at the start";
  parameter Units.Velocity qd_start = 0 "Speed at the start";
  input Units.Position q_ref(start=0) "Reference position";
  output Units.Position q(start=q_start, fixed=true, nominal=0.01) "Position";
  output Units.Velocity qd(start=qd_start, fixed=true, nominal=0.1) "Speed";
  output Units.Acceleration qdd "Acceleration";
  output Units.Voltage voltage "Control voltage as computed";
  output Units.Force force "Force that the computed voltage stands for";
  output Units.Force driveForce "Force that acts on the axis";
  output Units.Energy kineticEnergy "Kinetic energy";
  output Units.Energy potentialEnergy "Energy of the constant offset force, zero at q = 0";
  output Units.Power inputPower "Power of the acting force";
  output Units.Power dissipatedPower "Dissipated power";
  Friction.TranslationalCoulombViscous friction(
    Fc=Fc,
    d=Fv,
    width=speedWidth,
    v=qd) "Friction of the axis";
protected
  Units.Velocity speedState(start=qd_start, fixed=true, nominal=0.1) "State of the delay of the speed";
  Units.Velocity measuredSpeed "Delayed speed";
  Units.Force driveState(start=0, fixed=true, nominal=100) "State of the delay of the force";
equation
  der(q) = qd;
  der(qd) = qdd;
  // All-pass of first order, (1 - s*T/2)/(1 + s*T/2)
  0.5*speedDelay*der(speedState) = qd - speedState;
  measuredSpeed = 2*speedState - qd;
  voltage = Functions.smoothLimit(kv*(kp*(q_ref - q) - measuredSpeed), vMax, voltageWidth);
  force = gtau*voltage;
  0.5*driveDelay*der(driveState) = force - driveState;
  driveForce = 2*driveState - force;
  M*qdd = driveForce - friction.f - offset;
  kineticEnergy = 0.5*M*qd^2;
  potentialEnergy = offset*q;
  inputPower = driveForce*qd;
  dissipatedPower = friction.lossPower;
  annotation (
    experiment(StopTime=5, Tolerance=1e-8, Interval=0.001),
    Documentation(info="<html>
<p>
<a href=\"modelica://Mechanisms.DriveTrains.PositioningAxisClosedLoop\">PositioningAxisClosedLoop</a> with what a
sampled controller adds: the speed is a difference of sampled positions and therefore late by
<code>speedDelay</code>, and the computed force is held until the next sample, which is a delay of
<code>driveDelay</code> in the mean. At 1 kHz with the difference over two samples these are 1 ms and 0.5 ms.
Both can be identified like any other parameter.
</p>
<h4>Implementation</h4>
<p>
Each delay is an all-pass of first order (a Pad&eacute; approximation): right for frequencies far below the inverse of the
delay, without events, and smooth in the delay time. <code>force</code> is what the controller has computed and what a
recorder shows; <code>driveForce</code> is what acts.
</p>
<h4>Limitations</h4>
<p>
At frequencies near the sampling rate the all-pass is no delay: after a jump of the reference the acting force first
moves to the wrong side for about half a delay.
</p>
<h4>References</h4>
<p>
A. Janot, M. Gautier, M. Brunot: <em>Data Set and Reference Models of EMPS</em>, Workshop on Nonlinear System
Identification Benchmarks, 2019.
</p>
</html>"));
end PositioningAxisDelayedLoop;
