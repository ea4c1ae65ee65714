within Mechanisms.DriveTrains;
model PositioningAxisDelayedLoop "Linear positioning axis under position control by a sampled controller"
  extends Icons.PositioningAxis;
  parameter Units.Mass m(min=1e-12) = 95.1089 "Moved mass including the reflected inertia of the motor, M"
    annotation (Dialog(group="Mass and load"));
  parameter Units.TranslationalDampingConstant viscousFriction(min=0) = 203.5034 "Viscous friction coefficient, Fv"
    annotation (Dialog(group="Friction"));
  parameter Units.Force coulombForce(min=0) = 20.3935 "Coulomb friction force, Fc"
    annotation (Dialog(group="Friction"));
  parameter Units.Force offset = -3.1648 "Constant force offset"
    annotation (Dialog(group="Mass and load"));
  parameter Units.Time speedDelay(min=1e-6) = 1e-3 "Delay of the measured speed"
    annotation (Dialog(group="Delays"));
  parameter Units.Time driveDelay(min=1e-6) = 5e-4 "Delay from the computed to the acting force"
    annotation (Dialog(group="Delays"));
  parameter Real gtau(unit="N/V") = 35.15065188248547 "Drive gain, force over control voltage"
    annotation (Dialog(group="Control"));
  parameter Real positionGain(unit="1/s") = 160.18 "Position gain, kp"
    annotation (Dialog(group="Control"));
  parameter Real speedGain(unit="V.s/m") = 243.45 "Speed gain, kv"
    annotation (Dialog(group="Control"));
  parameter Units.Voltage voltageLimit(min=1e-12) = 10 "Limit of the control voltage, vMax"
    annotation (Dialog(group="Control"));
  parameter Units.Voltage voltageWidth(min=1e-12) = 1e-3 "Width of the rounded corners of the limit"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  parameter Units.Velocity speedWidth(min=1e-12) = 1e-3 "Width of the smooth sign of the Coulomb friction"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  parameter Units.Position q_start = 0 "Position at the start"
    annotation (Dialog(tab="Initialization", group="Start values"));
  parameter Units.Velocity qd_start = 0 "Speed at the start"
    annotation (Dialog(tab="Initialization", group="Start values"));
  Mechanisms.Interfaces.RealInput q_ref(final quantity="Length", final unit="m", start=0) "Reference position"
    annotation (Placement(transformation(extent={{-140,-20},{-100,20}})));
  Mechanisms.Interfaces.RealOutput q(
    final quantity="Length",
    final unit="m",
    start=q_start, fixed=true, nominal=0.01) "Position"
    annotation (Placement(transformation(extent={{100,70},{120,90}})));
  Mechanisms.Interfaces.RealOutput qd(
    final quantity="Velocity",
    final unit="m/s",
    start=qd_start, fixed=true, nominal=0.1) "Speed"
    annotation (Placement(transformation(extent={{100,38},{120,58}})));
  Mechanisms.Interfaces.RealOutput qdd(final quantity="Acceleration", final unit="m/s2") "Acceleration"
    annotation (Placement(transformation(extent={{100,6},{120,26}})));
  Mechanisms.Interfaces.RealOutput voltage(final quantity="ElectricPotential", final unit="V")
    "Control voltage as computed"
    annotation (Placement(transformation(extent={{100,-26},{120,-6}})));
  Mechanisms.Interfaces.RealOutput force(final quantity="Force", final unit="N")
    "Force that the computed voltage stands for"
    annotation (Placement(transformation(extent={{100,-58},{120,-38}})));
  Mechanisms.Interfaces.RealOutput driveForce(final quantity="Force", final unit="N") "Force that acts on the axis"
    annotation (Placement(transformation(extent={{100,-90},{120,-70}})));
  Mechanisms.Interfaces.RealOutput kineticEnergy(final quantity="Energy", final unit="J") "Kinetic energy"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-75,-110})));
  Mechanisms.Interfaces.RealOutput potentialEnergy(final quantity="Energy", final unit="J")
    "Energy of the constant offset force, zero at q = 0"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-25,-110})));
  Mechanisms.Interfaces.RealOutput inputPower(final quantity="Power", final unit="W") "Power of the acting force"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={25,-110})));
  Mechanisms.Interfaces.RealOutput dissipatedPower(final quantity="Power", final unit="W") "Dissipated power"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={75,-110})));
  Friction.TranslationalCoulombViscous friction(
    coulombForce=coulombForce,
    viscousFriction=viscousFriction,
    speedWidth=speedWidth) "Friction of the axis"
    annotation (Placement(transformation(extent={{62,-62},{82,-42}})));
protected
  Units.Velocity speedState(start=qd_start, fixed=true, nominal=0.1) "State of the delay of the speed";
  Units.Velocity measuredSpeed "Delayed speed";
  Units.Force driveState(start=0, fixed=true, nominal=100) "State of the delay of the force";
