within Mechanisms.Examples;
model SlideBreakAway "Slide under a force that breaks away in either direction"
  extends Modelica.Icons.Example;
  Sources.SumOfSines drive(amplitude={1.7, 0.5, 0.15}, omega={5, 1.7, 23}) "Driving force"
    annotation (Placement(transformation(extent={{-50,-10},{-30,10}})));
  FMUs.SlideWithLuGreFriction slide "Slide"
    annotation (Placement(transformation(extent={{0,-20},{40,20}})));
equation
  connect(drive.y, slide.u) annotation (Line(points={{-29,0},{-4,0}}, color={0,0,127}));
  annotation (
    experiment(StopTime=5, Tolerance=1e-9, Interval=0.001),
    Documentation(info="<html>
<p>
The force passes the static friction of 1.5 N: presliding, break-away, sliding and sticking alternate, and every
parameter has influence.
</p>
</html>"));
end SlideBreakAway;
