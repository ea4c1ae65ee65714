within Mechanisms.Interfaces;
partial model PartialSliderCrank "Slider-crank: parameters, kinematics, generalized inertia and bias torque, energies"
  extends Icons.Mechanism;
  // Standard inertial parameters, about the joint origins
  parameter Units.Inertia inertia1 = 3.8e-4 "Crank: moment of inertia about the crank axis (Izz)";
  parameter Units.FirstMoment momentX1 = 7.2e-3 "Crank: first moment along the crank (mX)";
  parameter Units.FirstMoment momentY1 = 0 "Crank: first moment across the crank (mY)";
  parameter Units.Mass mass1 = 0.18 "Crank: mass, without influence";
  parameter Units.Inertia inertia2 = 4.6e-3 "Connecting rod: moment of inertia about the crank pin (Izz)";
  parameter Units.FirstMoment momentX2 = 2.8e-2 "Connecting rod: first moment along the rod (mX)";
  parameter Units.FirstMoment momentY2 = 0 "Connecting rod: first moment across the rod (mY)";
  parameter Units.Mass mass2 = 0.22 "Connecting rod: mass";
  parameter Units.Inertia inertia3 = 1.9e-4 "Slider: moment of inertia about the piston pin (Izz), without influence";
  parameter Units.FirstMoment momentX3 = 0 "Slider: first moment along the guide (mX), in the potential energy only";
  parameter Units.FirstMoment momentY3 = 0 "Slider: first moment across the guide (mY), in the potential energy only";
  parameter Units.Mass mass3 = 0.25 "Slider: mass";
  parameter Units.Force coulombForce(min=0) = 2 "Coulomb friction force between slider and guide";
  parameter Units.TranslationalDampingConstant viscousFriction(min=0) = 1
    "Viscous friction constant between slider and guide";
  // Geometry and constants
  parameter Units.Length length1(min=1e-6) = 0.08 "Length of the crank";
  parameter Units.Length length2(min=1e-6) = 0.25 "Length of the connecting rod";
  parameter Units.Acceleration gravity[3] = {0, -9.81, 0}
    "Gravity vector; x points along the guide, z along the crank axis";
  parameter Units.Velocity frictionSpeedWidth(min=1e-12) = 0.01 "Width of the smooth sign of the Coulomb friction";
  output Units.Angle rodAngle "Angle of the connecting rod relative to the crank";
  output Units.AngularVelocity rodSpeed "Angular velocity of the connecting rod relative to the crank";
  output Units.Angle pinAngle "Angle of the slider relative to the connecting rod";
  output Units.AngularVelocity pinSpeed "Angular velocity of the slider relative to the connecting rod";
  output Units.Position sliderPosition "Distance of the piston pin from the crank axis";
  output Units.Velocity sliderSpeed "Velocity of the slider";
  output Units.Energy kineticEnergy "Kinetic energy";
  output Units.Energy potentialEnergy "Potential energy, zero with the centres of mass on the crank axis";
  output Units.Power inputPower "Power of the crank torque";
  output Units.Power dissipatedPower "Power lost in friction";
protected
  Units.Angle crankAngle "Crank angle";
  Units.AngularVelocity crankSpeed "Crank speed";
  Units.AngularAcceleration crankAcceleration "Crank acceleration";
  Units.Torque crankTorque "Crank torque";
  Units.Angle beta "Angle of the connecting rod to the guide";
  Real betaSlope(unit="1") "Derivative of beta with respect to the crank angle";
  Real betaCurvature(unit="1") "Second derivative of beta with respect to the crank angle";
  Units.Length sliderSlope "Derivative of the slider position with respect to the crank angle";
  Units.Length sliderCurvature "Second derivative of the slider position with respect to the crank angle";
  Units.FirstMoment crankMoment[2] "First moment of the crank, resolved in the ground frame";
  Units.FirstMoment rodMoment[2] "First moment of the connecting rod, resolved in the ground frame";
  Units.FirstMoment rodMomentAlong "First moment of the connecting rod along the crank";
  Units.FirstMoment rodMomentAcross "First moment of the connecting rod across the crank";
  Units.Inertia generalizedInertia "Inertia felt at the crank";
  Units.Torque biasTorque "Crank torque without acceleration: centrifugal forces, weight and friction";
  Units.Force frictionForce "Friction force between slider and guide";
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
  frictionForce = Friction.Functions.smoothCoulomb(sliderSpeed, coulombForce, frictionSpeedWidth)
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
  potentialEnergy = -gravity[1]*(crankMoment[1] + mass2*length1*cos(crankAngle) + rodMoment[1] + mass3*sliderPosition + momentX3)
    - gravity[2]*(crankMoment[2] + mass2*length1*sin(crankAngle) + rodMoment[2] + momentY3);
  inputPower = crankTorque*crankSpeed;
  dissipatedPower = frictionForce*sliderSpeed;
  annotation (Documentation(info="<html>
<p>
Crank (body 1), connecting rod (body 2) and slider (body 3) in the x-y plane; the slider moves along x through the crank
axis. Body frames sit at the revolute joints, their x axes along the bodies; the bodies are given by their standard
inertial parameters about the frame origin.
</p>
<h4>Implementation</h4>
<p>
The angle of the rod to the guide is <code>beta = -asin(length1*sin(q)/length2)</code> for every crank angle q. It and the
slider position are differentiated on paper. Torque and energies use first moments about the joint origins: no mass
divides, and both are exactly linear in every inertial parameter. A subclass binds <code>crankAngle</code>,
<code>crankSpeed</code>, <code>crankAcceleration</code> and <code>crankTorque</code> to its inputs and states.
</p>
<p>
<code>mass1</code>, <code>inertia3</code> and the first moments of the slider complete the set of standard parameters; they
have no influence on the torque.
</p>
</html>"));
end PartialSliderCrank;
