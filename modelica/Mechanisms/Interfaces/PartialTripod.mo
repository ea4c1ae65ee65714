within Mechanisms.Interfaces;
partial model PartialTripod "Tripod robot: parameters, mechanism, elastic drives, energies"
  extends Icons.Tripod;
  parameter SI.Mass toolMass(min=1e-9) = 1.5 "Mass of the tool, m_t"
    annotation (Dialog(group="Mass and load"));
  parameter SI.TranslationalSpringConstant gearStiffness(min=1e-9) = 5e4 "Stiffness between drive and carriage, c_G"
    annotation (Dialog(group="Gear"));
  parameter SI.DimensionlessRatio gearDampingRatio(min=0) = 0.1 "Relative damping between drive and carriage, zeta_G"
    annotation (Dialog(group="Gear"));
  parameter SI.Torque coulombTorque(min=0) = 0.05 "Coulomb friction torque of one drive"
    annotation (Dialog(group="Friction"));
  parameter SI.RotationalDampingConstant viscousFriction(min=0) = 2e-4 "Viscous friction of one drive"
    annotation (Dialog(group="Friction"));
  parameter SI.Mass carriageMass(min=1e-9) = 1 "Mass of one carriage, m_rail"
    annotation (Dialog(group="Mass and load"));
  parameter SI.Inertia driveInertia(min=1e-12) = 80e-6 "Inertia of one drive, J_D"
    annotation (Dialog(group="Mass and load"));
  parameter Real gearFactor(unit="rad/m", min=1e-6) = 100 "Motor angle over travel of the rail, i_G"
    annotation (Dialog(group="Gear"));
  parameter SI.Length railRadius(min=1e-6) = 0.3
    "Distance of the rails from the vertical axis, less that of the rod ends on the tool"
    annotation (Dialog(group="Geometry"));
  parameter SI.Length rodLength(min=1e-6) = 0.5 "Length of the rods"
    annotation (Dialog(group="Geometry"));
  parameter SI.Acceleration gravity = 9.81 "Gravity acceleration, downwards, g"
    annotation (Dialog(group="Environment"));
  parameter SI.AngularVelocity speedWidth(min=1e-12) = 0.5
    "Width of the smooth sign of the Coulomb friction, in motor speed"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  parameter SI.Position toolPosition_start[3] = {0, 0, -0.4002943} "Position of the tool at the start"
    annotation (Dialog(tab="Initialization", group="Start values"));
  Modelica.Blocks.Interfaces.RealOutput driveTorque[3](each final quantity="Torque", each final unit="N.m")
    "Torques of the drives"
    annotation (Placement(transformation(extent={{100,80},{120,100}})));
  Modelica.Blocks.Interfaces.RealOutput carriagePosition[3](each final quantity="Length", each final unit="m")
    "Heights of the carriages"
    annotation (Placement(transformation(extent={{100,-40},{120,-20}})));
  Modelica.Blocks.Interfaces.RealOutput toolPosition[3](
    each final quantity="Length",
    each final unit="m",
    start=toolPosition_start, each fixed=true, each nominal=0.1) "Position of the tool, z upwards"
    annotation (Placement(transformation(extent={{100,-70},{120,-50}})));
  Modelica.Blocks.Interfaces.RealOutput toolVelocity[3](
    each final quantity="Velocity",
    each final unit="m/s",
    each start=0, each fixed=true) "Velocity of the tool"
    annotation (Placement(transformation(extent={{100,-100},{120,-80}})));
  Modelica.Blocks.Interfaces.RealOutput kineticEnergy(final quantity="Energy", final unit="J") "Kinetic energy"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-75,-110})));
  Modelica.Blocks.Interfaces.RealOutput potentialEnergy(final quantity="Energy", final unit="J")
    "Potential energy of weight and springs, zero weight at height 0"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-25,-110})));
  Modelica.Blocks.Interfaces.RealOutput inputPower(final quantity="Power", final unit="W") "Power of the drive torques"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={25,-110})));
  Modelica.Blocks.Interfaces.RealOutput dissipatedPower(final quantity="Power", final unit="W") "Dissipated power"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={75,-110})));
  Friction.Rotational.CoulombViscous friction[3](
    each coulombTorque=coulombTorque,
    each viscousFriction=viscousFriction,
    each speedWidth=speedWidth) "Friction of the drives"
    annotation (Placement(transformation(extent={{-74,-70},{-54,-50}})));
