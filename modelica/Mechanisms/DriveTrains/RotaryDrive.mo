within Mechanisms.DriveTrains;
model RotaryDrive "Geared drive with elastic shaft and smooth friction on both sides"
  extends Interfaces.PartialRotaryDrive(
    redeclare Friction.RotationalCoulombViscous motorFriction(
      coulombTorque=motorCoulombTorque,
      viscousFriction=motorViscousFriction,
      speedWidth=motorSpeedWidth),
    redeclare Friction.RotationalCoulombViscous loadFriction(
      coulombTorque=loadCoulombTorque,
      viscousFriction=loadViscousFriction,
      speedWidth=loadSpeedWidth));
  parameter Units.Torque motorCoulombTorque(min=0) = 0.05 "Coulomb friction torque on the motor side"
    annotation (Dialog(group="Friction"));
  parameter Units.RotationalDampingConstant motorViscousFriction(min=0) = 1e-3 "Viscous friction on the motor side"
    annotation (Dialog(group="Friction"));
  parameter Units.AngularVelocity motorSpeedWidth(min=1e-12) = 0.1
    "Width of the smooth sign of the Coulomb friction, motor side"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  parameter Units.Torque loadCoulombTorque(min=0) = 1 "Coulomb friction torque on the load side"
    annotation (Dialog(group="Friction"));
  parameter Units.RotationalDampingConstant loadViscousFriction(min=0) = 0.2 "Viscous friction on the load side"
    annotation (Dialog(group="Friction"));
  parameter Units.AngularVelocity loadSpeedWidth(min=1e-12) = 0.01
    "Width of the smooth sign of the Coulomb friction, load side"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  annotation (
    experiment(StopTime=4, Tolerance=1e-8, Interval=0.001),
    Documentation(info="<html>
<p>
<img src=\"modelica://Mechanisms/Resources/Images/DriveTrains/RotaryDrive.svg\" alt=\"RotaryDrive\">
</p>
<p>
Motor, friction, gear, elastic shaft, load, friction. The gear needs the motor torque
<code>tau_shaft/(gearRatio*gearEfficiency^s)</code>, s = +1 while the motor drives the load and -1 while the load drives
the motor, smooth in between, see <a href=\"modelica://Mechanisms.Functions.gearInputTorque\">gearInputTorque</a>.
</p>
<h4>Assumptions</h4>
<ul>
<li>Motor and load are rigid; the shaft between gear and load is a linear spring with a linear damper.</li>
<li>The gear has no inertia of its own and no backlash; its efficiency is the same in both directions of power.</li>
</ul>
<h4>Implementation</h4>
<p>
The mechanics are in <a href=\"modelica://Mechanisms.Interfaces.PartialRotaryDrive\">PartialRotaryDrive</a>, where the
friction on either side can be redeclared; see
<a href=\"modelica://Mechanisms.DriveTrains.RotaryDriveWithLuGreFriction\">RotaryDriveWithLuGreFriction</a>. Choice of
the default values: the load against a fixed motor oscillates with 7.1 Hz, load and motor against each other with 17.4
Hz.
</p>
<h4>Limitations</h4>
<p>
Nothing sticks: under a constant torque below the friction level the shafts creep with a speed of the order of the
widths. The gear has no backlash.
</p>
<h4>References</h4>
<p>
C. Pelchen, C. Schweiger, M. Otter: <em>Modeling and Simulating the Efficiency of Gearboxes and of Planetary
Gearboxes</em>, 2nd International Modelica Conference, Oberpfaffenhofen, 2002.
</p>
</html>"));
end RotaryDrive;
