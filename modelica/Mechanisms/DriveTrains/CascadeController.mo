within Mechanisms.DriveTrains;
model CascadeController "Position P, speed PI, torque feed-forward and torque limit for one drive"
  extends Icons.Block;
  parameter Real gearFactor(unit="rad/m", min=1e-12) = 100 "Motor angle over travel of the rail"
    annotation (Dialog(group="Gear"));
  parameter Real positionGain(unit="1/s") = 30 "Gain of the position controller"
    annotation (Dialog(group="Control"));
  parameter Units.RotationalDampingConstant speedGain(min=1e-12) = 0.056 "Gain of the speed controller"
    annotation (Dialog(group="Control"));
  parameter Units.Time integralTime(min=1e-12) = 0.03 "Integral time of the speed controller"
    annotation (Dialog(group="Control"));
  parameter Units.Mass feedForwardMass = 2.8 "Mass that the acceleration feed-forward assumes"
    annotation (Dialog(group="Feed-forward"));
  parameter Units.Force feedForwardForce = 0 "Constant force of the feed-forward, usually the weight"
    annotation (Dialog(group="Feed-forward"));
  parameter Units.Torque torqueLimit(min=1e-12) = 2 "Torque limit"
    annotation (Dialog(group="Control"));
  parameter Units.Torque torqueWidth(min=1e-15) = 2e-4 "Width of the rounded corners of the torque limit"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  Mechanisms.Interfaces.RealInput s_ref(final quantity="Length", final unit="m", start=0) "Reference position"
    annotation (Placement(transformation(extent={{-140,60},{-100,100}})));
  Mechanisms.Interfaces.RealInput v_ref(final quantity="Velocity", final unit="m/s", start=0) "Reference speed"
    annotation (Placement(transformation(extent={{-140,20},{-100,60}})));
  Mechanisms.Interfaces.RealInput a_ref(final quantity="Acceleration", final unit="m/s2", start=0)
    "Reference acceleration"
    annotation (Placement(transformation(extent={{-140,-20},{-100,20}})));
  Mechanisms.Interfaces.RealInput phi(final quantity="Angle", final unit="rad", displayUnit="deg", start=0)
    "Measured motor angle"
    annotation (Placement(transformation(extent={{-140,-60},{-100,-20}})));
  Mechanisms.Interfaces.RealInput w(final quantity="AngularVelocity", final unit="rad/s", start=0)
    "Measured motor speed"
    annotation (Placement(transformation(extent={{-140,-100},{-100,-60}})));
  Mechanisms.Interfaces.RealOutput tau(final quantity="Torque", final unit="N.m") "Motor torque"
    annotation (Placement(transformation(extent={{100,50},{120,70}})));
  Mechanisms.Interfaces.RealOutput integral(
    final quantity="Angle",
    final unit="rad",
    displayUnit="deg",
    start=0, fixed=true, nominal=0.1) "Integral of the speed error"
    annotation (Placement(transformation(extent={{100,-70},{120,-50}})));
  Units.AngularVelocity speedError "Speed error, in motor speed";
  Units.Torque unlimited "Torque before the limit";
