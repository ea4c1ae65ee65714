model PositioningAxisSampledController "Linear positioning axis under the sampled controller of the machine"
  extends Mechanisms.Icons.PositioningAxis;
  import Modelica.Units.SI;
  parameter SI.Mass m(min=1e-12) = 95.1089 "Moved mass including the reflected inertia of the motor, M"
    annotation (Dialog(group="Mass and load"));
  parameter SI.TranslationalDampingConstant viscousFriction(min=0) = 203.5034 "Viscous friction coefficient, Fv"
    annotation (Dialog(group="Friction"));
  parameter SI.Force coulombForce(min=0) = 20.3935 "Coulomb friction force, Fc"
    annotation (Dialog(group="Friction"));
  parameter SI.Force offset = -3.1648 "Constant force offset"
    annotation (Dialog(group="Mass and load"));
  parameter SI.Time samplePeriod(min=1e-6) = 1e-3 "Time between two samples of the controller"
    annotation (Dialog(group="Control"));
  parameter Real gtau(unit="N/V") = 35.15065188248547 "Drive gain, force over control voltage"
    annotation (Dialog(group="Control"));
  parameter Real positionGain(unit="1/s") = 160.18 "Position gain, kp"
    annotation (Dialog(group="Control"));
  parameter Real speedGain(unit="V.s/m") = 243.45 "Speed gain, kv"
    annotation (Dialog(group="Control"));
  parameter SI.Voltage voltageLimit(min=1e-12) = 10 "Limit of the control voltage, vMax"
    annotation (Dialog(group="Control"));
  parameter SI.Velocity speedWidth(min=1e-12) = 1e-3 "Width of the smooth sign of the Coulomb friction"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  parameter SI.Position q_start = 0 "Position at the start"
    annotation (Dialog(tab="Initialization", group="Start values"));
  parameter SI.Velocity qd_start = 0 "Speed at the start, and before it"
    annotation (Dialog(tab="Initialization", group="Start values"));
  Modelica.Blocks.Interfaces.RealInput q_ref(final quantity="Length", final unit="m", start=0) "Reference position"
    annotation (Placement(transformation(extent={{-140,-20},{-100,20}})));
  Modelica.Blocks.Interfaces.RealOutput q(
    final quantity="Length",
    final unit="m",
    start=q_start, fixed=true, nominal=0.01) "Position"
    annotation (Placement(transformation(extent={{100,70},{120,90}})));
  Modelica.Blocks.Interfaces.RealOutput qd(
    final quantity="Velocity",
    final unit="m/s",
    start=qd_start, fixed=true, nominal=0.1) "Speed"
    annotation (Placement(transformation(extent={{100,38},{120,58}})));
  Modelica.Blocks.Interfaces.RealOutput qdd(final quantity="Acceleration", final unit="m/s2") "Acceleration"
    annotation (Placement(transformation(extent={{100,6},{120,26}})));
  Modelica.Blocks.Interfaces.RealOutput voltage(final quantity="ElectricPotential", final unit="V")
    "Control voltage, held between samples"
    annotation (Placement(transformation(extent={{100,-26},{120,-6}})));
  Modelica.Blocks.Interfaces.RealOutput force(final quantity="Force", final unit="N") "Driving force"
    annotation (Placement(transformation(extent={{100,-58},{120,-38}})));
  Modelica.Blocks.Interfaces.RealOutput kineticEnergy(final quantity="Energy", final unit="J") "Kinetic energy"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-75,-110})));
  Modelica.Blocks.Interfaces.RealOutput potentialEnergy(final quantity="Energy", final unit="J")
    "Energy of the constant offset force, zero at q = 0"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-25,-110})));
  Modelica.Blocks.Interfaces.RealOutput inputPower(final quantity="Power", final unit="W") "Power of the driving force"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={25,-110})));
  Modelica.Blocks.Interfaces.RealOutput dissipatedPower(final quantity="Power", final unit="W") "Dissipated power"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={75,-110})));
protected
  SI.Force frictionForce "Friction of the axis";
  discrete SI.Position sampled(start=q_start - samplePeriod*qd_start, fixed=true) "Position at the last sample";
  discrete SI.Position filtered(start=q_start - 1.5*samplePeriod*qd_start, fixed=true)
    "Mean of the last two sampled positions";
  discrete SI.Velocity measuredSpeed(start=qd_start, fixed=true) "Difference of the last two means, per period";
  discrete SI.Voltage held(start=0, fixed=true) "Control voltage";
equation
  frictionForce = Mechanisms.Friction.Functions.smoothCoulomb(qd, coulombForce, speedWidth) + viscousFriction*qd;
  der(q) = qd;
  der(qd) = qdd;
  // At each sample; between two of them the voltage is held
  when sample(0, samplePeriod) then
    sampled = q;
    filtered = (sampled + pre(sampled))/2;
    measuredSpeed = (filtered - pre(filtered))/samplePeriod;
    held = max(-voltageLimit, min(voltageLimit, speedGain*(positionGain*(q_ref - sampled) - measuredSpeed)));
  end when;
  voltage = held;
  force = gtau*voltage;
  m*qdd = force - frictionForce - offset;
  kineticEnergy = 0.5*m*qd^2;
  potentialEnergy = offset*q;
  inputPower = force*qd;
  dissipatedPower = frictionForce*qd;
  annotation (
    experiment(StopTime=5, Tolerance=1e-8, Interval=0.001),
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Text(extent={{92.8,84.8},{98,75.2}}, textColor={128,128,128}, textString="q"),
        Text(extent={{87.6,52.8},{98,43.2}}, textColor={128,128,128}, textString="qd"),
        Text(extent={{82.4,20.8},{98,11.2}}, textColor={128,128,128}, textString="qdd"),
        Text(extent={{61.5,-11.2},{98,-20.8}}, textColor={128,128,128}, textString="voltage"),
        Text(extent={{72,-43.2},{98,-52.8}}, textColor={128,128,128}, textString="force")}),
    Documentation(info="<html>
<p>
<code>m*q'' = force - viscousFriction*q' - coulombForce*tanh(q'/speedWidth) - offset</code>, as in
<code>Mechanisms.FMUs.PositioningAxisClosedLoop</code>, under the controller as the data set describes it. At
each sample <code>k</code>
</p>
<ul>
<li><code>qf(k) = (q(k) + q(k-1))/2</code>, the filtered position,</li>
<li><code>v(k) = (qf(k) - qf(k-1))/samplePeriod</code>, the measured speed,</li>
<li><code>voltage(k) = speedGain*(positionGain*(q_ref(k) - q(k)) - v(k))</code>, limited to
<code>+-voltageLimit</code>,</li>
</ul>
<p>
and <code>force = gtau*voltage</code> is held until the next sample.
</p>
<h4>Assumptions</h4>
<ul>
<li>Motor, screw and carriage are one rigid mass.</li>
<li>The drive force is proportional to the control voltage; the current loop is ideal.</li>
<li>The voltage acts at once: computing it takes no time.</li>
<li>Before the start, the axis moved with <code>qd_start</code>.</li>
</ul>
<h4>Implementation</h4>
<p>
One event per sample, and the samples are all events: the friction is smooth, and <code>max</code> and <code>min</code>
make none.
</p>
<h4>Limitations</h4>
<p>
The resolution of the position sensor is not modelled.
</p>
<h4>References</h4>
<p>
A. Janot, M. Gautier, M. Brunot: <em>Data Set and Reference Models of EMPS</em>, Workshop on Nonlinear System
Identification Benchmarks, 2019.
</p>
</html>"));
end PositioningAxisSampledController;
