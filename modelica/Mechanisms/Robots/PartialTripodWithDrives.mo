within Mechanisms.Robots;
partial model PartialTripodWithDrives "Tripod with elastic drives, whose law of friction is open"
  extends PartialTripod(
    toolPosition(start=toolPosition_start, each fixed=true),
    toolVelocity(each start=0, each fixed=true));
  parameter SI.TranslationalSpringConstant gearStiffness(min=Modelica.Constants.eps) = 5e4
    "Stiffness between drive and carriage, c_G"
    annotation (Dialog(group="Gear"));
  parameter SI.DimensionlessRatio gearDampingRatio(min=0) = 0.1 "Relative damping between drive and carriage, zeta_G"
    annotation (Dialog(group="Gear"));
  parameter SI.Torque coulombTorque(min=0) = 0.05 "Coulomb friction torque of one drive"
    annotation (Dialog(group="Friction"));
  parameter SI.RotationalDampingConstant viscousFriction(min=0) = 2e-4 "Viscous friction of one drive"
    annotation (Dialog(group="Friction"));
  parameter SI.Inertia driveInertia(min=Modelica.Constants.eps) = 80e-6 "Inertia of one drive, J_D"
    annotation (Dialog(group="Mass and load"));
  parameter Real gearFactor(unit="rad/m", min=Modelica.Constants.eps) = 100 "Motor angle over travel of the rail, i_G"
    annotation (Dialog(group="Gear"));
  parameter SI.Position toolPosition_start[3] = {0, 0, -0.4002943} "Position of the tool at the start"
    annotation (Dialog(tab="Initialization", group="Start values"));
  Modelica.Mechanics.Rotational.Interfaces.Flange_a axis[3] "Shafts of the drives"
    annotation (Placement(transformation(extent={{-110,-10},{-90,10}})));
  Modelica.Blocks.Interfaces.RealOutput driveTorque[3](each final quantity="Torque", each final unit="N.m")
    "Torques of the drives"
    annotation (Placement(transformation(extent={{100,80},{120,100}})));
  Modelica.Blocks.Interfaces.RealOutput inputPower(final quantity="Power", final unit="W") "Power of the drive torques"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={25,-110})));
  Modelica.Blocks.Interfaces.RealOutput dissipatedPower(final quantity="Power", final unit="W") "Dissipated power"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={75,-110})));
  Modelica.Mechanics.Rotational.Components.Inertia motor[3](each J=driveInertia, each stateSelect=StateSelect.prefer)
    "Inertias of the drives"
    annotation (Placement(transformation(extent={{-84,-10},{-64,10}})));
  replaceable Friction.Interfaces.PartialRotationalFriction friction[3] "Friction of the drives"
    annotation (choicesAllMatching=true, Placement(transformation(extent={{-56,-10},{-36,10}})));
  Modelica.Mechanics.Rotational.Components.IdealGearR2T gear[3](each ratio=gearFactor) "From rotation to translation"
    annotation (Placement(transformation(extent={{-28,-10},{-8,10}})));
  Modelica.Mechanics.Translational.Components.SpringDamper spring[3](
    each c=gearStiffness,
    each d=gearDamping,
    each final s_rel0=0,
    each final s_nominal=1e-4,
    each stateSelect=StateSelect.avoid) "Elasticity between drives and carriages"
    annotation (Placement(transformation(extent={{0,-10},{20,10}})));
  TripodLinkage linkage(
    final toolMass=toolMass,
    final carriageMass=carriageMass,
    final railRadius=railRadius,
    final rodLength=rodLength,
    final gravity=gravity) "Carriages, rods and tool"
    annotation (Placement(transformation(extent={{35,-20},{75,20}})));
protected
  final parameter SI.Mass equivalentMass = driveInertia*gearFactor^2 "Drive inertia as a mass on the rail, m_e";
  final parameter SI.TranslationalDampingConstant gearDamping = 2*gearDampingRatio*sqrt(
    gearStiffness*equivalentMass*carriageMass/(equivalentMass + carriageMass))
    "Damping between drive and carriage, d_G";
equation
  connect(axis, motor.flange_a) annotation (Line(points={{-100,0},{-84,0}}, color={0,0,0}));
  connect(motor.flange_b, friction.flange_a) annotation (Line(points={{-64,0},{-56,0}}, color={0,0,0}));
  connect(friction.flange_b, gear.flangeR) annotation (Line(points={{-36,0},{-28,0}}, color={0,0,0}));
  connect(gear.flangeT, spring.flange_a) annotation (Line(points={{-8,0},{0,0}}, color={0,127,0}));
  connect(spring.flange_b, linkage.rail) annotation (Line(points={{20,0},{35,0}}, color={0,127,0}));
  connect(linkage.carriagePosition, carriagePosition)
    annotation (Line(points={{77,-6},{92,-6},{92,-30},{110,-30}}, color={0,0,127}));
  connect(linkage.toolPosition, toolPosition)
    annotation (Line(points={{77,-12},{88,-12},{88,-60},{110,-60}}, color={0,0,127}));
  connect(linkage.toolVelocity, toolVelocity)
    annotation (Line(points={{77,-18},{84,-18},{84,-90},{110,-90}}, color={0,0,127}));
  driveTorque = motor.flange_a.tau;
  kineticEnergy = linkage.kineticEnergy + 0.5*driveInertia*(motor.w*motor.w);
  potentialEnergy = linkage.potentialEnergy + 0.5*gearStiffness*(spring.s_rel*spring.s_rel)
    + sum(friction.storedEnergy);
  inputPower = driveTorque*motor.w;
  dissipatedPower = sum(friction.lossPower) + sum(spring.lossPower);
  annotation (Documentation(info="<html>
<p>
<a href=\"modelica://Mechanisms.Robots.TripodLinkage\">TripodLinkage</a> with a drive per rail: an inertia with
friction, a gear from rotation to translation, and a spring and damper to the carriage. The damping is
<code>d_G = 2*zeta_G*sqrt(c_G*m_e*m_rail/(m_e + m_rail))</code> with <code>m_e = J_D*i_G^2</code>, which the source
prints without the root. Geometry and masses are a choice in the range of a small pick-and-place robot; only
<code>J_D</code> is given by the source.
</p>
<p>
Carriages and tool hang on the drives by springs: the position and the velocity of the tool are states, whatever moves
the drives. The default start is the equilibrium for the default values with the drives at zero; with another geometry
or load set <code>toolPosition_start</code> to match, or the springs start with a large deflection.
</p>
</html>"));
end PartialTripodWithDrives;
