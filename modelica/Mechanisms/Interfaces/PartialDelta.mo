within Mechanisms.Interfaces;
partial model PartialDelta "Delta robot: parameters, kinematics, drives, torques, energies"
  extends Icons.DeltaRobot;
  parameter SI.Mass lowerArmMass(min=0) = 0.08 "Mass of a lower arm (both parallel bars together)"
    annotation (Dialog(group="Mass and load"));
  parameter SI.Mass upperArmMass(min=0) = 1.74 "Mass of an upper arm"
    annotation (Dialog(group="Mass and load"));
  parameter SI.Mass platformMass(min=0) = 1.1 "Mass of the base plate (moving platform)"
    annotation (Dialog(group="Mass and load"));
  parameter SI.Inertia motorInertia(min=0) = 1.55e-4 "Motor and gear inertia on the motor side, per drive"
    annotation (Dialog(group="Mass and load"));
  parameter SI.Efficiency gearEfficiency(min=1e-3) = 0.907 "Gear efficiency, in (0, 1]"
    annotation (Dialog(group="Gear"));
  parameter SI.Torque coulombTorque(min=0) = 0.105 "Coulomb friction torque on the motor side, per drive"
    annotation (Dialog(group="Friction"));
  parameter SI.RotationalDampingConstant viscousFriction(min=0) = 0.00128
    "Viscous friction constant on the motor side, per drive"
    annotation (Dialog(group="Friction"));
  parameter SI.Length baseRadius(min=0) = 0.2 "Distance of the arms' axes from the robot's axis"
    annotation (Dialog(group="Geometry"));
  parameter SI.Length platformRadius(min=0) = 0.05 "Distance of the platform joints from the platform's centre"
    annotation (Dialog(group="Geometry"));
  parameter SI.Length upperArmLength(min=1e-6) = 0.2 "Length of the upper arms"
    annotation (Dialog(group="Geometry"));
  parameter SI.Length lowerArmLength(min=1e-6) = 0.5 "Length of the bars of the lower arms"
    annotation (Dialog(group="Geometry"));
  parameter SI.DimensionlessRatio gearRatio(min=1e-6) = 25 "Gear ratio motor speed/arm speed"
    annotation (Dialog(group="Gear"));
  parameter SI.Acceleration gravity = 9.81 "Gravity acceleration, acting in -z direction"
    annotation (Dialog(group="Environment"));
  parameter SI.AngularVelocity speedWidth(min=1e-12) = 1
    "Width of the smooth sign of the Coulomb friction, in motor speed"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  parameter SI.Power gearPowerWidth(min=1e-12) = 1 "Width of the smooth direction of power flow in the gear"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  Modelica.Blocks.Interfaces.RealOutput r[3](each final quantity="Length", each final unit="m")
    "Position of the platform's centre relative to the base centre"
    annotation (Placement(transformation(extent={{100,-70},{120,-50}})));
  Modelica.Blocks.Interfaces.RealOutput kineticEnergy(final quantity="Energy", final unit="J")
    "Kinetic energy of the robot and its drives"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-75,-110})));
  Modelica.Blocks.Interfaces.RealOutput potentialEnergy(final quantity="Energy", final unit="J")
    "Potential energy, zero at the height of the base"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-25,-110})));
  Modelica.Blocks.Interfaces.RealOutput inputPower(final quantity="Power", final unit="W") "Power of the motor torques"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={25,-110})));
  Modelica.Blocks.Interfaces.RealOutput dissipatedPower(final quantity="Power", final unit="W")
    "Power lost in friction and gears"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={75,-110})));
