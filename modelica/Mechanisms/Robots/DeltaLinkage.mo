within Mechanisms.Robots;
model DeltaLinkage "Arms and platform of a delta robot"
  extends PartialDelta;
  parameter StateSelect stateSelect = StateSelect.prefer "Priority of the arms' angles and speeds as states"
    annotation (Dialog(tab="Advanced", group="States"));
  Modelica.Mechanics.Rotational.Interfaces.Flange_a arm[3] "Upper arms; angles below the horizontal"
    annotation (Placement(transformation(extent={{-110,-10},{-90,10}})));
  SI.Angle q[3](each stateSelect=stateSelect) "Angles of the upper arms below the horizontal";
  SI.AngularVelocity qd[3](each stateSelect=stateSelect) "Speeds of the upper arms";
  SI.AngularAcceleration qdd[3] "Accelerations of the upper arms";
protected
  constant Real armDirection[3, 3] = {{1, 0, 0}, {-0.5, 0.5*sqrt(3), 0}, {-0.5, -0.5*sqrt(3), 0}}
    "Directions of the arms at 0, 120 and 240 degrees, one per row";
  constant Integer others[3, 2] = {{2, 3}, {1, 3}, {1, 2}} "The two other arms, one row per arm";
  SI.Position elbow[3, 3] "Middle between the two elbows of an arm, one per row";
  SI.Length elbowSlope[3, 3] "Derivative of the elbow with respect to the angle of its arm";
  SI.Length elbowCurvature[3, 3] "Second derivative of the elbow with respect to the angle of its arm";
  SI.Velocity elbowVelocity[3, 3] "Velocity of the elbow";
  SI.Acceleration elbowAcceleration[3, 3] "Acceleration of the elbow";
  SI.Position center[3, 3] "Centres of the spheres on which the platform's centre lies";
  SI.Position side[3, 3] "Sides of the triangle of the centres, each opposite its centre";
  SI.Area side2[3] "Squares of the sides";
  SI.Area n[3] "Normal of the plane of the centres, pointing upwards";
  SI.Position m[3] "From the first centre to the circumcentre of the three centres";
  SI.Area h2 "Square of the distance of the platform's centre from the plane of the centres";
  SI.Length bar[3, 3] "From the elbow to the platform joint, one per row";
  SI.Area crossBar[3, 3] "Products of the other two bars, columns of the inverse of bar times its determinant";
  SI.Volume determinant "Determinant of bar";
  SI.Velocity v[3] "Velocity of the platform";
  SI.Area angularToLinear[3] "Products of bars and elbow slopes";
  Real rateTerm[3](each unit="m2/s") "Products of bars and elbow velocities";
  Real accelerationTerm[3](each unit="m2/s2") "Products of bars and the acceleration that the arms impose";
  SI.Acceleration acceleration[3] "Acceleration of the platform";
  SI.Force elbowForce[3, 3] "Force that a lower arm needs at its elbow";
  SI.Force platformForce[3] "Force that the platform and the lower arms need at the platform";
  Real barForce[3](each unit="N/m") "Force along the bars, over their length";
equation
  q = arm.phi;
  qd = der(q);
  qdd = der(qd);
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
  side = {center[3, :] - center[2, :], center[1, :] - center[3, :], center[2, :] - center[1, :]};
  side2 = {side[i, :]*side[i, :] for i in 1:3};
  n = cross(side[2, :], side[3, :]);
  m = -cross(side2[3]*side[2, :] + side2[2]*side[3, :], n)/(2*(n*n));
  h2 = lowerArmLength^2 - m*m;
  r = center[1, :] + m - sqrt(Functions.smoothPositive(h2, 1e-9*lowerArmLength^2)/(n*n))*n;
  for i in 1:3 loop
    assert(side2[i] > 1e-9*lowerArmLength^2,
      "Delta robot: the platform is free to turn about two arms, because their lower arms lie side by side: arms "
        + String(others[i, 1]) + " and " + String(others[i, 2]) + ". Check their angles q.");
    assert(h2 > 1e-6*lowerArmLength^2 or side2[i] > side2[others[i, 1]] or side2[i] > side2[others[i, 2]],
      "Delta robot: the pose is out of reach. The lower arms do not meet; the elbow of arm " + String(i) + " (q["
        + String(i) + "]) is the farthest from the others. Check the angles against lowerArmLength.");
  end for;
  // Velocity and acceleration of the platform: every bar keeps its length
  for i in 1:3 loop
    bar[i, :] = r - center[i, :];
    angularToLinear[i] = bar[i, :]*elbowSlope[i, :];
    rateTerm[i] = angularToLinear[i]*qd[i];
    accelerationTerm[i] = bar[i, :]*elbowAcceleration[i, :] - (v - elbowVelocity[i, :])*(v - elbowVelocity[i, :]);
  end for;
  crossBar = {cross(bar[2, :], bar[3, :]), cross(bar[3, :], bar[1, :]), cross(bar[1, :], bar[2, :])};
  determinant = bar[1, :]*crossBar[1, :];
  v = rateTerm*crossBar/determinant;
  acceleration = accelerationTerm*crossBar/determinant;
  // Forces: uniform slender rods between elbow and platform joint
  for i in 1:3 loop
    elbowForce[i, :] = lowerArmMass/6*(2*elbowAcceleration[i, :] + acceleration) + {0, 0, 0.5*lowerArmMass*gravity};
  end for;
  platformForce = (platformMass + lowerArmMass)*acceleration
    + lowerArmMass/6*(elbowAcceleration[1, :] + elbowAcceleration[2, :] + elbowAcceleration[3, :])
    + {0, 0, (platformMass + 1.5*lowerArmMass)*gravity};
  barForce = crossBar*platformForce/determinant;
  for i in 1:3 loop
    arm[i].tau = elbowForce[i, :]*elbowSlope[i, :] + barForce[i]*angularToLinear[i]
      + upperArmMass*upperArmLength^2/3*qdd[i] - 0.5*upperArmMass*gravity*upperArmLength*cos(q[i]);
  end for;
  // Energies
  kineticEnergy = 0.5*platformMass*(v*v) + upperArmMass*upperArmLength^2/6*(qd*qd) + lowerArmMass/6*sum(
    elbowVelocity[i, :]*elbowVelocity[i, :] + elbowVelocity[i, :]*v + v*v for i in 1:3);
  potentialEnergy = gravity*(platformMass*r[3] + 0.5*lowerArmMass*sum(elbow[i, 3] + r[3] for i in 1:3)
    - 0.5*upperArmMass*upperArmLength*sum(sin(q)));
  annotation (Documentation(info="<html>
<p>
All bars of an arm have the same length and stay parallel, so the platform keeps its orientation, and its centre is the
lower intersection of three spheres about the elbows shifted inwards by <code>platformRadius</code>. With the bar
vectors <code>u[i]</code>, the elbows <code>E[i]</code> and the platform's centre <code>P</code>, the lengths of the
bars give <code>u[i].P' = u[i].E[i]'</code> and <code>u[i].P'' = u[i].E[i]'' - |P' - E[i]'|^2</code>, two linear systems
that cross products solve. A rod of mass m between E and P has the kinetic energy
<code>m/6*(E'.E' + E'.P' + P'.P')</code> and half its weight at either end; hence forces at the elbows and at the
platform, and the latter reaches the arms through the bars: <code>sum(lambda[i]*u[i]) = F</code>.
</p>
<p>
A pose in which the lower arms do not meet is an error that names the arm whose elbow is farthest from the others; so is
one in which two of the spheres coincide.
</p>
</html>"));
end DeltaLinkage;
