within Mechanisms.DriveTrains;
model EfficiencyGearWithEvents "Gear with losses and friction on the motor side, which sticks by state events"
  extends PartialEfficiencyGear;
  extends Friction.Interfaces.Sticking(
    final speed=w_a,
    final forwardLevel=coulombTorque + (if tauLoad > 0 then driving else braking),
    final backwardLevel=coulombTorque + (if tauLoad > 0 then braking else driving));
  parameter SI.Torque coulombTorque(min=0) = 0.1 "Coulomb friction torque on the motor side"
    annotation (Dialog(group="Friction"));
  SI.AngularVelocity w_a "Speed of the motor side relative to the support";
  SI.Torque driving "Loss in the teeth while the motor drives the load, at the motor";
  SI.Torque braking "Loss in the teeth while the load drives the motor, at the motor";
equation
  w_a = der(phi_a);
  driving = abs(tauLoad)/ratio*(1/efficiency - 1);
  braking = abs(tauLoad)/ratio*(1 - efficiency);
  acceleration = der(w_a);
  flange_a.tau = tauLoad/ratio + friction;
  annotation (Documentation(info="<html>
<p>
<code>tau_motor = tau_load/(ratio*efficiency) + coulombTorque</code> while the motor drives the load forward, and
<code>tau_load*efficiency/ratio + coulombTorque</code> while the load drives the motor forward. At rest the friction
of the teeth and of the bearing holds the gear between what the two directions of motion would need. Friction of the
motor side belongs into this gear and not into an element beside it: two that stick on one rigid shaft are
undetermined.
</p>
</html>"));
end EfficiencyGearWithEvents;