protected
  constant Real railDirection[3, 2] = {{1, 0}, {-0.5, 0.5*sqrt(3)}, {-0.5, -0.5*sqrt(3)}}
    "Directions of the rails at 0, 120 and 240 degrees, one per row";
  final parameter SI.Mass equivalentMass = driveInertia*gearFactor^2 "Drive inertia as a mass on the rail, m_e";
  final parameter SI.TranslationalDampingConstant gearDamping = 2*gearDampingRatio*sqrt(
    gearStiffness*equivalentMass*carriageMass/(equivalentMass + carriageMass))
    "Damping between drive and carriage, d_G";
  SI.Angle motorAngle[3] "Angles of the motors";
  SI.AngularVelocity motorSpeed[3] "Speeds of the motors";
  SI.AngularAcceleration motorAcceleration[3] "Accelerations of the motors";
  SI.Acceleration toolAcceleration[3] "Acceleration of the tool";
  SI.Length offset[3, 2] "Horizontal offset of the tool from the rail, one rail per row";
  SI.Area rodHeight2[3] "Square of the height of a carriage over the tool";
  SI.Length rodHeight[3] "Height of a carriage over the tool";
  SI.Velocity rodHeightRate[3] "Rate of rodHeight";
  Real jacobian[3, 3](each unit="1") "Carriage velocities over tool velocities, one carriage per row";
  SI.Velocity carriageVelocity[3] "Velocities of the carriages";
  SI.Acceleration carriageBias[3] "Accelerations of the carriages without tool acceleration";
  SI.Length stretch[3] "Elongation of the springs";
  SI.Velocity stretchRate[3] "Rate of the elongation";
  SI.Force gearForce[3] "Force of spring and damper on the carriage";
  SI.Force carriageForce[3] "Force that a carriage passes to its rod, less its own inertia and weight";
  Real massMatrix[3, 3](each unit="kg") "Mass felt at the tool";
  SI.Force toolForce[3] "Force on the tool without the inertia of the carriages";
  SI.Energy railKineticEnergy[3] "Kinetic energy of carriage and drive";
  SI.Energy railPotentialEnergy[3] "Potential energy of carriage and spring";
  SI.Power railInputPower[3] "Power of one drive torque";
  SI.Power railLossPower[3] "Power lost in one drive and its damper";
