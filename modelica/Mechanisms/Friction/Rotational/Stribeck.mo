within Mechanisms.Friction.Rotational;
model Stribeck "Stribeck friction torque with a smooth sign"
  extends Interfaces.PartialRotationalFriction;
  parameter SI.Torque coulombTorque(min=0) = 0.1 "Coulomb friction torque, Tc"
    annotation (Dialog(group="Friction"));
  parameter SI.Torque staticTorque(min=0) = 0.15 "Static friction torque, Ts"
    annotation (Dialog(group="Friction"));
  parameter SI.AngularVelocity stribeckSpeed(min=Modelica.Constants.eps) = 0.1 "Stribeck speed, ws"
    annotation (Dialog(group="Friction"));
  parameter SI.RotationalDampingConstant viscousFriction(min=0) = 0.001 "Viscous friction coefficient, sigma2"
    annotation (Dialog(group="Friction"));
  parameter SI.AngularVelocity speedWidth(min=Modelica.Constants.eps) = 0.01
    "Width of the smooth sign tanh(w_rel/speedWidth), well below stribeckSpeed"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  SI.Torque level "Friction torque of steady sliding without its viscous part";
equation
  level = Functions.stribeckLevel(w_rel, coulombTorque, staticTorque, stribeckSpeed);
  tau = Functions.smoothCoulomb(w_rel, level, speedWidth) + viscousFriction*w_rel;
  storedEnergy = 0;
  lossPower = tau*w_rel;
  annotation (
    defaultComponentName="friction",
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-64,-51.2},{-32,-33.6},{-16,-33.6},{-6.4,-49.6},{-1.6,-32},{1.6,32},{6.4,49.6},{16,33.6},
          {32,33.6},{64,51.2}}, color={0,0,127}, thickness=0.4)}),
    Documentation(info="<html>
<p>
<code>tau = (coulombTorque + (staticTorque - coulombTorque)*exp(-(w_rel/stribeckSpeed)^2))*tanh(w_rel/speedWidth) +
viscousFriction*w_rel</code>. The normal force is constant, and the friction depends on the present speed alone: the
shaft creeps instead of sticking.
</p>
<p>
The peak reaches <code>staticTorque</code> only as far as <code>speedWidth</code> is small against
<code>stribeckSpeed</code>: at <code>speedWidth = stribeckSpeed/10</code> and a static friction of 1.5 times the
Coulomb friction it covers about 90 % of the way.
</p>
<h4>References</h4>
<p>
B. Armstrong-H&eacute;louvry, P. Dupont, C. Canudas de Wit: <em>A survey of models, analysis tools and compensation
methods for the control of machines with friction</em>, Automatica 30 (1994), 1083-1138.
</p>
</html>"));
end Stribeck;
