within Mechanisms.Robots;
model DeltaInverse "Delta robot, inverse dynamics with smooth friction and gear efficiency"
  extends Icons.Mechanism;
  // Parameters to be estimated
  parameter Units.Mass lowerArmMass(min=0) = 0.08 "Mass of a lower arm (both parallel bars together)";
  parameter Units.Mass upperArmMass(min=0) = 1.74 "Mass of an upper arm";
  parameter Units.Mass platformMass(min=0) = 1.1 "Mass of the base plate (moving platform)";
  parameter Units.Inertia motorInertia(min=0) = 1.55e-4 "Motor and gear inertia on the motor side, per drive";
  parameter Units.Efficiency gearEfficiency(min=1e-3) = 0.907 "Gear efficiency, in (0, 1]";
  parameter Units.Torque coulombTorque(min=0) = 0.105 "Coulomb friction torque on the motor side, per drive";
  parameter Units.RotationalDampingConstant viscousFriction(min=0) = 0.00128
    "Viscous friction constant on the motor side, per drive";
  // Geometry and constants
  parameter Units.Length baseRadius(min=0) = 0.2 "Distance of the arms' axes from the robot's axis";
  parameter Units.Length platformRadius(min=0) = 0.05 "Distance of the platform joints from the platform's centre";
  parameter Units.Length upperArmLength(min=1e-6) = 0.2 "Length of the upper arms";
  parameter Units.Length lowerArmLength(min=1e-6) = 0.5 "Length of the bars of the lower arms";
  parameter Units.DimensionlessRatio gearRatio(min=1e-6) = 25 "Gear ratio motor speed/arm speed";
  parameter Units.Acceleration gravity = 9.81 "Gravity acceleration, acting in -z direction";
  parameter Units.AngularVelocity frictionSpeedWidth(min=1e-12) = 1
    "Width of the smooth sign of the Coulomb friction, in motor speed";
  parameter Units.Power gearPowerWidth(min=1e-12) = 1 "Width of the smooth direction of power flow in the gear";
  input Units.Angle q[3](each start=0.6) "Angles of the upper arms below the horizontal";
  input Units.AngularVelocity qd[3](each start=0) "Speeds of the upper arms";
  input Units.AngularAcceleration qdd[3](each start=0) "Accelerations of the upper arms";
  output Units.Torque tau[3] "Motor torques";
  output Units.Position r[3] "Position of the platform's centre relative to the base centre";
  output Units.Energy kineticEnergy "Kinetic energy of the robot and its drives";
  output Units.Energy potentialEnergy "Potential energy, zero at the height of the base";
  output Units.Power inputPower "Power of the motor torques";
  output Units.Power dissipatedPower "Power lost in friction and gears";
protected
  constant Real armDirection[3, 3] = {{1, 0, 0}, {-0.5, 0.5*sqrt(3), 0}, {-0.5, -0.5*sqrt(3), 0}}
    "Directions of the arms at 0, 120 and 240 degrees, one per row";
  Units.Position elbow[3, 3] "Middle between the two elbows of an arm, one per row";
  Units.Length elbowSlope[3, 3] "Derivative of the elbow with respect to the angle of its arm";
  Units.Length elbowCurvature[3, 3] "Second derivative of the elbow with respect to the angle of its arm";
  Units.Velocity elbowVelocity[3, 3] "Velocity of the elbow";
  Units.Acceleration elbowAcceleration[3, 3] "Acceleration of the elbow";
  Units.Position center[3, 3] "Centres of the spheres on which the platform's centre lies";
  Units.Position a[3] "From the first centre to the second";
  Units.Position b[3] "From the first centre to the third";
  Units.Area n[3] "Normal of the plane of the centres, pointing upwards";
  Units.Position m[3] "From the first centre to the circumcentre of the three centres";
  Units.Area h2 "Square of the distance of the platform's centre from the plane of the centres";
  Units.Area spread[3] "Sum of the squared distances of a centre from the other two";
  Units.Length bar[3, 3] "From the elbow to the platform joint, one per row";
  Units.Area crossBar[3, 3] "Products of the other two bars, columns of the inverse of bar times its determinant";
  Real determinant(unit="m3") "Determinant of bar";
  Units.Velocity v[3] "Velocity of the platform";
  Units.Area angularToLinear[3] "Products of bars and elbow slopes";
  Real rateTerm[3](each unit="m2/s") "Products of bars and elbow velocities";
  Real accelerationTerm[3](each unit="m2/s2") "Products of bars and the acceleration that the arms impose";
  Units.Acceleration acceleration[3] "Acceleration of the platform";
  Units.Force elbowForce[3, 3] "Force that a lower arm needs at its elbow";
  Units.Force platformForce[3] "Force that the platform and the lower arms need at the platform";
  Real barForce[3](each unit="N/m") "Force along the bars, over their length";
  Units.Torque tauLoad[3] "Torque that the gear applies to the arm";
  Units.Torque tauGear[3] "Torque that the motor applies to the gear";
  Units.Torque tauFriction[3] "Friction torque on the motor side";
  Units.Energy armKineticEnergy[3] "Kinetic energy of upper arm, lower arm and motor";
  Units.Energy armPotentialEnergy[3] "Potential energy of upper and lower arm";
  Units.Power armInputPower[3] "Power of one motor torque";
  Units.Power armLossPower[3] "Power lost in one drive";
