within Mechanisms.Interfaces;
partial model PartialSliderCrank "Slider-crank: parameters, kinematics, generalized inertia and bias torque, energies"
  extends Icons.SliderCrank;
  parameter SI.Inertia inertia1 = 3.8e-4 "Crank: moment of inertia about the crank axis (Izz)"
    annotation (Dialog(group="Crank"));
  parameter SI.FirstMoment momentX1 = 7.2e-3 "Crank: first moment along the crank (mX)"
    annotation (Dialog(group="Crank"));
  parameter SI.FirstMoment momentY1 = 0 "Crank: first moment across the crank (mY)"
    annotation (Dialog(group="Crank"));
  parameter SI.Mass mass1 = 0.18 "Crank: mass, without influence"
    annotation (Dialog(group="Crank"));
  parameter SI.Inertia inertia2 = 4.6e-3 "Connecting rod: moment of inertia about the crank pin (Izz)"
    annotation (Dialog(group="Connecting rod"));
  parameter SI.FirstMoment momentX2 = 2.8e-2 "Connecting rod: first moment along the rod (mX)"
    annotation (Dialog(group="Connecting rod"));
  parameter SI.FirstMoment momentY2 = 0 "Connecting rod: first moment across the rod (mY)"
    annotation (Dialog(group="Connecting rod"));
  parameter SI.Mass mass2 = 0.22 "Connecting rod: mass"
    annotation (Dialog(group="Connecting rod"));
  parameter SI.Inertia inertia3 = 1.9e-4 "Slider: moment of inertia about the piston pin (Izz), without influence"
    annotation (Dialog(group="Slider"));
  parameter SI.FirstMoment momentX3 = 0 "Slider: first moment along the guide (mX), in the potential energy only"
    annotation (Dialog(group="Slider"));
  parameter SI.FirstMoment momentY3 = 0 "Slider: first moment across the guide (mY), in the potential energy only"
    annotation (Dialog(group="Slider"));
  parameter SI.Mass mass3 = 0.25 "Slider: mass"
    annotation (Dialog(group="Slider"));
  parameter SI.Force coulombForce(min=0) = 2 "Coulomb friction force between slider and guide"
    annotation (Dialog(group="Friction"));
  parameter SI.TranslationalDampingConstant viscousFriction(min=0) = 1
    "Viscous friction constant between slider and guide"
    annotation (Dialog(group="Friction"));
  parameter SI.Length length1(min=1e-6) = 0.08 "Length of the crank"
    annotation (Dialog(group="Geometry"));
  parameter SI.Length length2(min=1e-6) = 0.25 "Length of the connecting rod"
    annotation (Dialog(group="Geometry"));
  parameter SI.Acceleration gravity[3] = {0, -9.81, 0}
    "Gravity vector; x points along the guide, z along the crank axis"
    annotation (Dialog(group="Environment"));
  parameter SI.Velocity speedWidth(min=1e-12) = 0.01 "Width of the smooth sign of the Coulomb friction"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  Modelica.Blocks.Interfaces.RealOutput rodAngle(final quantity="Angle", final unit="rad", displayUnit="deg")
    "Angle of the connecting rod relative to the crank"
    annotation (Placement(transformation(extent={{100,10},{120,30}})));
  Modelica.Blocks.Interfaces.RealOutput rodSpeed(final quantity="AngularVelocity", final unit="rad/s")
    "Angular velocity of the connecting rod relative to the crank"
    annotation (Placement(transformation(extent={{100,-10},{120,10}})));
  Modelica.Blocks.Interfaces.RealOutput pinAngle(final quantity="Angle", final unit="rad", displayUnit="deg")
    "Angle of the slider relative to the connecting rod"
    annotation (Placement(transformation(extent={{100,-30},{120,-10}})));
  Modelica.Blocks.Interfaces.RealOutput pinSpeed(final quantity="AngularVelocity", final unit="rad/s")
    "Angular velocity of the slider relative to the connecting rod"
    annotation (Placement(transformation(extent={{100,-50},{120,-30}})));
  Modelica.Blocks.Interfaces.RealOutput sliderPosition(final quantity="Length", final unit="m")
    "Distance of the piston pin from the crank axis"
    annotation (Placement(transformation(extent={{100,-70},{120,-50}})));
  Modelica.Blocks.Interfaces.RealOutput sliderSpeed(final quantity="Velocity", final unit="m/s") "Velocity of the slider"
    annotation (Placement(transformation(extent={{100,-90},{120,-70}})));
  Modelica.Blocks.Interfaces.RealOutput kineticEnergy(final quantity="Energy", final unit="J") "Kinetic energy"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-75,-110})));
  Modelica.Blocks.Interfaces.RealOutput potentialEnergy(final quantity="Energy", final unit="J")
    "Potential energy, zero with the centres of mass on the crank axis"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-25,-110})));
  Modelica.Blocks.Interfaces.RealOutput inputPower(final quantity="Power", final unit="W") "Power of the crank torque"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={25,-110})));
  Modelica.Blocks.Interfaces.RealOutput dissipatedPower(final quantity="Power", final unit="W") "Power lost in friction"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={75,-110})));
