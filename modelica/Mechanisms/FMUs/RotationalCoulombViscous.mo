within Mechanisms.FMUs;
model RotationalCoulombViscous "Coulomb and viscous friction torque at a given speed"
  extends Friction.Rotational.CoulombViscous;
  Modelica.Blocks.Interfaces.RealInput w(final quantity="AngularVelocity", final unit="rad/s", start=0)
    "Speed of the shaft relative to the bearing"
    annotation (Placement(transformation(extent={{-140,-20},{-100,20}})));
  Modelica.Mechanics.Rotational.Sources.Move move "Motion with this speed; the position has no influence"
    annotation (Placement(transformation(extent={{-90,-50},{-70,-30}})));
equation
  move.u = {0, w, 0};
  connect(move.flange, flange_a)
    annotation (Line(points={{-70,-40},{-60,-40},{-60,0},{-100,0}}, color={0,0,0}));
  annotation (
    experiment(StopTime=1, Tolerance=1e-8, Interval=0.001),
    Documentation(info="<html>
<p>
<a href=\"modelica://Mechanisms.Friction.Rotational.CoulombViscous\">CoulombViscous</a> with the speed as input and the
torque as output.
</p>
</html>"));
end RotationalCoulombViscous;