equation
  friction.v = qd;
  der(q) = qd;
  der(qd) = qdd;
  // All-pass of first order, (1 - s*T/2)/(1 + s*T/2)
  0.5*speedDelay*der(speedState) = qd - speedState;
  measuredSpeed = 2*speedState - qd;
  voltage = Functions.smoothLimit(speedGain*(positionGain*(q_ref - q) - measuredSpeed), voltageLimit, voltageWidth);
  force = gtau*voltage;
  0.5*driveDelay*der(driveState) = force - driveState;
  driveForce = 2*driveState - force;
  m*qdd = driveForce - friction.f - offset;
  kineticEnergy = 0.5*m*qd^2;
  potentialEnergy = offset*q;
  inputPower = driveForce*qd;
  dissipatedPower = friction.lossPower;
  annotation (
    experiment(StopTime=5, Tolerance=1e-8, Interval=0.001),
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Text(extent={{92.8,84.8},{98,75.2}}, textColor={128,128,128}, textString="q"),
        Text(extent={{87.6,52.8},{98,43.2}}, textColor={128,128,128}, textString="qd"),
        Text(extent={{82.4,20.8},{98,11.2}}, textColor={128,128,128}, textString="qdd"),
        Text(extent={{61.5,-11.2},{98,-20.8}}, textColor={128,128,128}, textString="voltage"),
        Text(extent={{72,-43.2},{98,-52.8}}, textColor={128,128,128}, textString="force"),
        Text(extent={{45.9,-75.2},{98,-84.8}}, textColor={128,128,128}, textString="driveForce")}),
    Diagram(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Rectangle(extent={{-83.6,36.2},{-48.4,-2.6}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Text(extent={{-79.2,27.4},{-52.8,6.2}}, textColor={64,64,64}, textString="M"),
        Rectangle(extent={{-48.4,20.3},{79.2,13.3}}, lineColor={64,64,64}, fillColor={230,230,230},
          fillPattern=FillPattern.HorizontalCylinder),
        Rectangle(extent={{68.6,30.9},{79.2,-2.6}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Line(points={{-38.7,20.3},{-34.3,13.3}}, color={64,64,64}),
        Line(points={{-29.9,20.3},{-25.5,13.3}}, color={64,64,64}),
        Line(points={{-21.1,20.3},{-16.7,13.3}}, color={64,64,64}),
        Line(points={{40.5,20.3},{44.9,13.3}}, color={64,64,64}),
        Line(points={{49.3,20.3},{53.7,13.3}}, color={64,64,64}),
        Line(points={{58.1,20.3},{62.5,13.3}}, color={64,64,64}),
        Rectangle(extent={{-12.3,48.5},{31.7,2.7}}, lineColor={64,64,64}, fillColor={220,228,240},
          fillPattern=FillPattern.Solid),
        Text(extent={{0,37.9},{21.1,15}}, textColor={64,64,64}, textString="m"),
        Line(points={{-48.4,-4.3},{79.2,-4.3}}, color={64,64,64}),
        Line(points={{-41.4,-4.3},{-48.4,-11.4}}, color={64,64,64}),
        Line(points={{-30.8,-4.3},{-37.8,-11.4}}, color={64,64,64}),
        Line(points={{-20.2,-4.3},{-27.3,-11.4}}, color={64,64,64}),
        Line(points={{-9.7,-4.3},{-16.7,-11.4}}, color={64,64,64}),
        Line(points={{0.9,-4.3},{-6.2,-11.4}}, color={64,64,64}),
        Line(points={{11.4,-4.3},{4.4,-11.4}}, color={64,64,64}),
        Line(points={{22,-4.3},{15,-11.4}}, color={64,64,64}),
        Line(points={{32.6,-4.3},{25.5,-11.4}}, color={64,64,64}),
        Line(points={{43.1,-4.3},{36.1,-11.4}}, color={64,64,64}),
        Line(points={{53.7,-4.3},{46.6,-11.4}}, color={64,64,64}),
        Line(points={{64.2,-4.3},{57.2,-11.4}}, color={64,64,64}),
        Line(points={{74.8,-4.3},{67.8,-11.4}}, color={64,64,64}),
        Rectangle(extent={{-35.2,-32.5},{17.6,-57.1}}, lineColor={0,0,127}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Text(extent={{-31.7,-36},{14.1,-53.6}}, textColor={0,0,127}, textString="P-P, T"),
        Line(points={{9.7,2.7},{9.7,-25.4},{44,-25.4},{44,-44.8},{17.6,-44.8}}, color={0,0,127},
          arrow={Arrow.None,Arrow.Filled}),
        Line(points={{-35.2,-44.8},{-66,-44.8},{-66,-2.6}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled})}),
    Documentation(info="<html>
<p>
<img src=\"modelica://Mechanisms/Resources/Images/DriveTrains/PositioningAxisDelayedLoop.svg\"
alt=\"PositioningAxisDelayedLoop\">
</p>
<p>
<a href=\"modelica://Mechanisms.DriveTrains.PositioningAxisClosedLoop\">PositioningAxisClosedLoop</a> with what a
sampled controller adds: the speed is a difference of sampled positions and therefore late by <code>speedDelay</code>,
and the computed force is held until the next sample, which is a delay of <code>driveDelay</code> in the mean. At 1 kHz
with the difference over two samples these are 1 ms and 0.5 ms. Both can be identified like any other parameter.
</p>
<h4>Assumptions</h4>
<ul>
<li>Motor, screw and carriage are one rigid mass.</li>
<li>The drive force is proportional to the control voltage; the current loop is ideal.</li>
<li>Both delays are constant.</li>
</ul>
<h4>Implementation</h4>
<p>
Each delay is an all-pass of first order (a Pad&eacute; approximation): right for frequencies far below the inverse of
the delay, without events, and smooth in the delay time. <code>force</code> is what the controller has computed and what
a recorder shows; <code>driveForce</code> is what acts.
</p>
<h4>Limitations</h4>
<p>
At frequencies near the sampling rate the all-pass is not a delay: after a jump of the reference the acting force first
moves to the wrong side for about half a delay.
</p>
<h4>References</h4>
<p>
A. Janot, M. Gautier, M. Brunot: <em>Data Set and Reference Models of EMPS</em>, Workshop on Nonlinear System
Identification Benchmarks, 2019.
</p>
</html>"));
end PositioningAxisDelayedLoop;
