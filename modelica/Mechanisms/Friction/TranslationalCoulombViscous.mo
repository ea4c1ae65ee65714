within Mechanisms.Friction;
model TranslationalCoulombViscous "Coulomb and viscous friction force with a smooth sign"
  extends Interfaces.PartialTranslationalFriction;
  parameter Units.Force Fc(min=0) = 1 "Coulomb friction force";
  parameter Units.TranslationalDampingConstant d(min=0) = 0.4 "Viscous friction coefficient";
  parameter Units.Velocity width(min=1e-12) = 0.001 "Width of the smooth sign tanh(v/width)";
equation
  f = Functions.smoothCoulomb(v, Fc, width) + d*v;
  storedEnergy = 0;
  lossPower = f*v;
  annotation (
    defaultComponentName="friction",
    experiment(StopTime=1, Tolerance=1e-8, Interval=0.001),
    Documentation(info="<html>
<p>
<code>f = Fc*tanh(v/width) + d*v</code>. Continuous, without events, and differentiable any number of times.
</p>
<h4>Implementation</h4>
<p>
The law is <a href=\"modelica://Mechanisms.Friction.Functions.smoothCoulomb\">smoothCoulomb</a> and a viscous part.
</p>
<h4>Limitations</h4>
<p>
The slide does not stick: under a constant load below <code>Fc</code> it creeps with a speed of the order of
<code>width</code>. Use <a href=\"modelica://Mechanisms.Friction.TranslationalLuGre\">TranslationalLuGre</a> where sticking matters.
</p>
<h4>References</h4>
<p>
B. Armstrong-H&eacute;louvry, P. Dupont, C. Canudas de Wit: <em>A survey of models, analysis tools and compensation
methods for the control of machines with friction</em>, Automatica 30 (1994), 1083-1138.
</p>
</html>"));
end TranslationalCoulombViscous;
