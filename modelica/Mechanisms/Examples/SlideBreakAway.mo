within Mechanisms.Examples;
model SlideBreakAway "Slide under a force that breaks away in either direction"
  extends Icons.Example;
  DriveTrains.SlideWithLuGreFriction slide(u=1.7*sin(5*time) + 0.5*sin(1.7*time) + 0.15*sin(23*time)) "Slide";
  annotation (
    experiment(StopTime=5, Tolerance=1e-9, Interval=0.001),
    Documentation(info="<html>
<p>
The force passes the static friction of 1.5 N: presliding, break-away, sliding and sticking alternate, and every parameter
has influence.
</p>
</html>"));
end SlideBreakAway;
