within Mechanisms.Friction.Interfaces;
partial model PartialTranslationalFriction "Friction between a slide and its guide, without the friction law"
  extends Icons.Friction;
  input Units.Velocity v(start=0) "Velocity of the slide relative to the guide";
  output Units.Force f "Friction force, acts against the motion";
  output Units.Energy storedEnergy "Elastic energy stored in the contact";
  output Units.Power lossPower "Dissipated power";
  annotation (Documentation(info="<html>
<p>
Signals of a friction law between a slide and its guide. A subclass gives <code>f</code>,
<code>storedEnergy</code> and <code>lossPower</code> such that <code>f*v = lossPower + der(storedEnergy)</code>.
</p>
</html>"));
end PartialTranslationalFriction;
