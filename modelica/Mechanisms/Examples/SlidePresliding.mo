within Mechanisms.Examples;
model SlidePresliding "Slide under 1.1 N, below the static friction"
  extends Icons.Example;
  DriveTrains.SlideWithLuGreFriction slide(u=1.1*sin(5*time)) "Slide";
  annotation (
    experiment(StopTime=5, Tolerance=1e-9, Interval=0.001),
    Documentation(info="<html>
<p>The input of the published study: the mass stays in presliding.</p>
</html>"));
end SlidePresliding;
