within Mechanisms.FMUs;
model SlideWithLuGreFriction "Mass on a guide with LuGre friction, driven by a force"
  extends DriveTrains.Slide;
  Modelica.Blocks.Interfaces.RealInput u(final quantity="Force", final unit="N", start=0) "Driving force"
    annotation (Placement(transformation(extent={{-140,-20},{-100,20}})));
  Modelica.Mechanics.Translational.Sources.Force drive "Drive"
    annotation (Placement(transformation(extent={{-90,-50},{-70,-30}})));
equation
  connect(u, drive.f) annotation (Line(points={{-120,0},{-98,0},{-98,-40},{-92,-40}}, color={0,0,127}));
  connect(drive.flange, flange_a)
    annotation (Line(points={{-70,-40},{-60,-40},{-60,-14},{-100,-14},{-100,0}}, color={0,127,0}));
  annotation (
    experiment(StopTime=5, Tolerance=1e-9, Interval=0.001),
    Documentation(info="<html>
<p>
<a href=\"modelica://Mechanisms.DriveTrains.Slide\">Slide</a> under a given force.
</p>
</html>"));
end SlideWithLuGreFriction;
