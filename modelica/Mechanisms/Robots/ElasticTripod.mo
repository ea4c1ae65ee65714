within Mechanisms.Robots;
model ElasticTripod "Tripod robot (linear delta) with elastic drives, smooth friction"
  extends PartialTripodWithDrives(redeclare Friction.Rotational.CoulombViscous friction[3](
      each coulombTorque=coulombTorque,
      each viscousFriction=viscousFriction,
      each speedWidth=speedWidth));
  parameter SI.AngularVelocity speedWidth(min=Modelica.Constants.eps) = 0.5
    "Width of the smooth sign of the Coulomb friction, in motor speed"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  annotation (Documentation(info="<html>
<p>
<a href=\"modelica://Mechanisms.Robots.PartialTripodWithDrives\">Tripod with drives</a> without events: the drives creep
instead of sticking.
</p>
</html>"));
end ElasticTripod;
