within Mechanisms.Friction;
model RotationalCoulombViscous "Coulomb and viscous friction torque with a smooth sign"
  extends Interfaces.PartialRotationalFriction;
  parameter Units.Torque coulombTorque(min=0) = 0.1 "Coulomb friction torque, Tc"
    annotation (Dialog(group="Friction"));
  parameter Units.RotationalDampingConstant viscousFriction(min=0) = 0.001 "Viscous friction coefficient, d"
    annotation (Dialog(group="Friction"));
  parameter Units.AngularVelocity speedWidth(min=1e-12) = 0.01 "Width of the smooth sign tanh(w/speedWidth)"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
equation
  tau = Functions.smoothCoulomb(w, coulombTorque, speedWidth) + viscousFriction*w;
  storedEnergy = 0;
  lossPower = tau*w;
  annotation (
    defaultComponentName="friction",
    experiment(StopTime=1, Tolerance=1e-8, Interval=0.001),
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-64,-51.2},{-12.8,-35.2},{-4,-27.2},{4,27.2},{12.8,35.2},{64,51.2}}, color={0,0,127},
          thickness=0.4)}),
    Diagram(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-68,-50.4},{-13.6,-33.4},{-4.2,-24.9},{4.2,32.9},{13.6,41.4},{68,58.4}}, color={0,0,127},
          thickness=0.425)}),
    Documentation(info="<html>
<p>
<img src=\"modelica://Mechanisms/Resources/Images/Friction/RotationalCoulombViscous.svg\"
alt=\"RotationalCoulombViscous\">
</p>
<p>
<code>tau = coulombTorque*tanh(w/speedWidth) + viscousFriction*w</code>. Continuous, without events, and differentiable
any number of times.
</p>
<h4>Assumptions</h4>
<ul>
<li>The normal force is constant.</li>
<li>The friction depends on the present speed alone, and is the same in both directions.</li>
</ul>
<h4>Implementation</h4>
<p>
The law is <a href=\"modelica://Mechanisms.Friction.Functions.smoothCoulomb\">smoothCoulomb</a> and a viscous part.
</p>
<h4>Limitations</h4>
<p>
The shaft does not stick: under a constant load below <code>coulombTorque</code> it creeps with a speed of the order of
<code>speedWidth</code>. Use <a href=\"modelica://Mechanisms.Friction.RotationalLuGre\">RotationalLuGre</a> where
sticking matters.
</p>
<h4>References</h4>
<p>
B. Armstrong-H&eacute;louvry, P. Dupont, C. Canudas de Wit: <em>A survey of models, analysis tools and compensation
methods for the control of machines with friction</em>, Automatica 30 (1994), 1083-1138.
</p>
</html>"));
end RotationalCoulombViscous;
