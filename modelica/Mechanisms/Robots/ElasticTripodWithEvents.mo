within Mechanisms.Robots;
model ElasticTripodWithEvents "Tripod robot (linear delta) with elastic drives, friction that sticks"
  extends PartialTripodWithDrives(redeclare Friction.Rotational.CoulombViscousWithEvents friction[3](
      each coulombTorque=coulombTorque,
      each viscousFriction=viscousFriction));
  annotation (Documentation(info="<html>
<p>
<a href=\"modelica://Mechanisms.Robots.PartialTripodWithDrives\">Tripod with drives</a> that stick and break away by
events.
</p>
</html>"));
end ElasticTripodWithEvents;
