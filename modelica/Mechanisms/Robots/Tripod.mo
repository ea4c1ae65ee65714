within Mechanisms.Robots;
model Tripod "Tripod robot (linear delta) with elastic drives and cascade control, smooth friction"
  extends Interfaces.PartialTripod;
  parameter Real positionGain(unit="1/s") = 30 "Gain of the position controllers"
    annotation (Dialog(group="Control"));
  parameter SI.RotationalDampingConstant speedGain(min=1e-12) = 0.056 "Gain of the speed controllers"
    annotation (Dialog(group="Control"));
  parameter SI.Time integralTime(min=1e-9) = 0.03 "Integral time of the speed controllers"
    annotation (Dialog(group="Control"));
  parameter SI.Mass feedForwardMass = 2.8 "Mass that the acceleration feed-forward assumes per rail"
    annotation (Dialog(group="Feed-forward"));
  parameter SI.Force feedForwardForce = 14.715 "Weight that the feed-forward assumes per rail"
    annotation (Dialog(group="Feed-forward"));
  parameter SI.Torque torqueLimit(min=1e-9) = 2 "Torque limit of the drives"
    annotation (Dialog(group="Control"));
  parameter SI.Torque torqueWidth(min=1e-15) = 2e-4 "Width of the rounded corners of the torque limit"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  parameter SI.Position drivePosition_start[3] = {0, 0, 0}
    "Positions of the drives at the start, in travel of the rails"
    annotation (Dialog(tab="Initialization", group="Start values"));
  Modelica.Blocks.Interfaces.RealInput s_ref[3](each final quantity="Length", each final unit="m", each start=0)
    "Reference positions of the rails"
    annotation (Placement(transformation(extent={{-140,40},{-100,80}})));
  Modelica.Blocks.Interfaces.RealInput v_ref[3](each final quantity="Velocity", each final unit="m/s", each start=0)
    "Reference speeds of the rails"
    annotation (Placement(transformation(extent={{-140,-20},{-100,20}})));
  Modelica.Blocks.Interfaces.RealInput a_ref[3](
    each final quantity="Acceleration",
    each final unit="m/s2",
    each start=0) "Reference accelerations of the rails"
    annotation (Placement(transformation(extent={{-140,-80},{-100,-40}})));
  Modelica.Blocks.Interfaces.RealOutput drivePosition[3](each final quantity="Length", each final unit="m")
    "Positions of the drives, in travel of the rails"
    annotation (Placement(transformation(extent={{100,50},{120,70}})));
  Modelica.Blocks.Interfaces.RealOutput driveSpeed[3](each final quantity="Velocity", each final unit="m/s")
    "Speeds of the drives, in travel of the rails"
    annotation (Placement(transformation(extent={{100,20},{120,40}})));
  Modelica.Blocks.Interfaces.RealOutput driveAcceleration[3](each final quantity="Acceleration", each final unit="m/s2")
    "Accelerations of the drives, in travel of the rails"
    annotation (Placement(transformation(extent={{100,-10},{120,10}})));
  DriveTrains.CascadeController controller[3](
    each gearFactor=gearFactor,
    each positionGain=positionGain,
    each speedGain=speedGain,
    each integralTime=integralTime,
    each feedForwardMass=feedForwardMass,
    each feedForwardForce=feedForwardForce,
    each torqueLimit=torqueLimit,
    each torqueWidth=torqueWidth) "Controllers"
    annotation (Placement(transformation(extent={{-76,-12},{-52,12}})));
initial equation
  motorAngle = gearFactor*drivePosition_start;
  motorSpeed = {0, 0, 0};
equation
  controller.phi = motorAngle;
  controller.w = motorSpeed;
  connect(s_ref, controller.s_ref) annotation (Line(
      points={{-120,60},{-90,60},{-90,9.6},{-78.4,9.6}}, color={0,0,127}));
  connect(v_ref, controller.v_ref) annotation (Line(
      points={{-120,0},{-96,0},{-96,4.8},{-78.4,4.8}}, color={0,0,127}));
  connect(a_ref, controller.a_ref) annotation (Line(
      points={{-120,-60},{-90,-60},{-90,0},{-78.4,0}}, color={0,0,127}));
  connect(controller.tau, driveTorque) annotation (Line(
      points={{-50.8,7.2},{-44,7.2},{-44,90},{110,90}}, color={0,0,127}));
  der(motorAngle) = motorSpeed;
  der(motorSpeed) = motorAcceleration;
  drivePosition = motorAngle/gearFactor;
  driveSpeed = motorSpeed/gearFactor;
  driveAcceleration = motorAcceleration/gearFactor;
  annotation (
    experiment(StopTime=2, Tolerance=1e-8, Interval=0.001),
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Text(extent={{-98,65.8},{-67,54.2}}, textColor={128,128,128}, textString="s_ref"),
        Text(extent={{-98,5.8},{-67,-5.8}}, textColor={128,128,128}, textString="v_ref"),
        Text(extent={{-98,-54.2},{-67,-65.8}}, textColor={128,128,128}, textString="a_ref"),
        Text(extent={{56.1,63},{98,57}}, textColor={128,128,128}, textString="drivePosition"),
        Text(extent={{62.5,33},{98,27}}, textColor={128,128,128}, textString="driveSpeed"),
        Text(extent={{43.2,3},{98,-3}}, textColor={128,128,128}, textString="driveAcceleration")}),
    Documentation(info="<html>
<p>
<img src=\"modelica://Mechanisms/Resources/Images/Robots/Tripod.svg\" alt=\"Tripod\">
</p>
<p>
A <a href=\"modelica://Mechanisms.DriveTrains.CascadeController\">CascadeController</a> per drive measures its angle and
speed. The inputs are reference position, speed and acceleration of each rail, which must fit together; zero
inputs hold the tool where it starts. Fed with the position, speed and acceleration of the drives,
<a href=\"modelica://Mechanisms.Robots.TripodInverse\">TripodInverse</a> returns their torques.
</p>
<h4>Assumptions</h4>
<ul>
<li>Rigid, massless rods with ideal joints; tool and carriages are point masses.</li>
<li>The elasticity of each drive is one linear spring with a linear damper.</li>
<li>The drives follow their torques at once.</li>
</ul>
<h4>Implementation</h4>
<p>
Mechanism and drives: <a href=\"modelica://Mechanisms.Interfaces.PartialTripod\">PartialTripod</a>. The default start is
the equilibrium for the default values, with the springs loaded by the weight; with another geometry
<code>toolPosition_start</code> and <code>drivePosition_start</code> must be set to match, or the springs start with a
large deflection. The gains are a choice; with the default values the least damped mode of the controlled robot lies,
friction aside, near 27 Hz with a damping ratio of 0.35, inside the band from 0 to 50 Hz that the source evaluates. A
delay of the measured torque belongs to the measurement, not to this model.
</p>
<h4>Limitations</h4>
<p>The tool must stay inside the workspace: horizontally nearer to every rail than <code>rodLength</code>.</p>
<h4>References</h4>
<p>
<em>Special Genetic Identification Algorithm with smoothing in the frequency domain</em> (study of a tripod robot;
drive, equivalent mass and identified parameters).
</p>
</html>"));
end Tripod;
