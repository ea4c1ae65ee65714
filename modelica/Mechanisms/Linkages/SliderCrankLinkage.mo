within Mechanisms.Linkages;
model SliderCrankLinkage "Slider-crank without friction"
  extends PartialSliderCrank;
  parameter StateSelect stateSelect = StateSelect.prefer "Priority of the crank's angle and speed as states"
    annotation (Dialog(tab="Advanced", group="States"));
  SI.Angle q(stateSelect=stateSelect) "Crank angle";
  SI.AngularVelocity qd(stateSelect=stateSelect) "Crank speed";
  SI.AngularAcceleration qdd "Crank acceleration";
protected
  SI.Angle beta "Angle of the connecting rod to the guide";
  Real betaSlope(unit="1") "Derivative of beta with respect to the crank angle";
  Real betaCurvature(unit="1") "Second derivative of beta with respect to the crank angle";
  SI.Length sliderSlope "Derivative of the slider position with respect to the crank angle";
  SI.Length sliderCurvature "Second derivative of the slider position with respect to the crank angle";
  Real crankMoment[2](each final unit="kg.m") "First moment of the crank, resolved in the ground frame";
  Real rodMoment[2](each final unit="kg.m") "First moment of the connecting rod, resolved in the ground frame";
  Real rodMomentAlong(final unit="kg.m") "First moment of the connecting rod along the crank";
  Real rodMomentAcross(final unit="kg.m") "First moment of the connecting rod across the crank";
  SI.Inertia generalizedInertia "Inertia felt at the crank";
  SI.Torque biasTorque "Crank torque without acceleration: centrifugal forces and weight";
equation
  assert(length2 > length1,
    "Slider-crank: length2 (connecting rod) must be greater than length1 (crank), or the crank cannot turn.");
  q = crank.phi;
  qd = der(q);
  qdd = der(qd);
  // Kinematics
  beta = -asin(length1*sin(q)/length2);
  betaSlope = -length1*cos(q)/(length2*cos(beta));
  betaCurvature = length1*sin(q)/(length2*cos(beta)) + betaSlope^2*tan(beta);
  sliderPosition = length1*cos(q) + length2*cos(beta);
  sliderSlope = -length1*sin(q) - length2*sin(beta)*betaSlope;
  sliderCurvature = -length1*cos(q) - length2*(cos(beta)*betaSlope^2 + sin(beta)*betaCurvature);
  sliderSpeed = sliderSlope*qd;
  slider.s = sliderPosition;
  rodAngle = beta - q;
  rodSpeed = (betaSlope - 1)*qd;
  pinAngle = -beta;
  pinSpeed = -betaSlope*qd;
  // First moments
  crankMoment = {cos(q)*momentX1 - sin(q)*momentY1, sin(q)*momentX1 + cos(q)*momentY1};
  rodMoment = {cos(beta)*momentX2 - sin(beta)*momentY2, sin(beta)*momentX2 + cos(beta)*momentY2};
  rodMomentAlong = cos(q)*rodMoment[1] + sin(q)*rodMoment[2];
  rodMomentAcross = cos(q)*rodMoment[2] - sin(q)*rodMoment[1];
  // Dynamics
  generalizedInertia = inertia1 + mass2*length1^2 + 2*betaSlope*length1*rodMomentAlong + inertia2*betaSlope^2
    + mass3*sliderSlope^2;
  biasTorque = qd^2*(length1*betaCurvature*rodMomentAlong - length1*betaSlope^2*rodMomentAcross
      + betaSlope*(inertia2*betaCurvature + length1*rodMomentAcross) + mass3*sliderSlope*sliderCurvature)
    + gravity[1]*(crankMoment[2] + mass2*length1*sin(q) + betaSlope*rodMoment[2] - mass3*sliderSlope)
    - gravity[2]*(crankMoment[1] + mass2*length1*cos(q) + betaSlope*rodMoment[1]);
  generalizedInertia*qdd + biasTorque = crank.tau + slider.f*sliderSlope;
  // Energies
  kineticEnergy = 0.5*generalizedInertia*qd^2;
  potentialEnergy = -gravity[1]*(crankMoment[1] + mass2*length1*cos(q) + rodMoment[1] + mass3*sliderPosition + momentX3)
    - gravity[2]*(crankMoment[2] + mass2*length1*sin(q) + rodMoment[2] + momentY3);
  annotation (Documentation(info="<html>
<p>
The angle of the rod to the guide is <code>beta = -asin(length1*sin(q)/length2)</code> for every crank angle q. It and
the slider position are differentiated on paper. Torque and energies use first moments about the joint origins: no mass
divides, and both are exactly linear in every inertial parameter.
</p>
<p>
<code>length2</code> must be greater than <code>length1</code>, and for a given torque the inertia felt at the crank
must be positive.
</p>
</html>"));
end SliderCrankLinkage;
