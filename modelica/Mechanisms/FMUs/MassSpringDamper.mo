within Mechanisms.FMUs;
model MassSpringDamper "Mass on spring and damper, driven by a force"
  extends Oscillators.SprungMass;
  Modelica.Blocks.Interfaces.RealInput F(final quantity="Force", final unit="N", start=0) "Driving force"
    annotation (Placement(transformation(extent={{-140,-20},{-100,20}})));
  Modelica.Mechanics.Translational.Sources.Force drive "Drive"
    annotation (Placement(transformation(extent={{-90,-50},{-70,-30}})));
equation
  connect(F, drive.f) annotation (Line(points={{-120,0},{-98,0},{-98,-40},{-92,-40}}, color={0,0,127}));
  connect(drive.flange, flange_a)
    annotation (Line(points={{-70,-40},{-60,-40},{-60,-14},{-100,-14},{-100,0}}, color={0,127,0}));
  annotation (
    experiment(StopTime=5, Tolerance=1e-8, Interval=0.001),
    Documentation(info="<html>
<p>
<a href=\"modelica://Mechanisms.Oscillators.SprungMass\">SprungMass</a> under a given force.
</p>
</html>"));
end MassSpringDamper;
