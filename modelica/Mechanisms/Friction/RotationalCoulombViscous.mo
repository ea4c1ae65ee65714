within Mechanisms.Friction;
model RotationalCoulombViscous "Coulomb and viscous friction torque with a smooth sign"
  extends Interfaces.PartialRotationalFriction;
  parameter Units.Torque Tc(min=0) = 0.1 "Coulomb friction torque";
  parameter Units.RotationalDampingConstant d(min=0) = 0.001 "Viscous friction coefficient";
  parameter Units.AngularVelocity width(min=1e-12) = 0.01 "Width of the smooth sign tanh(w/width)";
equation
  tau = Functions.smoothCoulomb(w, Tc, width) + d*w;
  storedEnergy = 0;
  lossPower = tau*w;
  annotation (
    defaultComponentName="friction",
    experiment(StopTime=1, Tolerance=1e-8, Interval=0.001),
    Documentation(info="<html>
<p>
<code>tau = Tc*tanh(w/width) + d*w</code>. Continuous, without events, and differentiable any number of times.
</p>
<h4>Implementation</h4>
<p>
The law is <a href=\"modelica://Mechanisms.Friction.Functions.smoothCoulomb\">smoothCoulomb</a> and a viscous part.
</p>
<h4>Limitations</h4>
<p>
The shaft does not stick: under a constant load below <code>Tc</code> it creeps with a speed of the order of
<code>width</code>. Use <a href=\"modelica://Mechanisms.Friction.RotationalLuGre\">RotationalLuGre</a> where sticking matters.
</p>
<h4>References</h4>
<p>
B. Armstrong-H&eacute;louvry, P. Dupont, C. Canudas de Wit: <em>A survey of models, analysis tools and compensation
methods for the control of machines with friction</em>, Automatica 30 (1994), 1083-1138.
</p>
</html>"));
end RotationalCoulombViscous;