equation
  friction.w = motorSpeed;
  assert(rodHeight2[1] > 1e-6*rodLength^2,
    "Tripod: the tool is out of reach of the rod of rail 1: it is farther from the rail than rodLength.");
  assert(rodHeight2[2] > 1e-6*rodLength^2,
    "Tripod: the tool is out of reach of the rod of rail 2: it is farther from the rail than rodLength.");
  assert(rodHeight2[3] > 1e-6*rodLength^2,
    "Tripod: the tool is out of reach of the rod of rail 3: it is farther from the rail than rodLength.");
  der(toolPosition) = toolVelocity;
  der(toolVelocity) = toolAcceleration;
  for i in 1:3 loop
    // Rods
    offset[i, 1] = toolPosition[1] - railRadius*railDirection[i, 1];
    offset[i, 2] = toolPosition[2] - railRadius*railDirection[i, 2];
    rodHeight2[i] = rodLength^2 - offset[i, 1]^2 - offset[i, 2]^2;
    rodHeight[i] = sqrt(Functions.smoothPositive(rodHeight2[i], 1e-9*rodLength^2));
    jacobian[i, 1] = -offset[i, 1]/rodHeight[i];
    jacobian[i, 2] = -offset[i, 2]/rodHeight[i];
    jacobian[i, 3] = 1;
    rodHeightRate[i] = jacobian[i, 1]*toolVelocity[1] + jacobian[i, 2]*toolVelocity[2];
    carriagePosition[i] = toolPosition[3] + rodHeight[i];
    carriageVelocity[i] = toolVelocity[3] + rodHeightRate[i];
    carriageBias[i] = -(toolVelocity[1]^2 + toolVelocity[2]^2 + rodHeightRate[i]^2)/rodHeight[i];
    // Elastic drives
    stretch[i] = carriagePosition[i] - motorAngle[i]/gearFactor;
    stretchRate[i] = carriageVelocity[i] - motorSpeed[i]/gearFactor;
    gearForce[i] = -gearStiffness*stretch[i] - gearDamping*stretchRate[i];
    driveInertia*motorAcceleration[i] = driveTorque[i] - friction[i].tau - gearForce[i]/gearFactor;
    carriageForce[i] = gearForce[i] - carriageMass*(carriageBias[i] + gravity);
    // Energies and powers
    railKineticEnergy[i] = 0.5*carriageMass*carriageVelocity[i]^2 + 0.5*driveInertia*motorSpeed[i]^2;
    railPotentialEnergy[i] = carriageMass*gravity*carriagePosition[i] + 0.5*gearStiffness*stretch[i]^2;
    railInputPower[i] = driveTorque[i]*motorSpeed[i];
    railLossPower[i] = friction[i].lossPower + gearDamping*stretchRate[i]^2;
  end for;
  // Tool
  massMatrix = toolMass*identity(3) + carriageMass*transpose(jacobian)*jacobian;
  toolForce = transpose(jacobian)*carriageForce - {0, 0, toolMass*gravity};
  massMatrix*toolAcceleration = toolForce;
  kineticEnergy = 0.5*toolMass*(toolVelocity*toolVelocity) + sum(railKineticEnergy);
  potentialEnergy = toolMass*gravity*toolPosition[3] + sum(railPotentialEnergy);
  inputPower = sum(railInputPower);
  dissipatedPower = sum(railLossPower);
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Text(extent={{62.5,93},{98,87}}, textColor={128,128,128}, textString="driveTorque"),
        Text(extent={{46.4,-27},{98,-33}}, textColor={128,128,128}, textString="carriagePosition"),
        Text(extent={{59.3,-57},{98,-63}}, textColor={128,128,128}, textString="toolPosition"),
        Text(extent={{59.3,-87},{98,-93}}, textColor={128,128,128}, textString="toolVelocity")}),
    Diagram(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-33.8,-48.1},{77.8,-48.1}}, color={64,64,64}),
        Line(points={{-28.8,-48.1},{-33.8,-53}}, color={64,64,64}),
        Line(points={{-21.4,-48.1},{-26.4,-53}}, color={64,64,64}),
        Line(points={{-14,-48.1},{-18.9,-53}}, color={64,64,64}),
        Line(points={{-6.5,-48.1},{-11.5,-53}}, color={64,64,64}),
        Line(points={{0.9,-48.1},{-4,-53}}, color={64,64,64}),
        Line(points={{8.4,-48.1},{3.4,-53}}, color={64,64,64}),
        Line(points={{15.8,-48.1},{10.8,-53}}, color={64,64,64}),
        Line(points={{23.2,-48.1},{18.3,-53}}, color={64,64,64}),
        Line(points={{30.7,-48.1},{25.7,-53}}, color={64,64,64}),
        Line(points={{38.1,-48.1},{33.2,-53}}, color={64,64,64}),
        Line(points={{45.6,-48.1},{40.6,-53}}, color={64,64,64}),
        Line(points={{53,-48.1},{48,-53}}, color={64,64,64}),
        Line(points={{60.4,-48.1},{55.5,-53}}, color={64,64,64}),
        Line(points={{67.9,-48.1},{62.9,-53}}, color={64,64,64}),
        Line(points={{75.3,-48.1},{70.4,-53}}, color={64,64,64}),
        Rectangle(extent={{-23.9,56.1},{-18.9,-48.1}}, lineColor={64,64,64}, fillColor={230,230,230},
          fillPattern=FillPattern.Solid),
        Line(points={{-21.4,22.6},{22,-27}}, color={90,110,150}, thickness=0.62),
        Rectangle(extent={{-28.8,28.8},{-14,16.4}}, lineColor={64,64,64}, fillColor={220,228,240},
          fillPattern=FillPattern.Solid),
        Line(points={{-10.9,15.2},{-10.9,31.3}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled}),
        Rectangle(extent={{19.5,56.1},{24.5,-48.1}}, lineColor={64,64,64}, fillColor={230,230,230},
          fillPattern=FillPattern.Solid),
        Line(points={{22,36.2},{24.5,-27}}, color={90,110,150}, thickness=0.62),
        Rectangle(extent={{14.6,42.4},{29.4,30}}, lineColor={64,64,64}, fillColor={220,228,240},
          fillPattern=FillPattern.Solid),
        Line(points={{32.5,28.8},{32.5,44.9}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled}),
        Rectangle(extent={{62.9,56.1},{67.9,-48.1}}, lineColor={64,64,64}, fillColor={230,230,230},
          fillPattern=FillPattern.Solid),
        Line(points={{65.4,10.2},{22,-27}}, color={90,110,150}, thickness=0.62),
        Rectangle(extent={{58,16.4},{72.8,4}}, lineColor={64,64,64}, fillColor={220,228,240},
          fillPattern=FillPattern.Solid),
        Line(points={{75.9,2.8},{75.9,18.9}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled}),
        Ellipse(extent={{17,-22},{27,-32}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Line(points={{22,-32},{22,-40.6}}, color={64,64,64}, thickness=0.62),
        Text(extent={{-10.2,37.5},{-0.3,27.6}}, textColor={0,0,127}, textString="s1"),
        Text(extent={{34.4,51.1},{44.3,41.2}}, textColor={0,0,127}, textString="s2"),
        Text(extent={{76.6,25.1},{84,16.4}}, textColor={0,0,127}, textString="s3")}),
    Documentation(info="<html>
<p>
Three vertical rails at 0, 120 and 240 degrees carry one carriage each; massless rods of equal length join the carriages
to the tool point, which hangs below them. The rail coordinate of a carriage is its height over the world's origin; with
all carriages at height 0 the tool is at <code>z = -sqrt(rodLength^2 - railRadius^2)</code>, here -0.4 m.
</p>
<p>
Each drive has an inertia with friction, a gear from rotation to translation, and a spring and damper to its carriage.
The damping is <code>d_G = 2*zeta_G*sqrt(c_G*m_e*m_rail/(m_e + m_rail))</code> with <code>m_e = J_D*i_G^2</code>, which
the source prints without the root.
</p>
<h4>Implementation</h4>
<p>
The tool's x, y and z are the minimal coordinates: with the height <code>h[i]</code> of carriage i over the tool the
carriages' velocities are <code>J*v</code>, <code>J[i, :] = {-dx[i]/h[i], -dy[i]/h[i], 1}</code>, and
<code>(m_t*I + m_rail*J'*J)*a = J'*(F - m_rail*(b + g)) - {0, 0, m_t*g}</code>. A subclass gives the angles, speeds and
accelerations of the motors, or the torques of the drives and the motors' states. Geometry and masses are a choice in
the range of a small pick-and-place robot; only <code>J_D</code> is given by the source.
</p>
<p>
The tool must be horizontally nearer to every rail than <code>rodLength</code>; an error names the rail where it is not.
</p>
<h4>References</h4>
<p>
<em>Special Genetic Identification Algorithm with smoothing in the frequency domain</em> (study of a tripod robot;
drive, equivalent mass and identified parameters).
</p>
</html>"));
end PartialTripod;
