within Mechanisms.Robots;
model Delta "Delta robot with drives, smooth friction and gear efficiency"
  extends PartialDeltaWithDrives(
    redeclare Friction.Rotational.CoulombViscous friction[3](
      each coulombTorque=coulombTorque,
      each viscousFriction=viscousFriction,
      each speedWidth=speedWidth),
    redeclare DriveTrains.EfficiencyGear gear[3](
      each ratio=gearRatio,
      each efficiency=gearEfficiency,
      each powerWidth=gearPowerWidth));
  parameter SI.AngularVelocity speedWidth(min=Modelica.Constants.eps) = 1
    "Width of the smooth sign of the Coulomb friction, in motor speed"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  parameter SI.Power gearPowerWidth(min=Modelica.Constants.eps) = 1
    "Width of the smooth direction of power flow in the gear"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  annotation (Documentation(info="<html>
<p>
<a href=\"modelica://Mechanisms.Robots.PartialDeltaWithDrives\">Delta robot</a> without events:
<code>tanh(w/speedWidth)</code> and <code>tanh(tauLoad*q'/gearPowerWidth)</code> stand for the signs of speed and power.
The drives creep instead of sticking.
</p>
</html>"));
end Delta;
