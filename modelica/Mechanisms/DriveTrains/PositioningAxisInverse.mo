within Mechanisms.DriveTrains;
model PositioningAxisInverse "Linear positioning axis, force from prescribed motion"
  extends Icons.PositioningAxisInverse;
  parameter Units.Mass m(min=1e-12) = 95.1089 "Moved mass including the reflected inertia of the motor, M"
    annotation (Dialog(group="Mass and load"));
  parameter Units.TranslationalDampingConstant viscousFriction(min=0) = 203.5034 "Viscous friction coefficient, Fv"
    annotation (Dialog(group="Friction"));
  parameter Units.Force coulombForce(min=0) = 20.3935 "Coulomb friction force, Fc"
    annotation (Dialog(group="Friction"));
  parameter Units.Force offset = -3.1648 "Constant force offset"
    annotation (Dialog(group="Mass and load"));
  parameter Units.Velocity speedWidth(min=1e-12) = 1e-3 "Width of the smooth sign of the Coulomb friction"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  Mechanisms.Interfaces.RealInput q(final quantity="Length", final unit="m", start=0) "Position"
    annotation (Placement(transformation(extent={{-140,40},{-100,80}})));
  Mechanisms.Interfaces.RealInput qd(final quantity="Velocity", final unit="m/s", start=0) "Speed"
    annotation (Placement(transformation(extent={{-140,-20},{-100,20}})));
  Mechanisms.Interfaces.RealInput qdd(final quantity="Acceleration", final unit="m/s2", start=0) "Acceleration"
    annotation (Placement(transformation(extent={{-140,-80},{-100,-40}})));
  Mechanisms.Interfaces.RealOutput force(final quantity="Force", final unit="N") "Driving force"
    annotation (Placement(transformation(extent={{100,-10},{120,10}})));
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
    annotation (Placement(transformation(extent={{30,-66},{50,-46}})));
equation
  friction.v = qd;
  force = m*qdd + friction.f + offset;
  kineticEnergy = 0.5*m*qd^2;
  potentialEnergy = offset*q;
  inputPower = force*qd;
  dissipatedPower = friction.lossPower;
  annotation (
    experiment(StopTime=5, Tolerance=1e-8, Interval=0.001),
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Text(extent={{-98,65.8},{-91.8,54.2}}, textColor={128,128,128}, textString="q"),
        Text(extent={{-98,5.8},{-85.6,-5.8}}, textColor={128,128,128}, textString="qd"),
        Text(extent={{-98,-54.2},{-79.4,-65.8}}, textColor={128,128,128}, textString="qdd")}),
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
        Line(points={{31.7,60.8},{-12.3,60.8}}, color={0,0,127}, thickness=0.44, arrow={Arrow.None,Arrow.Filled}),
        Line(points={{-12.3,60.8},{31.7,60.8}}, color={0,0,127}, thickness=0.44, arrow={Arrow.None,Arrow.Filled}),
        Text(extent={{-20.3,77},{39.7,65}}, textColor={0,0,127}, textString="q, qd, qdd"),
        Text(extent={{-83.6,52},{-48.4,40}}, textColor={0,0,127}, textString="force")}),
    Documentation(info="<html>
<p>
<img src=\"modelica://Mechanisms/Resources/Images/DriveTrains/PositioningAxisInverse.svg\"
alt=\"PositioningAxisInverse\">
</p>
<p>
<code>force = m*q'' + viscousFriction*q' + coulombForce*tanh(q'/speedWidth) + offset</code>. The default values are the
reference values of a published benchmark of an electro-mechanical positioning system, identified with
<code>sgn(q')</code>; set <code>speedWidth</code> well below the speeds of interest.
</p>
<h4>Assumptions</h4>
<ul>
<li>Motor, screw and carriage are one rigid mass.</li>
<li>The drive force is proportional to the control voltage; the current loop is ideal.</li>
</ul>
<h4>Implementation</h4>
<p>
Nothing differentiates an input: position, speed and acceleration are separate inputs, which must fit together. The
force is linear in <code>m</code>, <code>viscousFriction</code>, <code>coulombForce</code> and <code>offset</code>.
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
