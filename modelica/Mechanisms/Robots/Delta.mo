within Mechanisms.Robots;
model Delta "Delta robot with motors, friction and gears"
  extends PartialDelta;
  parameter SI.Inertia motorInertia(min=0) = 1.55e-4 "Motor and gear inertia on the motor side, per drive"
    annotation (Dialog(group="Mass and load"));
  parameter SI.Efficiency gearEfficiency(min=1e-3) = 0.907 "Gear efficiency, in (0, 1]"
    annotation (Dialog(group="Gear"));
  parameter SI.Torque coulombTorque(min=0) = 0.105 "Coulomb friction torque on the motor side, per drive"
    annotation (Dialog(group="Friction"));
  parameter SI.RotationalDampingConstant viscousFriction(min=0) = 0.00128
    "Viscous friction constant on the motor side, per drive"
    annotation (Dialog(group="Friction"));
  parameter SI.DimensionlessRatio gearRatio(min=Modelica.Constants.eps) = 25 "Gear ratio motor speed/arm speed"
    annotation (Dialog(group="Gear"));
  parameter SI.AngularVelocity speedWidth(min=Modelica.Constants.eps) = 1
    "Width of the smooth sign of the Coulomb friction, in motor speed"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  parameter SI.Power gearPowerWidth(min=Modelica.Constants.eps) = 1
    "Width of the smooth direction of power flow in the gear"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  Modelica.Mechanics.Rotational.Interfaces.Flange_a axis[3] "Shafts of the motors"
    annotation (Placement(transformation(extent={{-110,-10},{-90,10}})));
  Modelica.Blocks.Interfaces.RealOutput inputPower(final quantity="Power", final unit="W") "Power of the motor torques"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={25,-110})));
  Modelica.Blocks.Interfaces.RealOutput dissipatedPower(final quantity="Power", final unit="W")
    "Power lost in friction and gears"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={75,-110})));
  Modelica.Mechanics.Rotational.Components.Inertia motor[3](each J=motorInertia) "Motors"
    annotation (Placement(transformation(extent={{-84,-10},{-64,10}})));
  Friction.Rotational.CoulombViscous friction[3](
    each coulombTorque=coulombTorque,
    each viscousFriction=viscousFriction,
    each speedWidth=speedWidth) "Friction on the motor side"
    annotation (Placement(transformation(extent={{-50,-10},{-30,10}})));
  DriveTrains.EfficiencyGear gear[3](
    each ratio=gearRatio,
    each efficiency=gearEfficiency,
    each powerWidth=gearPowerWidth) "Gears"
    annotation (Placement(transformation(extent={{-16,-10},{4,10}})));
  DeltaLinkage linkage(
    final lowerArmMass=lowerArmMass,
    final upperArmMass=upperArmMass,
    final platformMass=platformMass,
    final baseRadius=baseRadius,
    final platformRadius=platformRadius,
    final upperArmLength=upperArmLength,
    final lowerArmLength=lowerArmLength,
    final gravity=gravity) "Arms and platform"
    annotation (Placement(transformation(extent={{20,-20},{60,20}})));
equation
  connect(axis, motor.flange_a) annotation (Line(points={{-100,0},{-84,0}}, color={0,0,0}));
  connect(motor.flange_b, friction.flange_a) annotation (Line(points={{-64,0},{-50,0}}, color={0,0,0}));
  connect(friction.flange_b, gear.flange_a) annotation (Line(points={{-30,0},{-16,0}}, color={0,0,0}));
  connect(gear.flange_b, linkage.arm) annotation (Line(points={{4,0},{20,0}}, color={0,0,0}));
  connect(linkage.r, r) annotation (Line(points={{62,-12},{80,-12},{80,-60},{110,-60}}, color={0,0,127}));
  kineticEnergy = linkage.kineticEnergy + 0.5*motorInertia*(motor.w*motor.w);
  potentialEnergy = linkage.potentialEnergy;
  inputPower = motor.flange_a.tau*motor.w;
  dissipatedPower = sum(friction.lossPower) + sum(gear.lossPower);
  annotation (Documentation(info="<html>
<p>
<a href=\"modelica://Mechanisms.Robots.DeltaLinkage\">DeltaLinkage</a> with a motor, its friction and a gear per arm.
With the speed <code>w = gearRatio*q'</code> of a motor and the torque <code>tauLoad</code> of its arm:
</p>
<blockquote><pre>
tau = motorInertia*w' + coulombTorque*sign(w) + viscousFriction*w + tauLoad/(gearRatio*gearEfficiency^s)
</pre></blockquote>
<p>
where <code>s</code> is the sign of the power <code>tauLoad*q'</code>, and <code>tanh(w/speedWidth)</code> and
<code>tanh(tauLoad*q'/gearPowerWidth)</code> stand for the signs. The masses, the inertia, the efficiency and the
friction are the parameters to be estimated; their defaults are the estimated column of Table 1 of the reference. The
geometry is that of a small pick-and-place robot.
</p>
</html>"));
end Delta;
