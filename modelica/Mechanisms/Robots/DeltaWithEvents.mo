within Mechanisms.Robots;
model DeltaWithEvents
  "Delta robot with drives for prescribed motion, friction and gear efficiency that switch by events"
  extends PartialDeltaWithDrives(
    redeclare Friction.Rotational.CoulombViscousWithoutSticking friction[3](
      each coulombTorque=coulombTorque,
      each viscousFriction=viscousFriction),
    redeclare DriveTrains.EfficiencyGearWithoutSticking gear[3](
      each ratio=gearRatio,
      each efficiency=gearEfficiency));
  annotation (Documentation(info="<html>
<p>
<a href=\"modelica://Mechanisms.Robots.PartialDeltaWithDrives\">Delta robot</a> whose signs of speed and power switch by
events: the limit of <a href=\"modelica://Mechanisms.Robots.Delta\">Delta</a> for vanishing widths. Friction that sticks
would demand zero acceleration, which contradicts a prescribed motion; here the Coulomb friction is zero at standstill.
</p>
</html>"));
end DeltaWithEvents;
