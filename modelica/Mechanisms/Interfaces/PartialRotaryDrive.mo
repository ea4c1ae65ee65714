within Mechanisms.Interfaces;
partial model PartialRotaryDrive "Motor, gear, elastic shaft and load; the subclass chooses the friction on either side"
  extends Icons.Mechanism;
  parameter Units.Inertia motorInertia(min=1e-12) = 1e-3 "Inertia of the motor and the fast side of the gear";
  parameter Units.RotationalSpringConstant shaftStiffness(min=1e-12) = 1000 "Stiffness of the shaft between gear and load";
  parameter Units.RotationalDampingConstant shaftDamping(min=0) = 1 "Damping of the shaft between gear and load";
  parameter Units.Inertia loadInertia(min=1e-12) = 0.5 "Inertia of the load";
  parameter Units.DimensionlessRatio gearRatio(min=1e-6) = 10 "Gear ratio, motor angle over load angle";
  parameter Units.Efficiency gearEfficiency(min=1e-3) = 0.85 "Gear efficiency in either direction of power flow, in (0, 1]";
  parameter Units.Power gearPowerWidth(min=1e-12) = 0.1 "Width of the smooth direction of power flow in the gear";
  input Units.Torque motorTorque(start=0) "Motor torque";
  output Units.Angle motorAngle(start=0, fixed=true) "Angle of the motor";
  output Units.AngularVelocity motorSpeed(start=0, fixed=true) "Speed of the motor";
  output Units.Angle loadAngle(start=0, fixed=true, nominal=0.1) "Angle of the load";
  output Units.AngularVelocity loadSpeed(start=0, fixed=true, nominal=0.1) "Speed of the load";
  output Units.Torque shaftTorque "Torque in the shaft";
  output Units.Energy kineticEnergy "Kinetic energy";
  output Units.Energy potentialEnergy "Elastic energy of the shaft and, if it has one, of the friction";
  output Units.Power inputPower "Power of the motor torque";
  output Units.Power dissipatedPower "Dissipated power";
  replaceable Friction.Interfaces.PartialRotationalFriction motorFriction(w=motorSpeed) "Friction on the motor side"
    annotation (choicesAllMatching=true);
  replaceable Friction.Interfaces.PartialRotationalFriction loadFriction(w=loadSpeed) "Friction on the load side"
    annotation (choicesAllMatching=true);
protected
  Units.Angle twist "Angle of the load relative to the gear";
  Units.AngularVelocity twistRate "Speed of the load relative to the gear";
  Units.Torque gearTorque "Torque that the motor applies to the gear";
  Units.AngularAcceleration motorAcceleration "Acceleration of the motor";
  Units.AngularAcceleration loadAcceleration "Acceleration of the load";
equation
  der(motorAngle) = motorSpeed;
  der(motorSpeed) = motorAcceleration;
  der(loadAngle) = loadSpeed;
  der(loadSpeed) = loadAcceleration;
  twist = loadAngle - motorAngle/gearRatio;
  twistRate = loadSpeed - motorSpeed/gearRatio;
  shaftTorque = shaftStiffness*twist + shaftDamping*twistRate;
  gearTorque = Functions.gearInputTorque(-shaftTorque, motorSpeed/gearRatio, gearRatio, gearEfficiency, gearPowerWidth);
  motorInertia*motorAcceleration = motorTorque - motorFriction.tau - gearTorque;
  loadInertia*loadAcceleration = -shaftTorque - loadFriction.tau;
  kineticEnergy = 0.5*motorInertia*motorSpeed^2 + 0.5*loadInertia*loadSpeed^2;
  potentialEnergy = 0.5*shaftStiffness*twist^2 + motorFriction.storedEnergy + loadFriction.storedEnergy;
  inputPower = motorTorque*motorSpeed;
  dissipatedPower = shaftDamping*twistRate^2 + gearTorque*motorSpeed + shaftTorque*motorSpeed/gearRatio
    + motorFriction.lossPower + loadFriction.lossPower;
  annotation (Documentation(info="<html>
<p>
Motor with friction, gear, elastic shaft, load with friction. A subclass redeclares <code>motorFriction</code> and
<code>loadFriction</code> and owns their parameters.
</p>
<h4>Implementation</h4>
<p>
The gear needs the motor torque of <a href=\"modelica://Mechanisms.Functions.gearInputTorque\">gearInputTorque</a>: the
efficiency acts in the direction of the power. <code>shaftTorque</code> is positive while the load twists the shaft
forwards.
</p>
</html>"));
end PartialRotaryDrive;
