within Mechanisms.DriveTrains;
model EfficiencyGear "Gear whose efficiency depends smoothly on the direction of power flow"
  extends PartialEfficiencyGear;
  parameter SI.Power powerWidth(min=Modelica.Constants.eps) = 1
    "Width of the smooth direction of power flow, tanh(power/powerWidth)"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
equation
  flange_a.tau = Functions.gearInputTorque(tauLoad, w_b, ratio, efficiency, powerWidth);
  annotation (Documentation(info="<html>
<p>
<code>tau_motor = tau_load/(ratio*efficiency^s)</code> with <code>s = tanh(tau_load*w_load/powerWidth)</code>: the
motor supplies <code>tau_load*w_load/efficiency</code> while it drives the load, and receives
<code>tau_load*w_load*efficiency</code> while the load drives it. The exponent makes the change smooth, without an
event and without division by a power. The dissipated power is never negative.
</p>
</html>"));
end EfficiencyGear;
