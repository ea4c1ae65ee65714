within Mechanisms.DriveTrains;
model PositioningAxisClosedLoop "Linear positioning axis under position control"
  extends Icons.Mechanism;
  parameter Units.Mass M(min=1e-12) = 95.1089 "Moved mass including the reflected inertia of the motor";
  parameter Units.TranslationalDampingConstant Fv(min=0) = 203.5034 "Viscous friction coefficient";
  parameter Units.Force Fc(min=0) = 20.3935 "Coulomb friction force";
  parameter Units.Force offset = -3.1648 "Constant force offset";
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
  output Units.Voltage voltage "Control voltage";
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
  der(q) = qd;
  der(qd) = qdd;
  voltage = Functions.smoothLimit(kv*(kp*(q_ref - q) - qd), vMax, voltageWidth);
  force = gtau*voltage;
  M*qdd = force - friction.f - offset;
  kineticEnergy = 0.5*M*qd^2;
  potentialEnergy = offset*q;
  inputPower = force*qd;
  dissipatedPower = friction.lossPower;
  annotation (
    experiment(StopTime=5, Tolerance=1e-8, Interval=0.001),
    Documentation(info="<html>
<p>
<code>M*q'' = force - Fv*q' - Fc*tanh(q'/speedWidth) - offset</code> with
<code>force = gtau*kv*(kp*(q_ref - q) - q')</code> and the control voltage limited to <code>+-vMax</code>. The default
values are the reference values of a published benchmark of an electro-mechanical positioning system.
</p>
<h4>Implementation</h4>
<p>
The limit of the voltage is <a href=\"modelica://Mechanisms.Functions.smoothLimit\">smoothLimit</a>: no event, and inside
the limit no difference that matters (a fraction of 1e-8 at half the limit). With the default values the loop has a
damping ratio of 0.38 at 19 Hz.
</p>
<h4>Limitations</h4>
<p>
The controller is continuous; the recorded one runs at 1 kHz and takes the speed from differences of the position.
</p>
<h4>References</h4>
<p>
A. Janot, M. Gautier, M. Brunot: <em>Data Set and Reference Models of EMPS</em>, Workshop on Nonlinear System
Identification Benchmarks, 2019.
</p>
</html>"));
end PositioningAxisClosedLoop;