equation
  speedError = gearFactor*v_ref + positionGain*(gearFactor*s_ref - phi) - w;
  unlimited = speedGain*(speedError + integral/integralTime) + (feedForwardMass*a_ref + feedForwardForce)/gearFactor;
  tau = Functions.smoothLimit(unlimited, torqueLimit, torqueWidth);
  der(integral) = speedError + (tau - unlimited)/speedGain;
  annotation (
    experiment(StopTime=1, Tolerance=1e-8, Interval=0.001),
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-62,60},{-42.3,60}}, color={0,0,127}),
        Ellipse(extent={{-42.3,63},{-35.5,57}}, lineColor={0,0,127}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Line(points={{-62,-12},{-38.9,-12},{-38.9,57}}, color={0,0,127}),
        Line(points={{-35.5,60},{-26.6,60}}, color={0,0,127}),
        Rectangle(extent={{-26.6,67.2},{-9,52.8}}, lineColor={0,0,127}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Text(extent={{-25.3,64.8},{-10.3,55.2}}, textColor={0,0,127}, textString="P"),
        Line(points={{-9,60},{3.3,60},{3.3,39}}, color={0,0,127}),
        Ellipse(extent={{-0.1,39},{6.7,33}}, lineColor={0,0,127}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Line(points={{-62,36},{-0.1,36}}, color={0,0,127}),
        Line(points={{-62,-36},{3.3,-36},{3.3,33}}, color={0,0,127}),
        Line(points={{6.7,36},{12.8,36}}, color={0,0,127}),
        Rectangle(extent={{12.8,43.2},{30.5,28.8}}, lineColor={0,0,127}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Text(extent={{14.2,40.8},{29.1,31.2}}, textColor={0,0,127}, textString="PI"),
        Line(points={{30.5,36},{36.6,36}}, color={0,0,127}),
        Ellipse(extent={{36.6,39},{43.4,33}}, lineColor={0,0,127}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Rectangle(extent={{-25.3,19.2},{-7.6,4.8}}, lineColor={0,0,127}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Text(extent={{-23.9,16.8},{-9,7.2}}, textColor={0,0,127}, textString="FF"),
        Line(points={{-62,12},{-25.3,12}}, color={0,0,127}),
        Line(points={{-7.6,12},{40,12},{40,33}}, color={0,0,127}),
        Line(points={{43.4,36},{49.5,36}}, color={0,0,127}),
        Rectangle(extent={{49.5,43.2},{65.8,28.8}}, lineColor={0,0,127}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Line(points={{51.6,31.2},{55,31.2},{60.4,40.8},{63.8,40.8}}, color={200,60,40}, thickness=0.5),
        Line(points={{65.8,36},{69.2,36},{69.2,60},{74,60}}, color={0,0,127}),
        Text(extent={{-98,85.8},{-67,74.2}}, textColor={128,128,128}, textString="s_ref"),
        Text(extent={{-98,45.8},{-67,34.2}}, textColor={128,128,128}, textString="v_ref"),
        Text(extent={{-98,5.8},{-67,-5.8}}, textColor={128,128,128}, textString="a_ref"),
        Text(extent={{-98,-34.2},{-79.4,-45.8}}, textColor={128,128,128}, textString="phi"),
        Text(extent={{-98,-74.2},{-88,-85.8}}, textColor={128,128,128}, textString="w"),
        Text(extent={{79.4,65.8},{98,54.2}}, textColor={128,128,128}, textString="tau"),
        Text(extent={{48.4,-54.2},{98,-65.8}}, textColor={128,128,128}, textString="integral")}),
    Diagram(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-100,80},{-71,80}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled}),
        Ellipse(extent={{-71,85},{-61,75}}, lineColor={0,0,127}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Line(points={{-100,-40},{-66,-40},{-66,75}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled}),
        Line(points={{-61,80},{-48,80}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled}),
        Rectangle(extent={{-48,92},{-22,68}}, lineColor={0,0,127}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Text(extent={{-46,88},{-24,72}}, textColor={0,0,127}, textString="P"),
        Line(points={{-22,80},{-4,80},{-4,45}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled}),
        Ellipse(extent={{-9,45},{1,35}}, lineColor={0,0,127}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Line(points={{-100,40},{-9,40}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled}),
        Line(points={{-100,-80},{-4,-80},{-4,35}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled}),
        Line(points={{1,40},{10,40}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled}),
        Rectangle(extent={{10,52},{36,28}}, lineColor={0,0,127}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Text(extent={{12,48},{34,32}}, textColor={0,0,127}, textString="PI"),
        Line(points={{36,40},{45,40}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled}),
        Ellipse(extent={{45,45},{55,35}}, lineColor={0,0,127}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Rectangle(extent={{-46,12},{-20,-12}}, lineColor={0,0,127}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Text(extent={{-44,8},{-22,-8}}, textColor={0,0,127}, textString="FF"),
        Line(points={{-100,0},{-46,0}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled}),
        Line(points={{-20,0},{50,0},{50,35}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled}),
        Line(points={{55,40},{64,40}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled}),
        Rectangle(extent={{64,52},{88,28}}, lineColor={0,0,127}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Line(points={{67,32},{72,32},{80,48},{85,48}}, color={200,60,40}, thickness=0.5),
        Line(points={{88,40},{93,40},{93,60},{100,60}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled}),
        Line(points={{23,28},{23,-60},{100,-60}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled})}),
    Documentation(info="<html>
<p>
<img src=\"modelica://Mechanisms/Resources/Images/DriveTrains/CascadeController.svg\" alt=\"CascadeController\">
</p>
<p>
<code>e = i*v_ref + positionGain*(i*s_ref - phi) - w</code>, <code>tau = speedGain*(e + integral(e)/integralTime) +
(feedForwardMass*a_ref + feedForwardForce)/i</code> within the torque limit, <code>i = gearFactor</code>.
</p>
<h4>Assumptions</h4>
<ul>
<li>Angle and speed are measured without noise and delay.</li>
<li>The drive follows the torque at once.</li>
</ul>
<h4>Implementation</h4>
<p>
While the torque is limited the integrator follows, so that it does not wind up. The limit is
<a href=\"modelica://Mechanisms.Functions.smoothLimit\">smoothLimit</a>, without an event. The feed-forward has its own
mass and force: it does not follow the true values when these are estimated.
</p>
<h4>Limitations</h4>
<p>Continuous in time; no sampling, no quantisation of the measured angle.</p>
<h4>References</h4>
<p>
H. Gro&szlig;, J. Hamann, G. Wiegand&auml;rtner: <em>Electrical Feed Drives in Automation</em>, Publicis, 2001.
</p>
</html>"));
end CascadeController;
