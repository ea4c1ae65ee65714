within Mechanisms.DriveTrains;
model GearedDriveWithEvents "Geared drive with elastic shaft, friction that sticks and a gear that switches"
  extends PartialGearedDrive(
    redeclare Friction.Rotational.CoulombViscous motorFriction(
      final coulombTorque=0,
      viscousFriction=motorViscousFriction,
      final speedWidth=1),
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
  annotation (Documentation(info="<html>
<p>
<a href=\"modelica://Mechanisms.DriveTrains.PartialGearedDrive\">PartialGearedDrive</a> with state events where a side
stops or breaks away. The Coulomb friction of the motor is that of
<a href=\"modelica://Mechanisms.DriveTrains.EfficiencyGearWithEvents\">the gear</a>, since it decides when the motor
sticks.
</p>
</html>"));
end GearedDriveWithEvents;
