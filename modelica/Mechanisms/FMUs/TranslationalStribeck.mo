within Mechanisms.FMUs;
model TranslationalStribeck "Stribeck friction force at a given speed"
  extends Friction.Translational.Stribeck;
  Modelica.Blocks.Interfaces.RealInput v(final quantity="Velocity", final unit="m/s", start=0)
    "Speed of the slide relative to the guide"
    annotation (Placement(transformation(extent={{-140,-20},{-100,20}})));
  Modelica.Mechanics.Translational.Sources.Move move "Motion with this speed; the position has no influence"
    annotation (Placement(transformation(extent={{-90,-50},{-70,-30}})));
equation
  move.u = {0, v, 0};
  connect(move.flange, flange_a)
    annotation (Line(points={{-70,-40},{-60,-40},{-60,0},{-100,0}}, color={0,127,0}));
  annotation (
    experiment(StopTime=1, Tolerance=1e-8, Interval=0.001),
    Documentation(info="<html>
<p>
<a href=\"modelica://Mechanisms.Friction.Translational.Stribeck\">Stribeck</a> with the speed as input and the force as
output.
</p>
</html>"));
end TranslationalStribeck;
