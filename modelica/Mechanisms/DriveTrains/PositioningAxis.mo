within Mechanisms.DriveTrains;
model PositioningAxis "Linear positioning axis with smooth friction"
  extends PartialPositioningAxis(redeclare Friction.Translational.CoulombViscous friction(
      coulombForce=coulombForce,
      viscousFriction=viscousFriction,
      speedWidth=speedWidth));
  parameter SI.Velocity speedWidth(min=Modelica.Constants.eps) = 1e-3 "Width of the smooth sign of the Coulomb friction"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  annotation (Documentation(info="<html>
<p>
<a href=\"modelica://Mechanisms.DriveTrains.PartialPositioningAxis\">PartialPositioningAxis</a> whose friction is
<code>viscousFriction*q' + coulombForce*tanh(q'/speedWidth)</code>.
</p>
</html>"));
end PositioningAxis;
