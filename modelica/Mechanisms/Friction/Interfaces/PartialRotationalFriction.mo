within Mechanisms.Friction.Interfaces;
partial model PartialRotationalFriction "Friction between a shaft and its bearing, without the friction law"
  extends Icons.Friction;
  input Units.AngularVelocity w(start=0) "Angular velocity of the shaft relative to the bearing";
  output Units.Torque tau "Friction torque, acts against the motion";
  output Units.Energy storedEnergy "Elastic energy stored in the contact";
  output Units.Power lossPower "Dissipated power";
  annotation (Documentation(info="<html>
<p>
Signals of a friction law between a shaft and its bearing. A subclass gives <code>tau</code>,
<code>storedEnergy</code> and <code>lossPower</code> such that <code>tau*w = lossPower + der(storedEnergy)</code>.
</p>
</html>"));
end PartialRotationalFriction;
