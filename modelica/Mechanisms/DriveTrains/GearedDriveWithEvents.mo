within Mechanisms.DriveTrains;
model GearedDriveWithEvents "Geared drive with elastic shaft, friction that sticks and a gear that switches"
  extends PartialGearedDrive(
    redeclare ViscousFriction motorFriction(viscousFriction=motorViscousFriction),
    redeclare EfficiencyGearWithEvents gear(
      ratio=gearRatio,
      efficiency=gearEfficiency,
      coulombTorque=motorCoulombTorque),
    redeclare Friction.Rotational.CoulombViscousWithEvents loadFriction(
      coulombTorque=loadCoulombTorque,
      viscousFriction=loadViscousFriction));
  parameter SI.Torque motorCoulombTorque(min=Modelica.Constants.eps) = 0.05 "Coulomb friction torque on the motor side"
    annotation (Dialog(group="Friction"));
  parameter SI.RotationalDampingConstant motorViscousFriction(min=0) = 1e-3 "Viscous friction on the motor side"
    annotation (Dialog(group="Friction"));
  parameter SI.Torque loadCoulombTorque(min=Modelica.Constants.eps) = 1 "Coulomb friction torque on the load side"
    annotation (Dialog(group="Friction"));
  parameter SI.RotationalDampingConstant loadViscousFriction(min=0) = 0.2 "Viscous friction on the load side"
    annotation (Dialog(group="Friction"));
protected
  model ViscousFriction = Friction.Rotational.CoulombViscous (final coulombTorque=0, final speedWidth=1)
    "Friction without the part that the gear has"
    annotation (Documentation(info="<html>
<p>
Viscous friction alone: <a href=\"modelica://Mechanisms.DriveTrains.EfficiencyGearWithEvents\">the gear</a> has the
Coulomb friction, since it decides when the motor sticks.
</p>
</html>"));
  annotation (Documentation(info="<html>
<p>
<a href=\"modelica://Mechanisms.DriveTrains.PartialGearedDrive\">PartialGearedDrive</a> with state events where a side
stops or breaks away. The Coulomb friction of the motor is that of the gear.
</p>
</html>"));
end GearedDriveWithEvents;