protected
  SI.Angle armAngle[3] "Angles of the upper arms below the horizontal";
  SI.AngularVelocity armSpeed[3] "Speeds of the upper arms";
  SI.AngularAcceleration armAcceleration[3] "Accelerations of the upper arms";
  SI.Torque motorTorque[3] "Motor torques";
  constant Real armDirection[3, 3] = {{1, 0, 0}, {-0.5, 0.5*sqrt(3), 0}, {-0.5, -0.5*sqrt(3), 0}}
    "Directions of the arms at 0, 120 and 240 degrees, one per row";
  SI.Position elbow[3, 3] "Middle between the two elbows of an arm, one per row";
  SI.Length elbowSlope[3, 3] "Derivative of the elbow with respect to the angle of its arm";
  SI.Length elbowCurvature[3, 3] "Second derivative of the elbow with respect to the angle of its arm";
  SI.Velocity elbowVelocity[3, 3] "Velocity of the elbow";
  SI.Acceleration elbowAcceleration[3, 3] "Acceleration of the elbow";
  SI.Position center[3, 3] "Centres of the spheres on which the platform's centre lies";
  SI.Position a[3] "From the first centre to the second";
  SI.Position b[3] "From the first centre to the third";
  SI.Area n[3] "Normal of the plane of the centres, pointing upwards";
  SI.Position m[3] "From the first centre to the circumcentre of the three centres";
  SI.Area h2 "Square of the distance of the platform's centre from the plane of the centres";
  SI.Area spread[3] "Sum of the squared distances of a centre from the other two";
  SI.Length bar[3, 3] "From the elbow to the platform joint, one per row";
  SI.Area crossBar[3, 3] "Products of the other two bars, columns of the inverse of bar times its determinant";
  Real determinant(unit="m3") "Determinant of bar";
  SI.Velocity v[3] "Velocity of the platform";
  SI.Area angularToLinear[3] "Products of bars and elbow slopes";
  Real rateTerm[3](each unit="m2/s") "Products of bars and elbow velocities";
  Real accelerationTerm[3](each unit="m2/s2") "Products of bars and the acceleration that the arms impose";
  SI.Acceleration acceleration[3] "Acceleration of the platform";
  SI.Force elbowForce[3, 3] "Force that a lower arm needs at its elbow";
  SI.Force platformForce[3] "Force that the platform and the lower arms need at the platform";
  Real barForce[3](each unit="N/m") "Force along the bars, over their length";
  SI.Torque tauLoad[3] "Torque that the gear applies to the arm";
  SI.Torque tauGear[3] "Torque that the motor applies to the gear";
  SI.Torque tauFriction[3] "Friction torque on the motor side";
  SI.Energy armKineticEnergy[3] "Kinetic energy of upper arm, lower arm and motor";
  SI.Energy armPotentialEnergy[3] "Potential energy of upper and lower arm";
  SI.Power armInputPower[3] "Power of one motor torque";
  SI.Power armLossPower[3] "Power lost in one drive";
