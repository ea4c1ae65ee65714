within Mechanisms.DriveTrains;
model EfficiencyGearWithoutSticking
  "Gear whose efficiency switches with the direction of power flow, for prescribed motion"
  extends PartialEfficiencyGear;
  SI.Power powerLoad "Power that the gear delivers to the load";
equation
  powerLoad = tauLoad*w_b;
  flange_a.tau = tauLoad/ratio*(if powerLoad > 0 then 1/efficiency elseif powerLoad < 0 then efficiency else 1);
  annotation (Documentation(info="<html>
<p>
<code>tau_motor = tau_load/(ratio*efficiency)</code> while the motor drives the load, and
<code>tau_load*efficiency/ratio</code> while the load drives the motor: the limit of <a
href=\"modelica://Mechanisms.DriveTrains.EfficiencyGear\">EfficiencyGear</a> for a vanishing width of power. For inverse
models; where the motion depends on the losses take <a
href=\"modelica://Mechanisms.DriveTrains.EfficiencyGearWithEvents\">EfficiencyGearWithEvents</a>, which sticks.
</p>
</html>"));
end EfficiencyGearWithoutSticking;
