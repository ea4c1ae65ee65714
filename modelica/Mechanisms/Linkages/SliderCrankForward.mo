within Mechanisms.Linkages;
model SliderCrankForward "Slider-crank driven by a crank torque, with smooth friction"
  extends Interfaces.PartialSliderCrank;
  parameter SI.Angle q_start = 0.5 "Crank angle at the start"
    annotation (Dialog(tab="Initialization", group="Start values"));
  parameter SI.AngularVelocity qd_start = 0 "Crank speed at the start"
    annotation (Dialog(tab="Initialization", group="Start values"));
  Modelica.Blocks.Interfaces.RealInput tau(final quantity="Torque", final unit="N.m", start=0) "Crank torque"
    annotation (Placement(transformation(extent={{-140,-20},{-100,20}})));
  Modelica.Blocks.Interfaces.RealOutput q(
    final quantity="Angle",
    final unit="rad",
    displayUnit="deg",
    start=q_start, fixed=true) "Crank angle, zero with the crank pin farthest along the guide"
    annotation (Placement(transformation(extent={{100,80},{120,100}})));
  Modelica.Blocks.Interfaces.RealOutput qd(
    final quantity="AngularVelocity",
    final unit="rad/s",
    start=qd_start, fixed=true) "Crank speed"
    annotation (Placement(transformation(extent={{100,60},{120,80}})));
  Modelica.Blocks.Interfaces.RealOutput qdd(final quantity="AngularAcceleration", final unit="rad/s2") "Crank acceleration"
    annotation (Placement(transformation(extent={{100,40},{120,60}})));
equation
  der(q) = qd;
  der(qd) = qdd;
  crankAngle = q;
  crankSpeed = qd;
  crankAcceleration = qdd;
  tau = crankTorque;
  annotation (
    experiment(StopTime=2, Tolerance=1e-8, Interval=0.001),
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Text(extent={{91.8,95.8},{98,84.2}}, textColor={128,128,128}, textString="q"),
        Text(extent={{85.6,75.8},{98,64.2}}, textColor={128,128,128}, textString="qd"),
        Text(extent={{79.4,55.8},{98,44.2}}, textColor={128,128,128}, textString="qdd")}),
    Documentation(info="<html>
<p>
<img src=\"modelica://Mechanisms/Resources/Images/Linkages/SliderCrankForward.svg\" alt=\"SliderCrankForward\">
</p>
<p>
Crank, connecting rod and slider with the geometry and the inertial parameters of the reference. Input is the crank
torque; states are crank angle and speed. Friction between slider and guide:
<code>coulombForce*tanh(v/speedWidth) + viscousFriction*v</code>.
</p>
<h4>Assumptions</h4>
<ul>
<li>Three rigid bodies in a plane; the joints have neither play nor friction.</li>
<li>Only the guide of the slider has friction; it does not depend on the normal force.</li>
</ul>
<h4>Implementation</h4>
<p>
Bodies, joints and conventions: <a href=\"modelica://Mechanisms.Interfaces.PartialSliderCrank\">PartialSliderCrank</a>.
The acceleration is the torque less the bias torque, over the inertia felt at the crank.
</p>
<h4>Limitations</h4>
<p>
<code>length2</code> must be greater than <code>length1</code>, and the inertia felt at the crank must stay positive.
The slider creeps instead of sticking.
</p>
<h4>References</h4>
<p>
Study on the linear-regression-based identification of closed-loop multibody systems: numerical example of the
slider-crank, Tables 1 and 2.
</p>
</html>"));
end SliderCrankForward;
