within Mechanisms.FMUs;
partial model PartialTripodControl "Cascade control of the three drives of a tripod"
  parameter Real positionGain(unit="1/s") = 30 "Gain of the position controllers"
    annotation (Dialog(group="Control"));
  parameter SI.RotationalDampingConstant speedGain(min=Modelica.Constants.eps) = 0.056 "Gain of the speed controllers"
    annotation (Dialog(group="Control"));
  parameter SI.Time integralTime(min=Modelica.Constants.eps) = 0.03 "Integral time of the speed controllers"
    annotation (Dialog(group="Control"));
  parameter SI.Mass feedForwardMass = 2.8 "Mass that the acceleration feed-forward assumes per rail"
    annotation (Dialog(group="Feed-forward"));
  parameter SI.Force feedForwardForce = 14.715 "Weight that the feed-forward assumes per rail"
    annotation (Dialog(group="Feed-forward"));
  parameter SI.Torque torqueLimit(min=Modelica.Constants.eps) = 2 "Torque limit of the drives"
    annotation (Dialog(group="Control"));
  parameter SI.Torque torqueWidth(min=Modelica.Constants.eps) = 2e-4 "Width of the rounded corners of the torque limit"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  parameter SI.Position drivePosition_start[3] = {0, 0, 0}
    "Positions of the drives at the start, in travel of the rails"
    annotation (Dialog(tab="Initialization", group="Start values"));
  Modelica.Blocks.Interfaces.RealInput s_ref[3](each final quantity="Length", each final unit="m", each start=0)
    "Reference positions of the rails"
    annotation (Placement(transformation(extent={{-140,60},{-100,100}})));
  Modelica.Blocks.Interfaces.RealInput v_ref[3](each final quantity="Velocity", each final unit="m/s", each start=0)
    "Reference speeds of the rails"
    annotation (Placement(transformation(extent={{-140,20},{-100,60}})));
  Modelica.Blocks.Interfaces.RealInput a_ref[3](
    each final quantity="Acceleration",
    each final unit="m/s2",
    each start=0) "Reference accelerations of the rails"
    annotation (Placement(transformation(extent={{-140,-60},{-100,-20}})));
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
    each positionGain=positionGain,
    each speedGain=speedGain,
    each integralTime=integralTime,
    each feedForwardMass=feedForwardMass,
    each feedForwardForce=feedForwardForce,
    each torqueLimit=torqueLimit,
    each torqueWidth=torqueWidth) "Controllers"
    annotation (Placement(transformation(extent={{-70,40},{-40,70}})));
  Modelica.Mechanics.Rotational.Sources.Torque torque[3] "Torques of the drives"
    annotation (Placement(transformation(extent={{-20,54},{0,74}})));
  Modelica.Mechanics.Rotational.Sensors.AngleSensor angle[3] "Angles of the drives"
    annotation (Placement(transformation(extent={{-96,24},{-84,36}})));
  Modelica.Mechanics.Rotational.Sensors.SpeedSensor speed[3] "Speeds of the drives"
    annotation (Placement(transformation(extent={{-96,14},{-84,26}})));
equation
  connect(s_ref, controller.s_ref) annotation (Line(points={{-120,80},{-80,80},{-80,67},{-73,67}}, color={0,0,127}));
  connect(v_ref, controller.v_ref) annotation (Line(points={{-120,40},{-96,40},{-96,61},{-73,61}}, color={0,0,127}));
  connect(a_ref, controller.a_ref) annotation (Line(points={{-120,-40},{-98,-40},{-98,55},{-73,55}}, color={0,0,127}));
  connect(angle.phi, controller.phi) annotation (Line(points={{-83.4,30},{-80,30},{-80,49},{-73,49}}, color={0,0,127}));
  connect(speed.w, controller.w) annotation (Line(points={{-83.4,20},{-76,20},{-76,43},{-73,43}}, color={0,0,127}));
  connect(controller.tau, torque.tau) annotation (Line(points={{-38.5,64},{-22,64}}, color={0,0,127}));
  connect(angle.flange, torque.flange)
    annotation (Line(points={{-96,30},{-98,30},{-98,14},{6,14},{6,64},{0,64}}, color={0,0,0}));
  connect(speed.flange, torque.flange)
    annotation (Line(points={{-96,20},{-98,20},{-98,14},{6,14},{6,64},{0,64}}, color={0,0,0}));
  for i in 1:3 loop
    drivePosition[i] = angle[i].phi/controller[i].gearFactor;
    driveSpeed[i] = speed[i].w/controller[i].gearFactor;
  end for;
  driveAcceleration = der(driveSpeed);
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Rectangle(extent={{-100,100},{100,-100}}, lineColor={95,95,95})}),
    Documentation(info="<html>
<p>
A <a href=\"modelica://Mechanisms.DriveTrains.CascadeController\">CascadeController</a> per drive measures its angle
and speed. A subclass extends a tripod, too, and connects <code>torque.flange</code> to it. The inputs are reference
position, speed and acceleration of each rail, which must fit together; zero inputs hold the tool where it starts.
</p>
<p>
The gains are a choice; with the default values the least damped mode of the controlled robot lies, friction aside, near
27 Hz with a damping ratio of 0.35, inside the band from 0 to 50 Hz that the source evaluates. A delay of the measured
torque belongs to the measurement, not to this model.
</p>
</html>"));
end PartialTripodControl;
