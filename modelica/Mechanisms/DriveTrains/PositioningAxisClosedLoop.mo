within Mechanisms.DriveTrains;
model PositioningAxisClosedLoop "Linear positioning axis under position control"
  extends Icons.PositioningAxis;
  parameter Units.Mass m(min=1e-12) = 95.1089 "Moved mass including the reflected inertia of the motor, M"
    annotation (Dialog(group="Mass and load"));
  parameter Units.TranslationalDampingConstant viscousFriction(min=0) = 203.5034 "Viscous friction coefficient, Fv"
    annotation (Dialog(group="Friction"));
  parameter Units.Force coulombForce(min=0) = 20.3935 "Coulomb friction force, Fc"
    annotation (Dialog(group="Friction"));
  parameter Units.Force offset = -3.1648 "Constant force offset"
    annotation (Dialog(group="Mass and load"));
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
    annotation (Placement(transformation(extent={{100,30},{120,50}})));
  Mechanisms.Interfaces.RealOutput qdd(final quantity="Acceleration", final unit="m/s2") "Acceleration"
    annotation (Placement(transformation(extent={{100,-10},{120,10}})));
  Mechanisms.Interfaces.RealOutput voltage(final quantity="ElectricPotential", final unit="V") "Control voltage"
    annotation (Placement(transformation(extent={{100,-50},{120,-30}})));
  Mechanisms.Interfaces.RealOutput force(final quantity="Force", final unit="N") "Driving force"
    annotation (Placement(transformation(extent={{100,-90},{120,-70}})));
  Mechanisms.Interfaces.RealOutput kineticEnergy(final quantity="Energy", final unit="J") "Kinetic energy"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-75,-110})));
  Mechanisms.Interfaces.RealOutput potentialEnergy(final quantity="Energy", final unit="J")
    "Energy of the constant offset force, zero at q = 0"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-25,-110})));
  Mechanisms.Interfaces.RealOutput inputPower(final quantity="Power", final unit="W") "Power of the driving force"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={25,-110})));
  Mechanisms.Interfaces.RealOutput dissipatedPower(final quantity="Power", final unit="W") "Dissipated power"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={75,-110})));
  Friction.TranslationalCoulombViscous friction(
    coulombForce=coulombForce,
    viscousFriction=viscousFriction,
    speedWidth=speedWidth) "Friction of the axis"
    annotation (Placement(transformation(extent={{62,-62},{82,-42}})));
equation
  friction.v = qd;
  der(q) = qd;
  der(qd) = qdd;
  voltage = Functions.smoothLimit(speedGain*(positionGain*(q_ref - q) - qd), voltageLimit, voltageWidth);
  force = gtau*voltage;
  m*qdd = force - friction.f - offset;
  kineticEnergy = 0.5*m*qd^2;
  potentialEnergy = offset*q;
  inputPower = force*qd;
  dissipatedPower = friction.lossPower;
  annotation (
    experiment(StopTime=5, Tolerance=1e-8, Interval=0.001),
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Text(extent={{91.8,85.8},{98,74.2}}, textColor={128,128,128}, textString="q"),
        Text(extent={{85.6,45.8},{98,34.2}}, textColor={128,128,128}, textString="qd"),
        Text(extent={{79.4,5.8},{98,-5.8}}, textColor={128,128,128}, textString="qdd"),
        Text(extent={{54.6,-34.2},{98,-45.8}}, textColor={128,128,128}, textString="voltage"),
        Text(extent={{67,-74.2},{98,-85.8}}, textColor={128,128,128}, textString="force")}),
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
        Text(extent={{-31.7,-36},{14.1,-53.6}}, textColor={0,0,127}, textString="P-P"),
        Line(points={{9.7,2.7},{9.7,-25.4},{44,-25.4},{44,-44.8},{17.6,-44.8}}, color={0,0,127},
          arrow={Arrow.None,Arrow.Filled}),
        Line(points={{-35.2,-44.8},{-66,-44.8},{-66,-2.6}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled})}),
    Documentation(info="<html>
<p>
<img src=\"modelica://Mechanisms/Resources/Images/DriveTrains/PositioningAxisClosedLoop.svg\"
alt=\"PositioningAxisClosedLoop\">
</p>
<p>
<code>m*q'' = force - viscousFriction*q' - coulombForce*tanh(q'/speedWidth) - offset</code> with
<code>force = gtau*speedGain*(positionGain*(q_ref - q) - q')</code> and the control voltage limited to
<code>+-voltageLimit</code>. The default values are the reference values of a published benchmark of an
electro-mechanical positioning system.
</p>
<h4>Assumptions</h4>
<ul>
<li>Motor, screw and carriage are one rigid mass.</li>
<li>The drive force is proportional to the control voltage; the current loop is ideal.</li>
</ul>
<h4>Implementation</h4>
<p>
The limit of the voltage is <a href=\"modelica://Mechanisms.Functions.smoothLimit\">smoothLimit</a>: no event, and
inside the limit no difference that matters (a fraction of 1e-8 at half the limit). With the default values the loop has
a damping ratio of 0.38 at 19 Hz.
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
