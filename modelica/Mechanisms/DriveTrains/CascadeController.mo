within Mechanisms.DriveTrains;
block CascadeController "Position P, speed PI, torque feed-forward and torque limit for one drive"
  extends Modelica.Blocks.Icons.Block;
  parameter Real gearFactor(unit="rad/m", min=Modelica.Constants.eps) = 100 "Motor angle over travel of the rail"
    annotation (Dialog(group="Gear"));
  parameter Real positionGain(unit="1/s") = 30 "Gain of the position controller"
    annotation (Dialog(group="Control"));
  parameter SI.RotationalDampingConstant speedGain(min=Modelica.Constants.eps) = 0.056 "Gain of the speed controller"
    annotation (Dialog(group="Control"));
  parameter SI.Time integralTime(min=Modelica.Constants.eps) = 0.03 "Integral time of the speed controller"
    annotation (Dialog(group="Control"));
  parameter SI.Mass feedForwardMass = 2.8 "Mass that the acceleration feed-forward assumes"
    annotation (Dialog(group="Feed-forward"));
  parameter SI.Force feedForwardForce = 0 "Constant force of the feed-forward, usually the weight"
    annotation (Dialog(group="Feed-forward"));
  parameter SI.Torque torqueLimit(min=Modelica.Constants.eps) = 2 "Torque limit"
    annotation (Dialog(group="Control"));
  parameter SI.Torque torqueWidth(min=Modelica.Constants.eps) = 2e-4 "Width of the rounded corners of the torque limit"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  Modelica.Blocks.Interfaces.RealInput s_ref(final quantity="Length", final unit="m", start=0) "Reference position"
    annotation (Placement(transformation(extent={{-140,60},{-100,100}})));
  Modelica.Blocks.Interfaces.RealInput v_ref(final quantity="Velocity", final unit="m/s", start=0) "Reference speed"
    annotation (Placement(transformation(extent={{-140,20},{-100,60}})));
  Modelica.Blocks.Interfaces.RealInput a_ref(final quantity="Acceleration", final unit="m/s2", start=0)
    "Reference acceleration"
    annotation (Placement(transformation(extent={{-140,-20},{-100,20}})));
  Modelica.Blocks.Interfaces.RealInput phi(final quantity="Angle", final unit="rad", displayUnit="deg", start=0)
    "Measured motor angle"
    annotation (Placement(transformation(extent={{-140,-60},{-100,-20}})));
  Modelica.Blocks.Interfaces.RealInput w(final quantity="AngularVelocity", final unit="rad/s", start=0)
    "Measured motor speed"
    annotation (Placement(transformation(extent={{-140,-100},{-100,-60}})));
  Modelica.Blocks.Interfaces.RealOutput tau(final quantity="Torque", final unit="N.m") "Motor torque"
    annotation (Placement(transformation(extent={{100,50},{120,70}})));
  Modelica.Blocks.Interfaces.RealOutput integral(
    final quantity="Angle",
    final unit="rad",
    displayUnit="deg",
    start=0, fixed=true, nominal=0.1) "Integral of the speed error"
    annotation (Placement(transformation(extent={{100,-70},{120,-50}})));
  SI.AngularVelocity speedError "Speed error, in motor speed";
  SI.Torque unlimited "Torque before the limit";
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
    Documentation(info="<html>
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