protected
  SI.Angle crankAngle "Crank angle";
  SI.AngularVelocity crankSpeed "Crank speed";
  SI.AngularAcceleration crankAcceleration "Crank acceleration";
  SI.Torque crankTorque "Crank torque";
  SI.Angle beta "Angle of the connecting rod to the guide";
  Real betaSlope(unit="1") "Derivative of beta with respect to the crank angle";
  Real betaCurvature(unit="1") "Second derivative of beta with respect to the crank angle";
  SI.Length sliderSlope "Derivative of the slider position with respect to the crank angle";
  SI.Length sliderCurvature "Second derivative of the slider position with respect to the crank angle";
  SI.FirstMoment crankMoment[2] "First moment of the crank, resolved in the ground frame";
  SI.FirstMoment rodMoment[2] "First moment of the connecting rod, resolved in the ground frame";
  SI.FirstMoment rodMomentAlong "First moment of the connecting rod along the crank";
  SI.FirstMoment rodMomentAcross "First moment of the connecting rod across the crank";
  SI.Inertia generalizedInertia "Inertia felt at the crank";
  SI.Torque biasTorque "Crank torque without acceleration: centrifugal forces, weight and friction";
  SI.Force frictionForce "Friction force between slider and guide";
equation
  assert(length2 > length1,
    "Slider-crank: length2 (connecting rod) must be greater than length1 (crank), or the crank cannot turn.");
  // Kinematics
  beta = -asin(length1*sin(crankAngle)/length2);
  betaSlope = -length1*cos(crankAngle)/(length2*cos(beta));
  betaCurvature = length1*sin(crankAngle)/(length2*cos(beta)) + betaSlope^2*tan(beta);
  sliderPosition = length1*cos(crankAngle) + length2*cos(beta);
  sliderSlope = -length1*sin(crankAngle) - length2*sin(beta)*betaSlope;
  sliderCurvature = -length1*cos(crankAngle) - length2*(cos(beta)*betaSlope^2 + sin(beta)*betaCurvature);
  sliderSpeed = sliderSlope*crankSpeed;
  rodAngle = beta - crankAngle;
  rodSpeed = (betaSlope - 1)*crankSpeed;
  pinAngle = -beta;
  pinSpeed = -betaSlope*crankSpeed;
  // First moments
  crankMoment[1] = cos(crankAngle)*momentX1 - sin(crankAngle)*momentY1;
  crankMoment[2] = sin(crankAngle)*momentX1 + cos(crankAngle)*momentY1;
  rodMoment[1] = cos(beta)*momentX2 - sin(beta)*momentY2;
  rodMoment[2] = sin(beta)*momentX2 + cos(beta)*momentY2;
  rodMomentAlong = cos(crankAngle)*rodMoment[1] + sin(crankAngle)*rodMoment[2];
  rodMomentAcross = cos(crankAngle)*rodMoment[2] - sin(crankAngle)*rodMoment[1];
  // Dynamics
  frictionForce = Friction.Functions.smoothCoulomb(sliderSpeed, coulombForce, speedWidth)
    + viscousFriction*sliderSpeed;
  generalizedInertia = inertia1 + mass2*length1^2 + 2*betaSlope*length1*rodMomentAlong + inertia2*betaSlope^2
    + mass3*sliderSlope^2;
  biasTorque = crankSpeed^2*(length1*betaCurvature*rodMomentAlong - length1*betaSlope^2*rodMomentAcross
      + betaSlope*(inertia2*betaCurvature + length1*rodMomentAcross) + mass3*sliderSlope*sliderCurvature)
    + gravity[1]*(crankMoment[2] + mass2*length1*sin(crankAngle) + betaSlope*rodMoment[2] - mass3*sliderSlope)
    - gravity[2]*(crankMoment[1] + mass2*length1*cos(crankAngle) + betaSlope*rodMoment[1])
    + frictionForce*sliderSlope;
  crankTorque = generalizedInertia*crankAcceleration + biasTorque;
  // Energies and powers
  kineticEnergy = 0.5*generalizedInertia*crankSpeed^2;
  potentialEnergy = -gravity[1]*(crankMoment[1] + mass2*length1*cos(crankAngle) + rodMoment[1]
      + mass3*sliderPosition + momentX3)
    - gravity[2]*(crankMoment[2] + mass2*length1*sin(crankAngle) + rodMoment[2] + momentY3);
  inputPower = crankTorque*crankSpeed;
  dissipatedPower = frictionForce*sliderSpeed;
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Text(extent={{68.2,23.4},{98,16.6}}, textColor={128,128,128}, textString="rodAngle"),
        Text(extent={{68.2,3.4},{98,-3.4}}, textColor={128,128,128}, textString="rodSpeed"),
        Text(extent={{68.2,-16.6},{98,-23.4}}, textColor={128,128,128}, textString="pinAngle"),
        Text(extent={{68.2,-36.5},{98,-43.5}}, textColor={128,128,128}, textString="pinSpeed"),
        Text(extent={{45.9,-56.5},{98,-63.5}}, textColor={128,128,128}, textString="sliderPosition"),
        Text(extent={{57.1,-76.5},{98,-83.5}}, textColor={128,128,128}, textString="sliderSpeed")}),
    Diagram(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{26.4,-7},{83.6,-7}}, color={64,64,64}),
        Line(points={{33.4,-7},{26.4,-14}}, color={64,64,64}),
        Line(points={{44,-7},{37,-14}}, color={64,64,64}),
        Line(points={{54.6,-7},{47.5,-14}}, color={64,64,64}),
        Line(points={{65.1,-7},{58.1,-14}}, color={64,64,64}),
        Line(points={{75.7,-7},{68.6,-14}}, color={64,64,64}),
        Line(points={{-88,3.6},{83.6,3.6}}, color={160,160,160}, pattern=LinePattern.DashDot),
        Polygon(points={{-52.8,3.6},{-61.6,-10.5},{-44,-10.5},{-52.8,3.6}}, lineColor={64,64,64},
          fillColor={192,192,192}, fillPattern=FillPattern.Solid),
        Line(points={{-66.9,-10.5},{-38.7,-10.5}}, color={64,64,64}),
        Line(points={{-59.8,-10.5},{-66.9,-17.5}}, color={64,64,64}),
        Line(points={{-49.3,-10.5},{-56.3,-17.5}}, color={64,64,64}),
        Line(points={{-38.7,-10.5},{-45.8,-17.5}}, color={64,64,64}),
        Rectangle(extent={{30.4,14.2},{62.1,-7}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Line(points={{-52.8,3.6},{-37.8,29.5}}, color={90,110,150}, thickness=1.32),
        Line(points={{-37.8,29.5},{46.3,3.6}}, color={90,110,150}, thickness=0.88),
        Ellipse(extent={{-58.1,8.9},{-47.5,-1.7}}, lineColor={64,64,64}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Ellipse(extent={{-42.2,33.9},{-33.4,25.1}}, lineColor={64,64,64}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Ellipse(extent={{41.9,8},{50.7,-0.8}}, lineColor={64,64,64}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Line(points={{-33.4,3.6},{-35.2,11.5},{-38.7,16.8},{-43.1,20.3}}, color={0,0,127},
          arrow={Arrow.None,Arrow.Filled}, smooth=Smooth.Bezier),
        Text(extent={{-31.7,22.1},{-19.4,9.8}}, textColor={0,0,127}, textString="q"),
        Text(extent={{-61.6,29.1},{-45.8,16.8}}, textColor={64,64,64}, textString="1"),
        Text(extent={{0,37.9},{14.1,25.6}}, textColor={64,64,64}, textString="2"),
        Text(extent={{41,31.8},{53.3,17.7}}, textColor={64,64,64}, textString="3")}),
    Documentation(info="<html>
<p>
Crank (body 1), connecting rod (body 2) and slider (body 3) in the x-y plane; the slider moves along x through the crank
axis. Body frames sit at the revolute joints, their x axes along the bodies; the bodies are given by their standard
inertial parameters about the frame origin.
</p>
<h4>Implementation</h4>
<p>
The angle of the rod to the guide is <code>beta = -asin(length1*sin(q)/length2)</code> for every crank angle q. It and
the slider position are differentiated on paper. Torque and energies use first moments about the joint origins: no mass
divides, and both are exactly linear in every inertial parameter. A subclass binds <code>crankAngle</code>,
<code>crankSpeed</code>, <code>crankAcceleration</code> and <code>crankTorque</code> to its inputs and states.
</p>
<p>
<code>mass1</code>, <code>inertia3</code> and the first moments of the slider complete the set of standard parameters;
they have no influence on the torque.
</p>
</html>"));
end PartialSliderCrank;
