within Mechanisms.DriveTrains;
partial model PartialPositioningAxis "Carriage with friction and a constant force; the subclass chooses the friction"
  extends Icons.PositioningAxis;
  parameter SI.Mass m(min=Modelica.Constants.eps) = 95.1089 "Moved mass including the reflected inertia of the motor, M"
    annotation (Dialog(group="Mass and load"));
  parameter SI.TranslationalDampingConstant viscousFriction(min=0) = 203.5034 "Viscous friction coefficient, Fv"
    annotation (Dialog(group="Friction"));
  parameter SI.Force coulombForce(min=0) = 20.3935 "Coulomb friction force, Fc"
    annotation (Dialog(group="Friction"));
  parameter SI.Force offset = -3.1648 "Constant force offset"
    annotation (Dialog(group="Mass and load"));
  Modelica.Mechanics.Translational.Interfaces.Flange_a flange_a "Drive of the carriage"
    annotation (Placement(transformation(extent={{-110,-10},{-90,10}})));
  Modelica.Blocks.Interfaces.RealOutput kineticEnergy(final quantity="Energy", final unit="J") "Kinetic energy"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-75,-110})));
  Modelica.Blocks.Interfaces.RealOutput potentialEnergy(final quantity="Energy", final unit="J")
    "Energy of the constant offset force, zero at q = 0"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-25,-110})));
  Modelica.Blocks.Interfaces.RealOutput inputPower(final quantity="Power", final unit="W") "Power of the driving force"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={25,-110})));
  Modelica.Blocks.Interfaces.RealOutput dissipatedPower(final quantity="Power", final unit="W") "Dissipated power"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={75,-110})));
  Modelica.Mechanics.Translational.Components.Mass carriage(
    m=m,
    final L=0,
    stateSelect=StateSelect.prefer,
    s(nominal=0.01),
    v(nominal=0.1)) "Moved mass"
    annotation (Placement(transformation(extent={{-40,-10},{-20,10}})));
  replaceable Friction.Interfaces.PartialTranslationalFriction friction "Friction of the axis"
    annotation (choicesAllMatching=true, Placement(transformation(extent={{10,-10},{30,10}})));
  Modelica.Mechanics.Translational.Sources.ConstantForce offsetForce(f_constant=-offset)
    "Offset, acts against the driving force"
    annotation (Placement(transformation(extent={{70,-10},{50,10}})));
equation
  connect(flange_a, carriage.flange_a) annotation (Line(points={{-100,0},{-40,0}}, color={0,127,0}));
  connect(carriage.flange_b, friction.flange_a) annotation (Line(points={{-20,0},{10,0}}, color={0,127,0}));
  connect(friction.flange_b, offsetForce.flange) annotation (Line(points={{30,0},{50,0}}, color={0,127,0}));
  kineticEnergy = 0.5*m*carriage.v^2;
  potentialEnergy = offset*carriage.s;
  inputPower = carriage.flange_a.f*carriage.v;
  dissipatedPower = friction.lossPower;
  annotation (Documentation(info="<html>
<p>
<code>m*q'' = force - friction - offset</code>. Motor, screw and carriage are one rigid mass. The default values are
the reference values of a published benchmark of an electro-mechanical positioning system.
</p>
<h4>References</h4>
<p>
A. Janot, M. Gautier, M. Brunot: <em>Data Set and Reference Models of EMPS</em>, Workshop on Nonlinear System
Identification Benchmarks, 2019.
</p>
</html>"));
end PartialPositioningAxis;
