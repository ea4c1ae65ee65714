within Mechanisms.DriveTrains;
model GearedDrive "Geared drive with elastic shaft and smooth friction on both sides"
  extends PartialGearedDrive(
    redeclare Friction.Rotational.CoulombViscous motorFriction(
      coulombTorque=motorCoulombTorque,
      viscousFriction=motorViscousFriction,
      speedWidth=motorSpeedWidth),
    redeclare EfficiencyGear gear(
      ratio=gearRatio,
      efficiency=gearEfficiency,
      powerWidth=gearPowerWidth),
    redeclare Friction.Rotational.CoulombViscous loadFriction(
      coulombTorque=loadCoulombTorque,
      viscousFriction=loadViscousFriction,
      speedWidth=loadSpeedWidth));
  parameter SI.Torque motorCoulombTorque(min=0) = 0.05 "Coulomb friction torque on the motor side"
    annotation (Dialog(group="Friction"));
  parameter SI.RotationalDampingConstant motorViscousFriction(min=0) = 1e-3 "Viscous friction on the motor side"
    annotation (Dialog(group="Friction"));
  parameter SI.AngularVelocity motorSpeedWidth(min=Modelica.Constants.eps) = 0.1
    "Width of the smooth sign of the Coulomb friction, motor side"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  parameter SI.Torque loadCoulombTorque(min=0) = 1 "Coulomb friction torque on the load side"
    annotation (Dialog(group="Friction"));
  parameter SI.RotationalDampingConstant loadViscousFriction(min=0) = 0.2 "Viscous friction on the load side"
    annotation (Dialog(group="Friction"));
  parameter SI.AngularVelocity loadSpeedWidth(min=Modelica.Constants.eps) = 0.01
    "Width of the smooth sign of the Coulomb friction, load side"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  parameter SI.Power gearPowerWidth(min=Modelica.Constants.eps) = 0.1
    "Width of the smooth direction of power flow in the gear"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  annotation (Documentation(info="<html>
<p>
<a href=\"modelica://Mechanisms.DriveTrains.PartialGearedDrive\">PartialGearedDrive</a> without events: Coulomb and
viscous friction with a smooth sign, and a gear whose efficiency depends smoothly on the direction of power.
</p>
</html>"));
end GearedDrive;
