within Mechanisms.DriveTrains;
model PositioningAxisWithEvents "Linear positioning axis whose friction sticks"
  extends PartialPositioningAxis(redeclare Friction.Translational.CoulombViscousWithEvents friction(
      coulombForce=coulombForce,
      viscousFriction=viscousFriction));
  annotation (Documentation(info="<html>
<p>
<a href=\"modelica://Mechanisms.DriveTrains.PartialPositioningAxis\">PartialPositioningAxis</a> with a state event
where the carriage stops or breaks away.
</p>
</html>"));
end PositioningAxisWithEvents;
