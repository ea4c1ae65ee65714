within Mechanisms.DriveTrains;
partial model PartialGearedDrive "Motor, gear, elastic shaft and load; the subclass chooses friction and gear"
  extends Icons.RotaryDrive;
  parameter SI.Inertia motorInertia(min=Modelica.Constants.eps) = 1e-3
    "Inertia of the motor and the fast side of the gear"
    annotation (Dialog(group="Mass and load"));
  parameter SI.RotationalSpringConstant shaftStiffness(min=Modelica.Constants.eps) = 1000
    "Stiffness of the shaft between gear and load"
    annotation (Dialog(group="Shaft"));
  parameter SI.RotationalDampingConstant shaftDamping(min=0) = 1 "Damping of the shaft between gear and load"
    annotation (Dialog(group="Shaft"));
  parameter SI.Inertia loadInertia(min=Modelica.Constants.eps) = 0.5 "Inertia of the load"
    annotation (Dialog(group="Mass and load"));
  parameter SI.DimensionlessRatio gearRatio(min=1e-6) = 10 "Gear ratio, motor angle over load angle"
    annotation (Dialog(group="Gear"));
  parameter SI.Efficiency gearEfficiency(min=1e-3) = 0.85 "Gear efficiency in either direction of power flow, in (0, 1]"
    annotation (Dialog(group="Gear"));
  Modelica.Mechanics.Rotational.Interfaces.Flange_a flange_a "Shaft of the motor"
    annotation (Placement(transformation(extent={{-110,-10},{-90,10}})));
  Modelica.Mechanics.Rotational.Interfaces.Flange_b flange_b "Shaft of the load"
    annotation (Placement(transformation(extent={{90,-10},{110,10}})));
  Modelica.Blocks.Interfaces.RealOutput motorAngle(
    final quantity="Angle",
    final unit="rad",
    displayUnit="deg",
    start=0,
    fixed=true) "Angle of the motor"
    annotation (Placement(transformation(extent={{100,70},{120,90}})));
  Modelica.Blocks.Interfaces.RealOutput motorSpeed(
    final quantity="AngularVelocity",
    final unit="rad/s",
    start=0,
    fixed=true) "Speed of the motor"
    annotation (Placement(transformation(extent={{100,50},{120,70}})));
  Modelica.Blocks.Interfaces.RealOutput loadAngle(
    final quantity="Angle",
    final unit="rad",
    displayUnit="deg",
    start=0,
    fixed=true,
    nominal=0.1) "Angle of the load"
    annotation (Placement(transformation(extent={{100,30},{120,50}})));
  Modelica.Blocks.Interfaces.RealOutput loadSpeed(
    final quantity="AngularVelocity",
    final unit="rad/s",
    start=0,
    fixed=true,
    nominal=0.1) "Speed of the load"
    annotation (Placement(transformation(extent={{100,-50},{120,-30}})));
  Modelica.Blocks.Interfaces.RealOutput shaftTorque(final quantity="Torque", final unit="N.m") "Torque in the shaft"
    annotation (Placement(transformation(extent={{100,-90},{120,-70}})));
  Modelica.Blocks.Interfaces.RealOutput kineticEnergy(final quantity="Energy", final unit="J") "Kinetic energy"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-75,-110})));
  Modelica.Blocks.Interfaces.RealOutput potentialEnergy(final quantity="Energy", final unit="J")
    "Elastic energy of the shaft and, if it has one, of the friction"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-25,-110})));
  Modelica.Blocks.Interfaces.RealOutput inputPower(final quantity="Power", final unit="W") "Power of the motor torque"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={25,-110})));
  Modelica.Blocks.Interfaces.RealOutput dissipatedPower(final quantity="Power", final unit="W") "Dissipated power"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={75,-110})));
  Modelica.Mechanics.Rotational.Components.Inertia motor(J=motorInertia, stateSelect=StateSelect.prefer) "Motor"
    annotation (Placement(transformation(extent={{-90,-10},{-70,10}})));
  replaceable Friction.Interfaces.PartialRotationalFriction motorFriction "Friction on the motor side"
    annotation (choicesAllMatching=true, Placement(transformation(extent={{-60,-10},{-40,10}})));
  replaceable PartialEfficiencyGear gear "Gear"
    annotation (choicesAllMatching=true, Placement(transformation(extent={{-30,-10},{-10,10}})));
  Modelica.Mechanics.Rotational.Components.SpringDamper shaft(
    c=shaftStiffness,
    d=shaftDamping,
    final phi_rel0=0,
    final phi_nominal=1e-4,
    stateSelect=StateSelect.avoid) "Elastic shaft"
    annotation (Placement(transformation(extent={{0,-10},{20,10}})));
  Modelica.Mechanics.Rotational.Components.Inertia load(J=loadInertia, stateSelect=StateSelect.prefer) "Load"
    annotation (Placement(transformation(extent={{35,-10},{55,10}})));
  replaceable Friction.Interfaces.PartialRotationalFriction loadFriction "Friction on the load side"
    annotation (choicesAllMatching=true, Placement(transformation(extent={{66,-10},{86,10}})));
equation
  connect(flange_a, motor.flange_a) annotation (Line(points={{-100,0},{-90,0}}, color={0,0,0}));
  connect(motor.flange_b, motorFriction.flange_a) annotation (Line(points={{-70,0},{-60,0}}, color={0,0,0}));
  connect(motorFriction.flange_b, gear.flange_a) annotation (Line(points={{-40,0},{-30,0}}, color={0,0,0}));
  connect(gear.flange_b, shaft.flange_a) annotation (Line(points={{-10,0},{0,0}}, color={0,0,0}));
  connect(shaft.flange_b, load.flange_a) annotation (Line(points={{20,0},{35,0}}, color={0,0,0}));
  connect(load.flange_b, loadFriction.flange_a) annotation (Line(points={{55,0},{66,0}}, color={0,0,0}));
  connect(loadFriction.flange_b, flange_b) annotation (Line(points={{86,0},{100,0}}, color={0,0,0}));
  motorAngle = motor.phi;
  motorSpeed = motor.w;
  loadAngle = load.phi;
  loadSpeed = load.w;
  shaftTorque = shaft.tau;
  kineticEnergy = 0.5*motorInertia*motor.w^2 + 0.5*loadInertia*load.w^2;
  potentialEnergy = 0.5*shaftStiffness*shaft.phi_rel^2 + motorFriction.storedEnergy + loadFriction.storedEnergy;
  inputPower = motor.flange_a.tau*motor.w;
  dissipatedPower = shaft.lossPower + gear.lossPower + motorFriction.lossPower + loadFriction.lossPower;
  annotation (Documentation(info="<html>
<p>
Motor inertia, gear with losses, elastic shaft and load inertia in a row, with friction between motor and gear and at
the load. What is connected to <code>flange_b</code> is not part of the balance of <code>inputPower</code>,
<code>dissipatedPower</code> and the energies.
</p>
</html>"));
end PartialGearedDrive;
