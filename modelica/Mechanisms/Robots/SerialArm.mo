within Mechanisms.Robots;
model SerialArm "Open chain of revolute joints with rotors, friction and coupled drives"
  extends PartialSerialArm;
  parameter SI.MomentOfInertia Ia[n] = {0.362, 0.362, 0.0988, 0.0313, 0.0468, 0.00964}
    "Inertia of rotor and gear at the joint: rotor inertia times square of the gear ratio"
    annotation (Dialog(group="Mass and load"));
  parameter Real coupling[n, n](each final unit="1") =
    {{0,0,0,0,0,0}, {0,0,0,0,0,0}, {0,0,0,0,0,0}, {0,0,0,0,0,0}, {0,0,0,0,0,0}, {0,0,0,0,1,0}}
    "Turns of axis i per turn of joint j < i; elements on and above the diagonal have no effect"
    annotation (Dialog(group="Gear"));
  parameter SI.Torque coulombTorque[n] = {7.14, 8.26, 6.34, 2.48, 3.03, 1.95} "Coulomb friction torque"
    annotation (Dialog(group="Friction"));
  parameter SI.RotationalDampingConstant viscousFriction[n] = {8.05, 5.53, 1.97, 1.11, 1.86, 0.65}
    "Viscous friction coefficient"
    annotation (Dialog(group="Friction"));
  parameter SI.Torque offsetTorque[n] = {0.392, 1.37, 0.326, -0.102, -0.0288, 0.127}
    "Offset of the friction: half the difference of its levels in the two directions"
    annotation (Dialog(group="Friction"));
  parameter SI.AngularVelocity speedWidth(min=Modelica.Constants.eps) = 0.01
    "Width of the smooth sign of the Coulomb friction"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  Modelica.Mechanics.Rotational.Interfaces.Flange_a axis[n]
    "Shafts of the drives: angles over, torques times the gear ratios"
    annotation (Placement(transformation(extent={{-110,-10},{-90,10}})));
  Modelica.Blocks.Interfaces.RealOutput inputPower(final quantity="Power", final unit="W") "Power of the drives"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={25,-110})));
  Modelica.Blocks.Interfaces.RealOutput dissipatedPower(final quantity="Power", final unit="W")
    "Power lost in friction"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={75,-110})));
  Modelica.Mechanics.Rotational.Components.Inertia rotor[n](J=Ia) "Rotors, over their gears"
    annotation (Placement(transformation(extent={{-84,-10},{-64,10}})));
  Friction.Rotational.CoulombViscous friction[n](
    coulombTorque=coulombTorque,
    viscousFriction=viscousFriction,
    each speedWidth=speedWidth) "Friction of the axes"
    annotation (Placement(transformation(extent={{-46,-10},{-26,10}})));
  Modelica.Mechanics.Rotational.Sources.Torque offset[n] "Offsets of the friction"
    annotation (Placement(transformation(extent={{-46,-50},{-26,-30}})));
  AxisCoupling wrist(final n=n, final coupling=coupling) "From the axes to the joints"
    annotation (Placement(transformation(extent={{-12,-10},{8,10}})));
  SerialLinkage linkage(
    final n=n,
    final alpha=alpha,
    final d=d,
    final r=r,
    final jointOffset=jointOffset,
    final Ixx=Ixx,
    final Ixy=Ixy,
    final Ixz=Ixz,
    final Iyy=Iyy,
    final Iyz=Iyz,
    final Izz=Izz,
    final mx=mx,
    final my=my,
    final mz=mz,
    final m=m,
    final gravity=gravity) "Links"
    annotation (Placement(transformation(extent={{30,-20},{70,20}})));
equation
  connect(axis, rotor.flange_a) annotation (Line(points={{-100,0},{-84,0}}, color={0,0,0}));
  connect(rotor.flange_b, friction.flange_a) annotation (Line(points={{-64,0},{-46,0}}, color={0,0,0}));
  connect(friction.flange_b, wrist.axis) annotation (Line(points={{-26,0},{-12,0}}, color={0,0,0}));
  connect(offset.flange, wrist.axis) annotation (Line(points={{-26,-40},{-18,-40},{-18,0},{-12,0}}, color={0,0,0}));
  connect(wrist.joint, linkage.joint) annotation (Line(points={{8,0},{30,0}}, color={0,0,0}));
  offset.tau = -offsetTorque;
  kineticEnergy = linkage.kineticEnergy + 0.5*(Ia*rotor.w.^2);
  potentialEnergy = linkage.potentialEnergy;
  inputPower = rotor.flange_a.tau*rotor.w;
  dissipatedPower = sum(friction.lossPower) + offsetTorque*rotor.w;
  annotation (Documentation(info="<html>
<p>
<a href=\"modelica://Mechanisms.Robots.SerialLinkage\">SerialLinkage</a> with a rotor and friction per axis. Axis i
drives joint i. Its angle, over the gear ratio, is <code>q[i] + sum(coupling[i,j]*q[j] for j &lt; i)</code>
(<a href=\"modelica://Mechanisms.Robots.AxisCoupling\">AxisCoupling</a>). Torques <code>tau</code>, inertias
<code>Ia</code> and friction are those of the axis, times the gear ratio or its square. With the speed <code>w</code> of
an axis and the torque <code>tauLoad</code> that the links need there:
</p>
<blockquote><pre>
tau = Ia*w' + coulombTorque*tanh(w/speedWidth) + viscousFriction*w + offsetTorque + tauLoad
</pre></blockquote>
<p>
It is linear in all inertial parameters of the links, in <code>Ia</code> and in all friction torques.
</p>
<h4>Assumptions</h4>
<ul>
<li>Gears without play. The gyroscopic torques of fast rotors are left out.</li>
<li>Friction does not depend on the load.</li>
</ul>
<h4>Default parameters</h4>
<p>
Inertias, friction torques and the coupling of axis 6 with joint 5 are of the size of those of the St&auml;ubli TX40.
</p>
</html>"));
end SerialArm;
