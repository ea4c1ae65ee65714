within Mechanisms.FMUs;
model Tripod "Tripod robot (linear delta) with elastic drives and cascade control, smooth friction"
  extends Robots.ElasticTripod(motor(
      phi(start=gearFactor*drivePosition_start, each fixed=true),
      w(each start=0, each fixed=true)));
  extends PartialTripodControl(controller(each gearFactor=gearFactor));
equation
  connect(torque.flange, axis) annotation (Line(points={{0,64},{6,64},{6,14},{-100,14},{-100,0}}, color={0,0,0}));
  annotation (
    experiment(StopTime=2, Tolerance=1e-8, Interval=0.001),
    Documentation(info="<html>
<p>
<a href=\"modelica://Mechanisms.Robots.ElasticTripod\">ElasticTripod</a> under <a
href=\"modelica://Mechanisms.FMUs.PartialTripodControl\">cascade control</a>. Fed with the position, speed and
acceleration of the drives, <a href=\"modelica://Mechanisms.FMUs.TripodInverse\">TripodInverse</a> returns their
torques.
</p>
</html>"));
end Tripod;
