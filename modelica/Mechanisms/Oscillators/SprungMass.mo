within Mechanisms.Oscillators;
model SprungMass "Mass on spring and damper"
  extends Icons.MassSpringDamper;
  parameter SI.Mass m(min=Modelica.Constants.eps) = 3 "Mass"
    annotation (Dialog(group="Oscillator"));
  parameter SI.TranslationalDampingConstant d(min=0) = 0.05 "Damping constant"
    annotation (Dialog(group="Oscillator"));
  parameter SI.TranslationalSpringConstant k(min=0) = 400 "Spring constant"
    annotation (Dialog(group="Oscillator"));
  parameter SI.Position x_start = 0 "Position at the start"
    annotation (Dialog(tab="Initialization", group="Start values"));
  parameter SI.Velocity v_start = 0 "Velocity at the start"
    annotation (Dialog(tab="Initialization", group="Start values"));
  Modelica.Mechanics.Translational.Interfaces.Flange_a flange_a "Drive of the mass"
    annotation (Placement(transformation(extent={{-110,-10},{-90,10}})));
  Modelica.Blocks.Interfaces.RealOutput x(
    final quantity="Length",
    final unit="m",
    start=x_start,
    fixed=true,
    nominal=0.001) "Position"
    annotation (Placement(transformation(extent={{100,50},{120,70}})));
  Modelica.Blocks.Interfaces.RealOutput v(
    final quantity="Velocity",
    final unit="m/s",
    start=v_start,
    fixed=true,
    nominal=0.01) "Velocity"
    annotation (Placement(transformation(extent={{100,-10},{120,10}})));
  Modelica.Blocks.Interfaces.RealOutput a(final quantity="Acceleration", final unit="m/s2") "Acceleration"
    annotation (Placement(transformation(extent={{100,-70},{120,-50}})));
  Modelica.Blocks.Interfaces.RealOutput kineticEnergy(final quantity="Energy", final unit="J") "Kinetic energy"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-75,-110})));
  Modelica.Blocks.Interfaces.RealOutput potentialEnergy(final quantity="Energy", final unit="J") "Energy of the spring"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-25,-110})));
  Modelica.Blocks.Interfaces.RealOutput inputPower(final quantity="Power", final unit="W") "Power of the driving force"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={25,-110})));
  Modelica.Blocks.Interfaces.RealOutput dissipatedPower(final quantity="Power", final unit="W")
    "Power lost in the damper"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={75,-110})));
  Modelica.Mechanics.Translational.Components.Mass mass(
    m=m,
    final L=0,
    stateSelect=StateSelect.prefer,
    s(nominal=0.001),
    v(nominal=0.01)) "Mass"
    annotation (Placement(transformation(extent={{-50,-10},{-30,10}})));
  Modelica.Mechanics.Translational.Components.SpringDamper suspension(
    c=k,
    d=d,
    final s_rel0=0,
    final s_nominal=1e-4,
    stateSelect=StateSelect.avoid) "Spring and damper"
    annotation (Placement(transformation(extent={{0,-10},{20,10}})));
  Modelica.Mechanics.Translational.Components.Fixed wall(final s0=0) "Wall"
    annotation (Placement(transformation(extent={{50,-10},{70,10}})));
equation
  connect(flange_a, mass.flange_a) annotation (Line(points={{-100,0},{-50,0}}, color={0,127,0}));
  connect(mass.flange_b, suspension.flange_a) annotation (Line(points={{-30,0},{0,0}}, color={0,127,0}));
  connect(suspension.flange_b, wall.flange) annotation (Line(points={{20,0},{60,0}}, color={0,127,0}));
  x = mass.s;
  v = mass.v;
  a = mass.a;
  kineticEnergy = 0.5*m*mass.v^2;
  potentialEnergy = 0.5*k*mass.s^2;
  inputPower = mass.flange_a.f*mass.v;
  dissipatedPower = suspension.lossPower;
  annotation (Documentation(info="<html>
<p><code>m*x'' + d*x' + k*x = F</code> with the force <code>F</code> at the flange.</p>
</html>"));
end SprungMass;