equation
  // Upper arms
  for i in 1:3 loop
    elbow[i, :] = (baseRadius + upperArmLength*cos(armAngle[i]))*armDirection[i, :]
      - {0, 0, upperArmLength*sin(armAngle[i])};
    elbowSlope[i, :] = -upperArmLength*sin(armAngle[i])*armDirection[i, :] - {0, 0, upperArmLength*cos(armAngle[i])};
    elbowCurvature[i, :] = -upperArmLength*cos(armAngle[i])*armDirection[i, :]
      + {0, 0, upperArmLength*sin(armAngle[i])};
    elbowVelocity[i, :] = elbowSlope[i, :]*armSpeed[i];
    elbowAcceleration[i, :] = elbowSlope[i, :]*armAcceleration[i] + elbowCurvature[i, :]*armSpeed[i]^2;
    center[i, :] = elbow[i, :] - platformRadius*armDirection[i, :];
  end for;
  // Platform: lower intersection of three spheres
  a = center[2, :] - center[1, :];
  b = center[3, :] - center[1, :];
  n = cross(a, b);
  m = cross((a*a)*b - (b*b)*a, n)/(2*(n*n));
  h2 = lowerArmLength^2 - m*m;
  r = center[1, :] + m - sqrt(Functions.smoothPositive(h2, 1e-9*lowerArmLength^2)/(n*n))*n;
  assert(a*a > 1e-9*lowerArmLength^2,
    "Delta robot: the platform is free to turn about arms 1 and 2, because their lower arms lie side by side. "
      + "Check q[1] and q[2].");
  assert(b*b > 1e-9*lowerArmLength^2,
    "Delta robot: the platform is free to turn about arms 1 and 3, because their lower arms lie side by side. "
      + "Check q[1] and q[3].");
  assert((b - a)*(b - a) > 1e-9*lowerArmLength^2,
    "Delta robot: the platform is free to turn about arms 2 and 3, because their lower arms lie side by side. "
      + "Check q[2] and q[3].");
  // Which arm stands out, for the message
  spread[1] = a*a + b*b;
  spread[2] = a*a + (b - a)*(b - a);
  spread[3] = b*b + (b - a)*(b - a);
  assert(h2 > 1e-6*lowerArmLength^2 or spread[1] < spread[2] or spread[1] < spread[3],
    "Delta robot: the pose is out of reach. The lower arms do not meet; the elbow of arm 1 (q[1]) "
      + "is the farthest from the others. Check the angles against lowerArmLength.");
  assert(h2 > 1e-6*lowerArmLength^2 or spread[2] < spread[1] or spread[2] < spread[3],
    "Delta robot: the pose is out of reach. The lower arms do not meet; the elbow of arm 2 (q[2]) "
      + "is the farthest from the others. Check the angles against lowerArmLength.");
  assert(h2 > 1e-6*lowerArmLength^2 or spread[3] < spread[1] or spread[3] < spread[2],
    "Delta robot: the pose is out of reach. The lower arms do not meet; the elbow of arm 3 (q[3]) "
      + "is the farthest from the others. Check the angles against lowerArmLength.");
  // Velocity and acceleration of the platform: every bar keeps its length
  for i in 1:3 loop
    bar[i, :] = r - center[i, :];
    angularToLinear[i] = bar[i, :]*elbowSlope[i, :];
    rateTerm[i] = angularToLinear[i]*armSpeed[i];
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
      + upperArmMass*upperArmLength^2/3*armAcceleration[i] - 0.5*upperArmMass*gravity*upperArmLength*cos(armAngle[i]);
  end for;
  // Drives
  for i in 1:3 loop
    tauGear[i] = Functions.gearInputTorque(tauLoad[i], armSpeed[i], gearRatio, gearEfficiency, gearPowerWidth);
    tauFriction[i] = Friction.Functions.smoothCoulomb(gearRatio*armSpeed[i], coulombTorque, speedWidth)
      + viscousFriction*gearRatio*armSpeed[i];
    motorTorque[i] = motorInertia*gearRatio*armAcceleration[i] + tauFriction[i] + tauGear[i];
  end for;
  // Energies and powers
  for i in 1:3 loop
    armKineticEnergy[i] = lowerArmMass/6*(elbowVelocity[i, :]*elbowVelocity[i, :] + elbowVelocity[i, :]*v + v*v)
      + upperArmMass*upperArmLength^2/6*armSpeed[i]^2 + 0.5*motorInertia*(gearRatio*armSpeed[i])^2;
    armPotentialEnergy[i] = 0.5*lowerArmMass*gravity*(elbow[i, 3] + r[3])
      - 0.5*upperArmMass*gravity*upperArmLength*sin(armAngle[i]);
    armInputPower[i] = motorTorque[i]*gearRatio*armSpeed[i];
    armLossPower[i] = (tauFriction[i] + tauGear[i])*gearRatio*armSpeed[i] - tauLoad[i]*armSpeed[i];
  end for;
  kineticEnergy = 0.5*platformMass*(v*v) + armKineticEnergy[1] + armKineticEnergy[2] + armKineticEnergy[3];
  potentialEnergy = platformMass*gravity*r[3] + armPotentialEnergy[1] + armPotentialEnergy[2] + armPotentialEnergy[3];
  inputPower = armInputPower[1] + armInputPower[2] + armInputPower[3];
  dissipatedPower = armLossPower[1] + armLossPower[2] + armLossPower[3];
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Text(extent={{91.8,-54.2},{98,-65.8}}, textColor={128,128,128}, textString="r")}),
    Diagram(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Rectangle(extent={{-44,66.1},{44,55.5}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Line(points={{-42.2,66.1},{-35.2,73.1}}, color={64,64,64}),
        Line(points={{-31.7,66.1},{-24.6,73.1}}, color={64,64,64}),
        Line(points={{-21.1,66.1},{-14.1,73.1}}, color={64,64,64}),
        Line(points={{-10.6,66.1},{-3.5,73.1}}, color={64,64,64}),
        Line(points={{0,66.1},{7,73.1}}, color={64,64,64}),
        Line(points={{10.6,66.1},{17.6,73.1}}, color={64,64,64}),
        Line(points={{21.1,66.1},{28.2,73.1}}, color={64,64,64}),
        Line(points={{31.7,66.1},{38.7,73.1}}, color={64,64,64}),
        Line(points={{-35.2,55.5},{-73.9,30.9}}, color={90,110,150}, thickness=1.32),
        Line(points={{35.2,55.5},{73.9,30.9}}, color={90,110,150}, thickness=1.32),
        Line(points={{0,55.5},{0,25.6}}, color={90,110,150}, thickness=1.32),
        Line(points={{-77.4,30.9},{-19.4,-46.6}}, color={64,64,64}),
        Line(points={{-70.4,30.9},{-12.3,-46.6}}, color={64,64,64}),
        Ellipse(extent={{-78.3,35.3},{-69.5,26.5}}, lineColor={64,64,64}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Line(points={{70.4,30.9},{12.3,-46.6}}, color={64,64,64}),
        Line(points={{77.4,30.9},{19.4,-46.6}}, color={64,64,64}),
        Ellipse(extent={{69.5,35.3},{78.3,26.5}}, lineColor={64,64,64}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Line(points={{-3.5,25.6},{-3.5,-46.6}}, color={64,64,64}),
        Line(points={{3.5,25.6},{3.5,-46.6}}, color={64,64,64}),
        Ellipse(extent={{-4.4,30},{4.4,21.2}}, lineColor={64,64,64}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Rectangle(extent={{-22.9,-43},{22.9,-51.8}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Ellipse(extent={{-41.4,61.7},{-29,49.4}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Ellipse(extent={{29,61.7},{41.4,49.4}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Ellipse(extent={{-6.2,61.7},{6.2,49.4}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Text(extent={{-66.9,64.3},{-49.3,50.2}}, textColor={0,0,127}, textString="q1"),
        Text(extent={{51,64.3},{68.6,50.2}}, textColor={0,0,127}, textString="q2"),
        Text(extent={{8.8,50.2},{24.6,37.9}}, textColor={0,0,127}, textString="q3"),
        Text(extent={{26.4,-41.3},{44,-57.1}}, textColor={0,0,127}, textString="r")}),
    Documentation(info="<html>
<p>
Three arms stand at 0, 120 and 240 degrees about the z axis, which points upwards. Each arm turns about a tangential
axis at <code>baseRadius</code>; its angle is that of the upper arm below the horizontal. Two parallel bars
connect the elbow to the platform. The bars are uniform slender rods, without simplification; the upper arm is a uniform
rod about its shoulder; the platform is a point mass.
</p>
<p>
Each drive, with the angle <code>q</code> of its arm, the motor speed <code>w = gearRatio*q'</code> and the arm's torque
<code>tauLoad</code>:
</p>
<blockquote><pre>
tau = motorInertia*gearRatio*q'' + coulombTorque*tanh(w/speedWidth) + viscousFriction*w
      + tauLoad/(gearRatio*gearEfficiency^s),   s = tanh(tauLoad*q'/gearPowerWidth)
</pre></blockquote>
<p>
The masses, the inertia, the efficiency and the friction are the parameters to be estimated; their defaults are the
estimated column of Table 1 of the reference. The geometry is that of a small pick-and-place robot. The distance between
the two bars of an arm cancels and is not a parameter here.
</p>
<h4>Implementation</h4>
<p>
All bars of an arm have the same length and stay parallel, so the platform keeps its orientation, and its centre is the
lower intersection of three spheres about the elbows shifted inwards by <code>platformRadius</code>. With the bar
vectors <code>u[i]</code>, the elbows <code>E[i]</code> and the platform's centre <code>P</code>, the lengths of the
bars give <code>u[i].P' = u[i].E[i]'</code> and <code>u[i].P'' = u[i].E[i]'' - |P' - E[i]'|^2</code>, two linear systems
that cross products solve. A rod of mass m between E and P has the kinetic energy
<code>m/6*(E'.E' + E'.P' + P'.P')</code> and half its weight at either end; hence forces at the elbows and at the
platform, and the latter reaches the arms through the bars: <code>sum(lambda[i]*u[i]) = F</code>. A subclass binds
<code>armAngle</code>, <code>armSpeed</code>, <code>armAcceleration</code> and <code>motorTorque</code> to its inputs
and states.
</p>
<p>
A pose in which the lower arms do not meet is an error that names the arm whose elbow is farthest from the others; so is
one in which two of the spheres coincide.
</p>
<h4>References</h4>
<p>
R. Kampfmann, D. M&ouml;sch, N. Menager: <em>Parameter Estimation based on FMI</em>. 12th International Modelica
Conference, Prague, 2017.
</p>
</html>"));
end PartialDelta;
