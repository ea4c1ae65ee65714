within Mechanisms.Examples;
model SlidePresliding "Slide under 1.1 N, below the static friction"
  extends Modelica.Icons.Example;
  Sources.SumOfSines drive(amplitude={1.1, 0, 0}, omega={5, 5, 5}) "Driving force"
    annotation (Placement(transformation(extent={{-50,-10},{-30,10}})));
  FMUs.SlideWithLuGreFriction slide "Slide"
    annotation (Placement(transformation(extent={{0,-20},{40,20}})));
equation
  connect(drive.y, slide.u) annotation (Line(points={{-29,0},{-4,0}}, color={0,0,127}));
  annotation (
    experiment(StopTime=5, Tolerance=1e-9, Interval=0.001),
    Documentation(info="<html>
<p>The input of the published study: the mass stays in presliding.</p>
</html>"));
end SlidePresliding;
