within Mechanisms.Friction;
model TranslationalStribeck "Stribeck friction force with a smooth sign"
  extends Interfaces.PartialTranslationalFriction;
  parameter Units.Force Fc(min=0) = 1 "Coulomb friction force";
  parameter Units.Force Fs(min=0) = 1.5 "Static friction force";
  parameter Units.Velocity vs(min=1e-12) = 0.001 "Stribeck speed";
  parameter Units.TranslationalDampingConstant sigma2(min=0) = 0.4 "Viscous friction coefficient";
  parameter Units.Velocity width(min=1e-12) = 0.0001 "Width of the smooth sign tanh(v/width), well below vs";
equation
  f = Functions.smoothCoulomb(v, Functions.stribeckLevel(v, Fc, Fs, vs), width) + sigma2*v;
  storedEnergy = 0;
  lossPower = f*v;
  annotation (
    defaultComponentName="friction",
    experiment(StopTime=1, Tolerance=1e-8, Interval=0.001),
    Documentation(info="<html>
<p>
<code>f = (Fc + (Fs - Fc)*exp(-(v/vs)^2))*tanh(v/width) + sigma2*v</code>.
</p>
<h4>Implementation</h4>
<p>
The peak reaches <code>Fs</code> only as far as <code>width</code> is small against <code>vs</code>: at
<code>width = vs/10</code> and a static friction of 1.5 times the Coulomb friction it covers about 90 % of the
way from <code>Fc</code> to <code>Fs</code>.
</p>
<h4>Limitations</h4>
<p>The slide creeps instead of sticking, as with every law that is a function of the speed alone.</p>
<h4>References</h4>
<p>
B. Armstrong-H&eacute;louvry, P. Dupont, C. Canudas de Wit: <em>A survey of models, analysis tools and compensation
methods for the control of machines with friction</em>, Automatica 30 (1994), 1083-1138.
</p>
</html>"));
end TranslationalStribeck;
