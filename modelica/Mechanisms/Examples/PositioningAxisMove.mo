within Mechanisms.Examples;
model PositioningAxisMove "Positioning axis to and fro; the inverse model returns the force of the controlled one"
  extends Icons.Example;
  DriveTrains.PositioningAxisClosedLoop axis(q_ref=0.12*(1 - cos(2*time)) + 0.01*(1 - cos(11*time))) "Axis under control";
  DriveTrains.PositioningAxisInverse inverse(q=axis.q, qd=axis.qd, qdd=axis.qdd) "Inverse model, fed with the motion of the axis";
  DriveTrains.PositioningAxisDelayedLoop sampled(q_ref=0.12*(1 - cos(2*time)) + 0.01*(1 - cos(11*time)))
    "Axis under a sampled controller";
  output Units.Force difference "Force of the inverse model less that of the axis";
equation
  difference = inverse.force - axis.force;
  annotation (
    experiment(StopTime=5, Tolerance=1e-10, Interval=0.001),
    Documentation(info="<html>
<p><code>difference</code> stays zero. <code>sampled</code> shows what the delays of a sampled controller change.</p>
</html>"));
end PositioningAxisMove;
