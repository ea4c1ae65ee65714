within Mechanisms.Linkages;
model SliderCrankInverse "Slider-crank, inverse dynamics with smooth friction"
  extends Interfaces.PartialSliderCrank;
  Modelica.Blocks.Interfaces.RealInput q(final quantity="Angle", final unit="rad", displayUnit="deg", start=0)
    "Crank angle, zero with the crank pin farthest along the guide"
    annotation (Placement(transformation(extent={{-140,40},{-100,80}})));
  Modelica.Blocks.Interfaces.RealInput qd(final quantity="AngularVelocity", final unit="rad/s", start=0) "Crank speed"
    annotation (Placement(transformation(extent={{-140,-20},{-100,20}})));
  Modelica.Blocks.Interfaces.RealInput qdd(final quantity="AngularAcceleration", final unit="rad/s2", start=0)
    "Crank acceleration"
    annotation (Placement(transformation(extent={{-140,-80},{-100,-40}})));
  Modelica.Blocks.Interfaces.RealOutput tau(final quantity="Torque", final unit="N.m") "Crank torque"
    annotation (Placement(transformation(extent={{100,70},{120,90}})));
equation
  crankAngle = q;
  crankSpeed = qd;
  crankAcceleration = qdd;
  tau = crankTorque;
  annotation (
    experiment(StopTime=1, Tolerance=1e-8, Interval=0.001),
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Text(extent={{-98,65.8},{-91.8,54.2}}, textColor={128,128,128}, textString="q"),
        Text(extent={{-98,5.8},{-85.6,-5.8}}, textColor={128,128,128}, textString="qd"),
        Text(extent={{-98,-54.2},{-79.4,-65.8}}, textColor={128,128,128}, textString="qdd")}),
    Documentation(info="<html>
<p>
<img src=\"modelica://Mechanisms/Resources/Images/Linkages/SliderCrankInverse.svg\" alt=\"SliderCrankInverse\">
</p>
<p>
Crank, connecting rod and slider with the geometry and the inertial parameters of the reference. Inputs are angle, speed
and acceleration of the crank, output is its torque. Friction between slider and guide:
<code>coulombForce*tanh(v/speedWidth) + viscousFriction*v</code>. The torque and the energies are linear in every
inertial parameter.
</p>
<h4>Assumptions</h4>
<ul>
<li>Three rigid bodies in a plane; the joints have neither play nor friction.</li>
<li>Only the guide of the slider has friction; it does not depend on the normal force.</li>
</ul>
<h4>Implementation</h4>
<p>
Bodies, joints and conventions: <a href=\"modelica://Mechanisms.Interfaces.PartialSliderCrank\">PartialSliderCrank</a>.
There is no state and no system of equations.
</p>
<h4>Limitations</h4>
<p>
<code>length2</code> must be greater than <code>length1</code>. Only combinations of the twelve inertial parameters can
be identified from the torque: <code>inertia1 + length1^2*(mass2 + mass3)</code>,
<code>momentX1 + length1*(mass2 + mass3)</code>, <code>inertia2 + length2^2*mass3</code>,
<code>momentX2 + length2*mass3</code>, <code>momentY1</code> and <code>momentY2</code>.
</p>
<h4>References</h4>
<p>
Study on the linear-regression-based identification of closed-loop multibody systems: numerical example of the
slider-crank, Tables 1 and 2.
</p>
</html>"));
end SliderCrankInverse;
