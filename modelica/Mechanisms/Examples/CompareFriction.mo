within Mechanisms.Examples;
model CompareFriction "Four equal masses under the same force with four friction laws"
  extends Modelica.Icons.Example;
  Sources.SumOfSines drive(amplitude={3, 0, 0}, omega={3, 1, 1}) "Driving force of each mass"
    annotation (Placement(transformation(extent={{-90,-10},{-70,10}})));
  Modelica.Mechanics.Translational.Sources.Force forceCoulombViscous "Force on this mass"
    annotation (Placement(transformation(extent={{-40,65},{-20,85}})));
  Modelica.Mechanics.Translational.Components.Mass massCoulombViscous(
    m=1,
    s(start=0, fixed=true, nominal=1e-4),
    v(start=0, fixed=true, nominal=1e-3)) "Mass with this friction"
    annotation (Placement(transformation(extent={{0,65},{20,85}})));
  Friction.Translational.CoulombViscous coulombViscous(speedWidth=1e-4) "Smooth Coulomb friction"
    annotation (Placement(transformation(extent={{40,65},{60,85}})));
  Modelica.Mechanics.Translational.Sources.Force forceStribeck "Force on this mass"
    annotation (Placement(transformation(extent={{-40,15},{-20,35}})));
  Modelica.Mechanics.Translational.Components.Mass massStribeck(
    m=1,
    s(start=0, fixed=true, nominal=1e-4),
    v(start=0, fixed=true, nominal=1e-3)) "Mass with this friction"
    annotation (Placement(transformation(extent={{0,15},{20,35}})));
  Friction.Translational.Stribeck stribeck "Stribeck friction"
    annotation (Placement(transformation(extent={{40,15},{60,35}})));
  Modelica.Mechanics.Translational.Sources.Force forceLuGre "Force on this mass"
    annotation (Placement(transformation(extent={{-40,-35},{-20,-15}})));
  Modelica.Mechanics.Translational.Components.Mass massLuGre(
    m=1,
    s(start=0, fixed=true, nominal=1e-4),
    v(start=0, fixed=true, nominal=1e-3)) "Mass with this friction"
    annotation (Placement(transformation(extent={{0,-35},{20,-15}})));
  Friction.Translational.LuGre luGre "LuGre friction"
    annotation (Placement(transformation(extent={{40,-35},{60,-15}})));
  Modelica.Mechanics.Translational.Sources.Force forceSticking "Force on this mass"
    annotation (Placement(transformation(extent={{-40,-85},{-20,-65}})));
  Modelica.Mechanics.Translational.Components.Mass massSticking(
    m=1,
    s(start=0, fixed=true, nominal=1e-4),
    v(start=0, fixed=true, nominal=1e-3)) "Mass with this friction"
    annotation (Placement(transformation(extent={{0,-85},{20,-65}})));
  Friction.Translational.CoulombViscousWithEvents sticking "Coulomb friction that sticks"
    annotation (Placement(transformation(extent={{40,-85},{60,-65}})));
equation
  connect(drive.y, forceCoulombViscous.f)
    annotation (Line(points={{-69,0},{-56,0},{-56,75},{-42,75}}, color={0,0,127}));
  connect(forceCoulombViscous.flange, massCoulombViscous.flange_a)
    annotation (Line(points={{-20,75},{0,75}}, color={0,127,0}));
  connect(massCoulombViscous.flange_b, coulombViscous.flange_a)
    annotation (Line(points={{20,75},{40,75}}, color={0,127,0}));
  connect(drive.y, forceStribeck.f) annotation (Line(points={{-69,0},{-56,0},{-56,25},{-42,25}}, color={0,0,127}));
  connect(forceStribeck.flange, massStribeck.flange_a) annotation (Line(points={{-20,25},{0,25}}, color={0,127,0}));
  connect(massStribeck.flange_b, stribeck.flange_a) annotation (Line(points={{20,25},{40,25}}, color={0,127,0}));
  connect(drive.y, forceLuGre.f) annotation (Line(points={{-69,0},{-56,0},{-56,-25},{-42,-25}}, color={0,0,127}));
  connect(forceLuGre.flange, massLuGre.flange_a) annotation (Line(points={{-20,-25},{0,-25}}, color={0,127,0}));
  connect(massLuGre.flange_b, luGre.flange_a) annotation (Line(points={{20,-25},{40,-25}}, color={0,127,0}));
  connect(drive.y, forceSticking.f) annotation (Line(points={{-69,0},{-56,0},{-56,-75},{-42,-75}}, color={0,0,127}));
  connect(forceSticking.flange, massSticking.flange_a) annotation (Line(points={{-20,-75},{0,-75}}, color={0,127,0}));
  connect(massSticking.flange_b, sticking.flange_a) annotation (Line(points={{20,-75},{40,-75}}, color={0,127,0}));
  annotation (
    experiment(StopTime=4, Tolerance=1e-8, Interval=0.002),
    Documentation(info="<html>
<p>
While sliding, the four positions agree but for the Stribeck effect; at standstill the smooth laws creep, LuGre deflects
elastically, and the law with events sticks.
</p>
</html>"));
end CompareFriction;
