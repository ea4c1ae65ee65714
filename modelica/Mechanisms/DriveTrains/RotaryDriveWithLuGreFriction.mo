within Mechanisms.DriveTrains;
model RotaryDriveWithLuGreFriction "Geared drive with elastic shaft and LuGre friction on the load side"
  extends Interfaces.PartialRotaryDrive(
    redeclare Friction.RotationalCoulombViscous motorFriction(
      coulombTorque=motorCoulombTorque,
      viscousFriction=motorViscousFriction,
      speedWidth=motorSpeedWidth),
    redeclare Friction.RotationalLuGre loadFriction(
      sigma0=loadSigma0,
      sigma1=loadSigma1,
      viscousFriction=loadViscousFriction,
      coulombTorque=loadCoulombTorque,
      staticTorque=loadStaticTorque,
      stribeckSpeed=loadStribeckSpeed,
      reversalWidth=loadReversalWidth));
  parameter Units.Torque motorCoulombTorque(min=0) = 0.05 "Coulomb friction torque on the motor side"
    annotation (Dialog(group="Friction"));
  parameter Units.RotationalDampingConstant motorViscousFriction(min=0) = 1e-3 "Viscous friction on the motor side"
    annotation (Dialog(group="Friction"));
  parameter Units.AngularVelocity motorSpeedWidth(min=1e-12) = 0.1
    "Width of the smooth sign of the Coulomb friction, motor side"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  parameter Units.RotationalSpringConstant loadSigma0(min=1e-12) = 1e4 "Bristle stiffness on the load side"
    annotation (Dialog(group="Friction"));
  parameter Units.RotationalDampingConstant loadSigma1(min=0) = 30 "Bristle damping on the load side"
    annotation (Dialog(group="Friction"));
  parameter Units.RotationalDampingConstant loadViscousFriction(min=0) = 0.2 "Viscous friction on the load side"
    annotation (Dialog(group="Friction"));
  parameter Units.Torque loadCoulombTorque(min=1e-12) = 1 "Coulomb friction torque on the load side"
    annotation (Dialog(group="Friction"));
  parameter Units.Torque loadStaticTorque(min=1e-12) = 1.5 "Static friction torque on the load side"
    annotation (Dialog(group="Friction"));
  parameter Units.AngularVelocity loadStribeckSpeed(min=1e-12) = 0.05 "Stribeck speed on the load side"
    annotation (Dialog(group="Friction"));
  parameter Units.AngularVelocity loadReversalWidth(min=1e-15) = 1e-6
    "Width of the smooth magnitude of the speed in the friction law of the load, far below the speed of presliding"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  annotation (
    experiment(StopTime=4, Tolerance=1e-9, Interval=0.001),
    Documentation(info="<html>
<p>
<img src=\"modelica://Mechanisms/Resources/Images/DriveTrains/RotaryDriveWithLuGreFriction.svg\"
alt=\"RotaryDriveWithLuGreFriction\">
</p>
<p>
The machine of <a href=\"modelica://Mechanisms.DriveTrains.RotaryDrive\">RotaryDrive</a> with
<a href=\"modelica://Mechanisms.Friction.RotationalLuGre\">RotationalLuGre</a> on the load side: the load sticks,
deflects elastically and breaks away.
</p>
<h4>Assumptions</h4>
<ul>
<li>As for <a href=\"modelica://Mechanisms.DriveTrains.RotaryDrive\">RotaryDrive</a>, with the assumptions of the LuGre
    law on the load side.</li>
</ul>
<h4>Implementation</h4>
<p>
The mechanics are in <a href=\"modelica://Mechanisms.Interfaces.PartialRotaryDrive\">PartialRotaryDrive</a>; this class
chooses the friction and owns its parameters.
</p>
<h4>Limitations</h4>
<p>
Stiff while the load slides fast; see <a href=\"modelica://Mechanisms.Friction.RotationalLuGre\">RotationalLuGre</a>.
The gear has no backlash.
</p>
<h4>References</h4>
<p>
C. Canudas de Wit, H. Olsson, K. J. &Aring;str&ouml;m, P. Lischinsky: <em>A new model for control of systems with
friction</em>, IEEE Transactions on Automatic Control 40 (1995), 419-425.
</p>
</html>"));
end RotaryDriveWithLuGreFriction;
