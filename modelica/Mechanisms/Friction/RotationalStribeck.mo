within Mechanisms.Friction;
model RotationalStribeck "Stribeck friction torque with a smooth sign"
  extends Interfaces.PartialRotationalFriction;
  parameter Units.Torque coulombTorque(min=0) = 0.1 "Coulomb friction torque, Tc"
    annotation (Dialog(group="Friction"));
  parameter Units.Torque staticTorque(min=0) = 0.15 "Static friction torque, Ts"
    annotation (Dialog(group="Friction"));
  parameter Units.AngularVelocity stribeckSpeed(min=1e-12) = 0.1 "Stribeck speed, ws"
    annotation (Dialog(group="Friction"));
  parameter Units.RotationalDampingConstant viscousFriction(min=0) = 0.001 "Viscous friction coefficient, sigma2"
    annotation (Dialog(group="Friction"));
  parameter Units.AngularVelocity speedWidth(min=1e-12) = 0.01
    "Width of the smooth sign tanh(w/speedWidth), well below stribeckSpeed"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
equation
  tau = Functions.smoothCoulomb(w, Functions.stribeckLevel(w, coulombTorque, staticTorque, stribeckSpeed), speedWidth)
    + viscousFriction*w;
  storedEnergy = 0;
  lossPower = tau*w;
  annotation (
    defaultComponentName="friction",
    experiment(StopTime=1, Tolerance=1e-8, Interval=0.001),
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-64,-51.2},{-32,-33.6},{-16,-33.6},{-6.4,-49.6},{-1.6,-32},{1.6,32},{6.4,49.6},{16,33.6},
          {32,33.6},{64,51.2}}, color={0,0,127}, thickness=0.4)}),
    Diagram(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-68,-50.4},{-34,-31.7},{-17,-31.7},{-6.8,-48.7},{-1.7,-30},{1.7,38},{6.8,56.7},{17,39.7},
          {34,39.7},{68,58.4}}, color={0,0,127}, thickness=0.425)}),
    Documentation(info="<html>
<p>
<img src=\"modelica://Mechanisms/Resources/Images/Friction/RotationalStribeck.svg\" alt=\"RotationalStribeck\">
</p>
<p>
<code>tau = (coulombTorque + (staticTorque - coulombTorque)*exp(-(w/stribeckSpeed)^2))*tanh(w/speedWidth) +
viscousFriction*w</code>.
</p>
<h4>Assumptions</h4>
<ul>
<li>The normal force is constant.</li>
<li>The friction depends on the present speed alone, and is the same in both directions.</li>
</ul>
<h4>Implementation</h4>
<p>
The peak reaches <code>staticTorque</code> only as far as <code>speedWidth</code> is small against
<code>stribeckSpeed</code>: at <code>speedWidth = stribeckSpeed/10</code> and a static friction of 1.5 times the Coulomb
friction it covers about 90 % of the way from <code>coulombTorque</code> to <code>staticTorque</code>.
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
