within Mechanisms.Examples;
model SliderCrankWithMotor "Slider-crank with a flywheel, driven by a motor at constant torque, against a spring"
  extends Modelica.Icons.Example;
  Modelica.Mechanics.Rotational.Sources.ConstantTorque motor(tau_constant=0.3) "Motor"
    annotation (Placement(transformation(extent={{-90,-10},{-70,10}})));
  Modelica.Mechanics.Rotational.Components.Inertia flywheel(
    J=0.01,
    phi(start=0.5, fixed=true),
    w(start=0, fixed=true)) "Flywheel"
    annotation (Placement(transformation(extent={{-50,-10},{-30,10}})));
  Linkages.SliderCrank machine "Crank, connecting rod and slider"
    annotation (Placement(transformation(extent={{-20,-20},{20,20}})));
  Modelica.Mechanics.Translational.Components.Spring spring(c=20, s_rel0=-0.25) "Load on the slider"
    annotation (Placement(transformation(extent={{70,-10},{50,10}})));
  Modelica.Mechanics.Translational.Components.Fixed wall(s0=0.5) "Wall"
    annotation (Placement(transformation(extent={{75,-10},{95,10}})));
equation
  connect(motor.flange, flywheel.flange_a) annotation (Line(points={{-70,0},{-50,0}}, color={0,0,0}));
  connect(flywheel.flange_b, machine.crank) annotation (Line(points={{-30,0},{-20,0}}, color={0,0,0}));
  connect(machine.slider, spring.flange_b) annotation (Line(points={{20,0},{50,0}}, color={0,127,0}));
  connect(spring.flange_a, wall.flange) annotation (Line(points={{70,0},{85,0}}, color={0,127,0}));
  annotation (
    experiment(StopTime=2, Tolerance=1e-8, Interval=0.001),
    Documentation(info="<html>
<p>The machine composes with parts of the standard library at either flange.</p>
</html>"));
end SliderCrankWithMotor;
