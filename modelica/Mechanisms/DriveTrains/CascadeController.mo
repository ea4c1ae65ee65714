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
        Rectangle(extent={{-38.4,12.4},{-17.4,-2.5}}, lineColor={0,0,127}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Rectangle(extent={{-6.2,12.4},{14.9,-2.5}}, lineColor={0,0,127}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Rectangle(extent={{27.3,12.4},{48.4,-2.5}}, lineColor={0,0,127}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Text(extent={{-37.2,9.9},{-18.6,0}}, textColor={0,0,127}, textString="P"),
        Text(extent={{-5,9.9},{13.6,0}}, textColor={0,0,127}, textString="PI"),
        Line(points={{29.8,-1.2},{33.5,-1.2},{42.2,11.2},{45.9,11.2}}, color={200,60,40}, thickness=0.31),
        Line(points={{-55.8,5},{-38.4,5}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled}),
        Line(points={{-17.4,5},{-6.2,5}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled}),
        Line(points={{14.9,5},{27.3,5}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled}),
        Line(points={{48.4,5},{58.3,5}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled}),
        Line(points={{-55.8,-24.8},{-27.9,-24.8},{-27.9,-2.5}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled}),
        Line(points={{-55.8,-43.4},{4.3,-43.4},{4.3,-2.5}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled}),
        Line(points={{-55.8,27.3},{21.1,27.3},{21.1,5}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled}),
        Text(extent={{-98,86},{-53,74}}, textColor={128,128,128}, textString="s_ref"),
        Text(extent={{-98,46},{-53,34}}, textColor={128,128,128}, textString="v_ref"),
        Text(extent={{-98,6},{-53,-6}}, textColor={128,128,128}, textString="a_ref"),
        Text(extent={{-98,-34},{-71,-46}}, textColor={128,128,128}, textString="phi"),
        Text(extent={{-98,-74},{-80,-86}}, textColor={128,128,128}, textString="w"),
        Text(extent={{74,65},{98,55}}, textColor={128,128,128}, textString="tau"),
        Text(extent={{50,-55},{98,-65}}, textColor={128,128,128}, textString="integral")}),
    Diagram(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Rectangle(extent={{-57,18.4},{-25.8,-3.7}}, lineColor={0,0,127}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Rectangle(extent={{-9.2,18.4},{22.1,-3.7}}, lineColor={0,0,127}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Rectangle(extent={{40.5,18.4},{71.8,-3.7}}, lineColor={0,0,127}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Text(extent={{-55.2,14.7},{-27.6,0}}, textColor={0,0,127}, textString="P"),
        Text(extent={{-7.4,14.7},{20.2,0}}, textColor={0,0,127}, textString="PI"),
        Line(points={{44.2,-1.8},{49.7,-1.8},{62.6,16.6},{68.1,16.6}}, color={200,60,40}, thickness=0.46),
        Line(points={{-82.8,7.4},{-57,7.4}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled}),
        Line(points={{-25.8,7.4},{-9.2,7.4}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled}),
        Line(points={{22.1,7.4},{40.5,7.4}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled}),
        Line(points={{71.8,7.4},{86.5,7.4}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled}),
        Line(points={{-82.8,-36.8},{-41.4,-36.8},{-41.4,-3.7}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled}),
        Line(points={{-82.8,-64.4},{6.4,-64.4},{6.4,-3.7}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled}),
        Line(points={{-82.8,40.5},{31.3,40.5},{31.3,7.4}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled}),
        Text(extent={{-36.8,-38.6},{-14.7,-49.7}}, textColor={0,0,127}, textString="phi"),
        Text(extent={{11,-53.4},{23.9,-66.2}}, textColor={0,0,127}, textString="w"),
        Text(extent={{-55.2,55.2},{27.6,42.3}}, textColor={0,0,127}, textString="a_ref, feed-forward"),
        Text(extent={{-82.8,22.1},{-60.7,9.2}}, textColor={0,0,127}, textString="s_ref")}),
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
