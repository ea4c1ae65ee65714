within Mechanisms.Robots;
model TripodLinkage "Carriages, rods and tool of a tripod"
  extends PartialTripod(
    toolPosition(each stateSelect=stateSelect),
    toolVelocity(each stateSelect=stateSelect));
  parameter StateSelect stateSelect = StateSelect.prefer "Priority of the tool's position and velocity as states"
    annotation (Dialog(tab="Advanced", group="States"));
  Modelica.Mechanics.Translational.Interfaces.Flange_a rail[3] "Carriages on their rails; heights"
    annotation (Placement(transformation(extent={{-110,-10},{-90,10}})));
protected
  constant Real railDirection[3, 2] = {{1, 0}, {-0.5, 0.5*sqrt(3)}, {-0.5, -0.5*sqrt(3)}}
    "Directions of the rails at 0, 120 and 240 degrees, one per row";
  SI.Acceleration toolAcceleration[3] "Acceleration of the tool";
  SI.Length offset[3, 2] "Horizontal offset of the tool from the rail, one rail per row";
  SI.Area rodHeight2[3] "Square of the height of a carriage over the tool";
  SI.Length rodHeight[3] "Height of a carriage over the tool";
  SI.Velocity rodHeightRate[3] "Rate of rodHeight";
  Real jacobian[3, 3](each unit="1") "Carriage velocities over tool velocities, one carriage per row";
  SI.Velocity carriageVelocity[3] "Velocities of the carriages";
  SI.Acceleration carriageBias[3] "Accelerations of the carriages without tool acceleration";
  SI.Force carriageForce[3] "Force that a carriage passes to its rod, less its own inertia and weight";
  Real massMatrix[3, 3](each unit="kg") "Mass felt at the tool";
equation
  der(toolPosition) = toolVelocity;
  der(toolVelocity) = toolAcceleration;
  for i in 1:3 loop
    assert(rodHeight2[i] > 1e-6*rodLength^2, "Tripod: the tool is out of reach of the rod of rail " + String(i)
      + ": it is farther from the rail than rodLength.");
    offset[i, :] = toolPosition[1:2] - railRadius*railDirection[i, :];
    rodHeight2[i] = rodLength^2 - offset[i, :]*offset[i, :];
    rodHeight[i] = sqrt(Functions.smoothPositive(rodHeight2[i], 1e-9*rodLength^2));
    jacobian[i, :] = {-offset[i, 1]/rodHeight[i], -offset[i, 2]/rodHeight[i], 1};
    rodHeightRate[i] = der(rodHeight[i]);
    carriagePosition[i] = toolPosition[3] + rodHeight[i];
    carriageVelocity[i] = toolVelocity[3] + rodHeightRate[i];
    carriageBias[i] = -(toolVelocity[1]^2 + toolVelocity[2]^2 + rodHeightRate[i]^2)/rodHeight[i];
    rail[i].s = carriagePosition[i];
    carriageForce[i] = rail[i].f - carriageMass*(carriageBias[i] + gravity);
  end for;
  massMatrix = toolMass*identity(3) + carriageMass*transpose(jacobian)*jacobian;
  massMatrix*toolAcceleration = transpose(jacobian)*carriageForce - {0, 0, toolMass*gravity};
  kineticEnergy = 0.5*toolMass*(toolVelocity*toolVelocity) + 0.5*carriageMass*(carriageVelocity*carriageVelocity);
  potentialEnergy = gravity*(toolMass*toolPosition[3] + carriageMass*sum(carriagePosition));
  annotation (Documentation(info="<html>
<p>
The tool's x, y and z are the minimal coordinates: with the height <code>h[i]</code> of carriage i over the tool the
carriages' velocities are <code>J*v</code>, <code>J[i, :] = {-dx[i]/h[i], -dy[i]/h[i], 1}</code>, and
<code>(m_t*I + m_rail*J'*J)*a = J'*(F - m_rail*(b + g)) - {0, 0, m_t*g}</code> with the forces <code>F</code> on the
carriages.
</p>
</html>"));
end TripodLinkage;