equation
  // Upper arms
  for i in 1:3 loop
    elbow[i, :] = (baseRadius + upperArmLength*cos(q[i]))*armDirection[i, :] - {0, 0, upperArmLength*sin(q[i])};
    elbowSlope[i, :] = -upperArmLength*sin(q[i])*armDirection[i, :] - {0, 0, upperArmLength*cos(q[i])};
    elbowCurvature[i, :] = -upperArmLength*cos(q[i])*armDirection[i, :] + {0, 0, upperArmLength*sin(q[i])};
    elbowVelocity[i, :] = elbowSlope[i, :]*qd[i];
    elbowAcceleration[i, :] = elbowSlope[i, :]*qdd[i] + elbowCurvature[i, :]*qd[i]^2;
    center[i, :] = elbow[i, :] - platformRadius*armDirection[i, :];
  end for;
  // Platform: lower intersection of three spheres
  a = center[2, :] - center[1, :];
  b = center[3, :] - center[1, :];
  n = cross(a, b);
  m = cross((a*a)*b - (b*b)*a, n)/(2*(n*n));
  h2 = lowerArmLength^2 - m*m;
  r = center[1, :] + m - sqrt(Functions.smoothPositive(h2, 1e-9*lowerArmLength^2)/(n*n))*n;
  // Which arm stands out, for the message
  spread[1] = a*a + b*b;
  spread[2] = a*a + (b - a)*(b - a);
  spread[3] = b*b + (b - a)*(b - a);
  assert(h2 > 1e-6*lowerArmLength^2 or spread[1] < spread[2] or spread[1] < spread[3],
    "Delta robot: the pose is out of reach. The lower arms do not meet; the elbow of arm 1 (input q[1]) is the farthest from the others. Check the angles against lowerArmLength.");
  assert(h2 > 1e-6*lowerArmLength^2 or spread[2] < spread[1] or spread[2] < spread[3],
    "Delta robot: the pose is out of reach. The lower arms do not meet; the elbow of arm 2 (input q[2]) is the farthest from the others. Check the angles against lowerArmLength.");
  assert(h2 > 1e-6*lowerArmLength^2 or spread[3] < spread[1] or spread[3] < spread[2],
    "Delta robot: the pose is out of reach. The lower arms do not meet; the elbow of arm 3 (input q[3]) is the farthest from the others. Check the angles against lowerArmLength.");
  // Velocity and acceleration of the platform: every bar keeps its length
  for i in 1:3 loop
    bar[i, :] = r - center[i, :];
    angularToLinear[i] = bar[i, :]*elbowSlope[i, :];
    rateTerm[i] = angularToLinear[i]*qd[i];
    accelerationTerm[i] = bar[i, :]*elbowAcceleration[i, :] - (v - elbowVelocity[i, :])*(v - elbowVelocity[i, :]);
  end for;
  crossBar[1, :] = cross(bar[2, :], bar[3, :]);
  crossBar[2, :] = cross(bar[3, :], bar[1, :]);
  crossBar[3, :] = cross(bar[1, :], bar[2, :]);
  determinant = bar[1, :]*crossBar[1, :];
  v = (rateTerm[1]*crossBar[1, :] + rateTerm[2]*crossBar[2, :] + rateTerm[3]*crossBar[3, :])/determinant;
  acceleration = (accelerationTerm[1]*crossBar[1, :] + accelerationTerm[2]*crossBar[2, :]
    + accelerationTerm[3]*crossBar[3, :])/determinant;
  // Forces: uniform slender rods between elbow and platform joint
  for i in 1:3 loop
    elbowForce[i, :] = lowerArmMass/6*(2*elbowAcceleration[i, :] + acceleration) + {0, 0, 0.5*lowerArmMass*gravity};
  end for;
  platformForce = (platformMass + lowerArmMass)*acceleration
    + lowerArmMass/6*(elbowAcceleration[1, :] + elbowAcceleration[2, :] + elbowAcceleration[3, :])
    + {0, 0, (platformMass + 1.5*lowerArmMass)*gravity};
  for i in 1:3 loop
    barForce[i] = platformForce*crossBar[i, :]/determinant;
    tauLoad[i] = elbowForce[i, :]*elbowSlope[i, :] + barForce[i]*angularToLinear[i]
      + upperArmMass*upperArmLength^2/3*qdd[i] - 0.5*upperArmMass*gravity*upperArmLength*cos(q[i]);
  end for;
  // Drives
  for i in 1:3 loop
    tauGear[i] = Functions.gearInputTorque(tauLoad[i], qd[i], gearRatio, gearEfficiency, gearPowerWidth);
    tauFriction[i] = Friction.Functions.smoothCoulomb(gearRatio*qd[i], coulombTorque, frictionSpeedWidth)
      + viscousFriction*gearRatio*qd[i];
    tau[i] = motorInertia*gearRatio*qdd[i] + tauFriction[i] + tauGear[i];
  end for;
  // Energies and powers
  for i in 1:3 loop
    armKineticEnergy[i] = lowerArmMass/6*(elbowVelocity[i, :]*elbowVelocity[i, :] + elbowVelocity[i, :]*v + v*v)
      + upperArmMass*upperArmLength^2/6*qd[i]^2 + 0.5*motorInertia*(gearRatio*qd[i])^2;
    armPotentialEnergy[i] = 0.5*lowerArmMass*gravity*(elbow[i, 3] + r[3])
      - 0.5*upperArmMass*gravity*upperArmLength*sin(q[i]);
    armInputPower[i] = tau[i]*gearRatio*qd[i];
    armLossPower[i] = (tauFriction[i] + tauGear[i])*gearRatio*qd[i] - tauLoad[i]*qd[i];
  end for;
  kineticEnergy = 0.5*platformMass*(v*v) + armKineticEnergy[1] + armKineticEnergy[2] + armKineticEnergy[3];
  potentialEnergy = platformMass*gravity*r[3] + armPotentialEnergy[1] + armPotentialEnergy[2] + armPotentialEnergy[3];
  inputPower = armInputPower[1] + armInputPower[2] + armInputPower[3];
  dissipatedPower = armLossPower[1] + armLossPower[2] + armLossPower[3];
  annotation (
    experiment(StopTime=1, Tolerance=1e-8, Interval=0.01),
    Documentation(info="<html>
<p>
Inverse dynamics of a delta robot with three drives. Inputs are angle, speed and acceleration of the upper arms;
outputs are the motor torques, the platform's position, the energies and the powers.
</p>
<p>
Three arms stand at 0, 120 and 240 degrees about the z axis, which points upwards. Each arm turns about a tangential
axis at <code>baseRadius</code>; <code>q[i]</code> is the angle of the upper arm below the horizontal. Two parallel bars
connect the elbow to the platform. The bars are uniform slender rods, without simplification; the upper arm is a
uniform rod about its shoulder; the platform is a point mass.
</p>
<p>
Each drive, with the motor speed <code>w = gearRatio*qd</code> and the arm's torque <code>tauLoad</code>:
</p>
<blockquote><pre>
tau = motorInertia*gearRatio*qdd + coulombTorque*tanh(w/frictionSpeedWidth) + viscousFriction*w
      + tauLoad/(gearRatio*gearEfficiency^s),   s = tanh(tauLoad*qd/gearPowerWidth)
</pre></blockquote>
<p>
The masses, the inertia, the efficiency and the friction are the parameters to be estimated; their defaults are the
estimated column of Table 1 of the reference. The geometry is that of a small pick-and-place robot.
</p>
<h4>Implementation</h4>
<p>
All bars of an arm have the same length and stay parallel, so the platform keeps its orientation, and its centre is the
lower intersection of three spheres about the elbows shifted inwards by <code>platformRadius</code>. With the bar
vectors <code>u[i]</code>, the elbows <code>E[i]</code> and the platform's centre <code>P</code>, the lengths of the
bars give <code>u[i].P' = u[i].E[i]'</code> and <code>u[i].P'' = u[i].E[i]'' - |P' - E[i]'|^2</code>, two linear
systems that cross products solve. A rod of mass m between E and P has the kinetic energy
<code>m/6*(E'.E' + E'.P' + P'.P')</code> and half its weight at either end; hence forces at the elbows and at the
platform, and the latter reaches the arms through the bars: <code>sum(lambda[i]*u[i]) = F</code>.
There is no nonlinear equation and no state.
</p>
<p>
The distance between the two bars of an arm cancels and is not a parameter here.
</p>
<h4>Limitations</h4>
<p>
Lengths and gear ratio must be positive, and the three elbows must not lie on a line. A pose out of reach ends the
simulation with an error that names the arm whose elbow is farthest from the others.
</p>
<h4>References</h4>
<p>
R. Kampfmann, D. M&ouml;sch, N. Menager: <em>Parameter Estimation based on FMI</em>. 12th International Modelica
Conference, Prague, 2017.
</p>
</html>"));
end DeltaInverse;
