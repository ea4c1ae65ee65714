within Mechanisms.DriveTrains;
model GearedDriveWithLuGreFriction "Geared drive with elastic shaft and LuGre friction on the load side"
  extends PartialGearedDrive(
    redeclare Friction.Rotational.CoulombViscous motorFriction(
      coulombTorque=motorCoulombTorque,
      viscousFriction=motorViscousFriction,
      speedWidth=motorSpeedWidth),
    redeclare EfficiencyGear gear(
      ratio=gearRatio,
      efficiency=gearEfficiency,
      powerWidth=gearPowerWidth),
    redeclare Friction.Rotational.LuGre loadFriction(
      sigma0=loadSigma0,
      sigma1=loadSigma1,
      viscousFriction=loadViscousFriction,
      coulombTorque=loadCoulombTorque,
      staticTorque=loadStaticTorque,
      stribeckSpeed=loadStribeckSpeed,
      reversalWidth=loadReversalWidth));
  parameter SI.Torque motorCoulombTorque(min=0) = 0.05 "Coulomb friction torque on the motor side"
    annotation (Dialog(group="Friction"));
  parameter SI.RotationalDampingConstant motorViscousFriction(min=0) = 1e-3 "Viscous friction on the motor side"
    annotation (Dialog(group="Friction"));
  parameter SI.AngularVelocity motorSpeedWidth(min=Modelica.Constants.eps) = 0.1
    "Width of the smooth sign of the Coulomb friction, motor side"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  parameter SI.RotationalSpringConstant loadSigma0(min=Modelica.Constants.eps) = 1e4
    "Bristle stiffness on the load side"
    annotation (Dialog(group="Friction"));
  parameter SI.RotationalDampingConstant loadSigma1(min=0) = 30 "Bristle damping on the load side"
    annotation (Dialog(group="Friction"));
  parameter SI.RotationalDampingConstant loadViscousFriction(min=0) = 0.2 "Viscous friction on the load side"
    annotation (Dialog(group="Friction"));
  parameter SI.Torque loadCoulombTorque(min=Modelica.Constants.eps) = 1 "Coulomb friction torque on the load side"
    annotation (Dialog(group="Friction"));
  parameter SI.Torque loadStaticTorque(min=Modelica.Constants.eps) = 1.5 "Static friction torque on the load side"
    annotation (Dialog(group="Friction"));
  parameter SI.AngularVelocity loadStribeckSpeed(min=Modelica.Constants.eps) = 0.05 "Stribeck speed on the load side"
    annotation (Dialog(group="Friction"));
  parameter SI.AngularVelocity loadReversalWidth(min=Modelica.Constants.eps) = 1e-6
    "Width of the smooth magnitude of the speed in the friction law of the load, far below the speed of presliding"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  parameter SI.Power gearPowerWidth(min=Modelica.Constants.eps) = 0.1
    "Width of the smooth direction of power flow in the gear"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  annotation (Documentation(info="<html>
<p>
<a href=\"modelica://Mechanisms.DriveTrains.PartialGearedDrive\">PartialGearedDrive</a> with smooth friction at the
motor and LuGre friction at the load. The equations are stiff: use a stiff solver.
</p>
</html>"));
end GearedDriveWithLuGreFriction;
