within Mechanisms.Friction;
model RotationalStribeck "Stribeck friction torque with a smooth sign"
  extends Interfaces.PartialRotationalFriction;
  parameter Units.Torque Tc(min=0) = 0.1 "Coulomb friction torque";
  parameter Units.Torque Ts(min=0) = 0.15 "Static friction torque";
  parameter Units.AngularVelocity ws(min=1e-12) = 0.1 "Stribeck speed";
  parameter Units.RotationalDampingConstant sigma2(min=0) = 0.001 "Viscous friction coefficient";
  parameter Units.AngularVelocity width(min=1e-12) = 0.01 "Width of the smooth sign tanh(w/width), well below ws";
equation
  tau = Functions.smoothCoulomb(w, Functions.stribeckLevel(w, Tc, Ts, ws), width) + sigma2*w;
  storedEnergy = 0;
  lossPower = tau*w;
  annotation (
    defaultComponentName="friction",
    experiment(StopTime=1, Tolerance=1e-8, Interval=0.001),
    Documentation(info="<html>
<p>
<code>tau = (Tc + (Ts - Tc)*exp(-(w/ws)^2))*tanh(w/width) + sigma2*w</code>.
</p>
<h4>Implementation</h4>
<p>
The peak reaches <code>Ts</code> only as far as <code>width</code> is small against <code>ws</code>: at
<code>width = ws/10</code> and a static friction of 1.5 times the Coulomb friction it covers about 90 % of the
way from <code>Tc</code> to <code>Ts</code>.
</p>
<h4>Limitations</h4>
<p>The shaft creeps instead of sticking, as with every law that is a function of the speed alone.</p>
<h4>References</h4>
<p>
B. Armstrong-H&eacute;louvry, P. Dupont, C. Canudas de Wit: <em>A survey of models, analysis tools and compensation
methods for the control of machines with friction</em>, Automatica 30 (1994), 1083-1138.
</p>
</html>"));
end RotationalStribeck;
