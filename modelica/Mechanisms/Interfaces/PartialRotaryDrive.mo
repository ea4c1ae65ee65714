within Mechanisms.Interfaces;
partial model PartialRotaryDrive "Motor, gear, elastic shaft and load; the subclass chooses the friction on either side"
  extends Icons.RotaryDrive;
  parameter Units.Inertia motorInertia(min=1e-12) = 1e-3 "Inertia of the motor and the fast side of the gear"
    annotation (Dialog(group="Mass and load"));
  parameter Units.RotationalSpringConstant shaftStiffness(min=1e-12) = 1000
    "Stiffness of the shaft between gear and load"
    annotation (Dialog(group="Shaft"));
  parameter Units.RotationalDampingConstant shaftDamping(min=0) = 1 "Damping of the shaft between gear and load"
    annotation (Dialog(group="Shaft"));
  parameter Units.Inertia loadInertia(min=1e-12) = 0.5 "Inertia of the load"
    annotation (Dialog(group="Mass and load"));
  parameter Units.DimensionlessRatio gearRatio(min=1e-6) = 10 "Gear ratio, motor angle over load angle"
    annotation (Dialog(group="Gear"));
  parameter Units.Efficiency gearEfficiency(min=1e-3) = 0.85
    "Gear efficiency in either direction of power flow, in (0, 1]"
    annotation (Dialog(group="Gear"));
  parameter Units.Power gearPowerWidth(min=1e-12) = 0.1 "Width of the smooth direction of power flow in the gear"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  Mechanisms.Interfaces.RealInput motorTorque(final quantity="Torque", final unit="N.m", start=0) "Motor torque"
    annotation (Placement(transformation(extent={{-140,-20},{-100,20}})));
  Mechanisms.Interfaces.RealOutput motorAngle(
    final quantity="Angle",
    final unit="rad",
    displayUnit="deg",
    start=0, fixed=true) "Angle of the motor"
    annotation (Placement(transformation(extent={{100,70},{120,90}})));
  Mechanisms.Interfaces.RealOutput motorSpeed(
    final quantity="AngularVelocity",
    final unit="rad/s",
    start=0, fixed=true) "Speed of the motor"
    annotation (Placement(transformation(extent={{100,30},{120,50}})));
  Mechanisms.Interfaces.RealOutput loadAngle(
    final quantity="Angle",
    final unit="rad",
    displayUnit="deg",
    start=0, fixed=true, nominal=0.1) "Angle of the load"
    annotation (Placement(transformation(extent={{100,-10},{120,10}})));
  Mechanisms.Interfaces.RealOutput loadSpeed(
    final quantity="AngularVelocity",
    final unit="rad/s",
    start=0, fixed=true, nominal=0.1) "Speed of the load"
    annotation (Placement(transformation(extent={{100,-50},{120,-30}})));
  Mechanisms.Interfaces.RealOutput shaftTorque(final quantity="Torque", final unit="N.m") "Torque in the shaft"
    annotation (Placement(transformation(extent={{100,-90},{120,-70}})));
  Mechanisms.Interfaces.RealOutput kineticEnergy(final quantity="Energy", final unit="J") "Kinetic energy"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-75,-110})));
  Mechanisms.Interfaces.RealOutput potentialEnergy(final quantity="Energy", final unit="J")
    "Elastic energy of the shaft and, if it has one, of the friction"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-25,-110})));
  Mechanisms.Interfaces.RealOutput inputPower(final quantity="Power", final unit="W") "Power of the motor torque"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={25,-110})));
  Mechanisms.Interfaces.RealOutput dissipatedPower(final quantity="Power", final unit="W") "Dissipated power"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={75,-110})));
  replaceable Friction.Interfaces.PartialRotationalFriction motorFriction "Friction on the motor side"
    annotation (choicesAllMatching=true, Placement(transformation(extent={{-82,-76},{-62,-56}})));
  replaceable Friction.Interfaces.PartialRotationalFriction loadFriction "Friction on the load side"
    annotation (choicesAllMatching=true, Placement(transformation(extent={{66,-56},{86,-36}})));
protected
  Units.Angle twist "Angle of the load relative to the gear";
  Units.AngularVelocity twistRate "Speed of the load relative to the gear";
  Units.Torque gearTorque "Torque that the motor applies to the gear";
  Units.AngularAcceleration motorAcceleration "Acceleration of the motor";
  Units.AngularAcceleration loadAcceleration "Acceleration of the load";
equation
  motorFriction.w = motorSpeed;
  loadFriction.w = loadSpeed;
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
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Text(extent={{50.9,84.4},{98,75.6}}, textColor={128,128,128}, textString="motorAngle"),
        Text(extent={{50.9,44.4},{98,35.6}}, textColor={128,128,128}, textString="motorSpeed"),
        Text(extent={{55.6,4.4},{98,-4.4}}, textColor={128,128,128}, textString="loadAngle"),
        Text(extent={{55.6,-35.6},{98,-44.4}}, textColor={128,128,128}, textString="loadSpeed"),
        Text(extent={{46.2,-75.6},{98,-84.4}}, textColor={128,128,128}, textString="shaftTorque")}),
    Diagram(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Rectangle(extent={{-83.6,30.9},{-52.8,-14.9}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Text(extent={{-81,20.3},{-55.4,-4.3}}, textColor={64,64,64}, textString="M"),
        Rectangle(extent={{-52.8,12.4},{-31.7,3.6}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Rectangle(extent={{-38.7,23.8},{-28.2,-7.8}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Rectangle(extent={{-28.2,60.8},{-15.8,23.8}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Rectangle(extent={{-15.8,46.7},{-3.5,37.9}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Line(points={{-3.5,42.3},{1.5,42.3},{3.5,50.2},{7.6,34.4},{11.6,50.2},{15.6,34.4},{19.6,50.2},{23.6,34.4},
          {27.6,50.2},{31.7,34.4},{33.7,42.3},{38.7,42.3}}, color={64,64,64}),
        Rectangle(extent={{38.7,46.7},{49.3,37.9}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Rectangle(extent={{49.3,74.9},{68.6,9.8}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Rectangle(extent={{68.6,46.7},{79.2,37.9}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Line(points={{-77.4,-23.7},{-58.1,-23.7}}, color={64,64,64}),
        Line(points={{-70.4,-23.7},{-77.4,-30.7}}, color={64,64,64}),
        Line(points={{-59.8,-23.7},{-66.9,-30.7}}, color={64,64,64}),
        Line(points={{-68.6,-14.9},{-68.6,-23.7}}, color={64,64,64}),
        Line(points={{73.9,37.9},{73.9,4.5}}, color={64,64,64}),
        Line(points={{65.1,4.5},{82.7,4.5}}, color={64,64,64}),
        Line(points={{72.2,4.5},{65.1,-2.6}}, color={64,64,64}),
        Line(points={{82.7,4.5},{75.7,-2.6}}, color={64,64,64}),
        Line(points={{-17.6,-21.9},{42.2,-21.9}}, color={160,160,160}),
        Line(points={{12.3,-48.3},{12.3,1}}, color={160,160,160}),
        Line(points={{-17.6,-41.3},{7,-34.2},{11.4,-30.7},{13.2,-13.1},{17.6,-9.6},{42.2,-2.6}}, color={200,60,40},
          thickness=0.44)}),
    Documentation(info="<html>
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
