within Mechanisms.Friction.Translational;
model Stribeck "Stribeck friction force with a smooth sign"
  extends Interfaces.PartialTranslationalFriction;
  parameter SI.Force coulombForce(min=0) = 1 "Coulomb friction force, Fc"
    annotation (Dialog(group="Friction"));
  parameter SI.Force staticForce(min=0) = 1.5 "Static friction force, Fs"
    annotation (Dialog(group="Friction"));
  parameter SI.Velocity stribeckSpeed(min=Modelica.Constants.eps) = 0.001 "Stribeck speed, vs"
    annotation (Dialog(group="Friction"));
  parameter SI.TranslationalDampingConstant viscousFriction(min=0) = 0.4 "Viscous friction coefficient, sigma2"
    annotation (Dialog(group="Friction"));
  parameter SI.Velocity speedWidth(min=Modelica.Constants.eps) = 0.0001
    "Width of the smooth sign tanh(v_rel/speedWidth), well below stribeckSpeed"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  SI.Force level "Friction force of steady sliding without its viscous part";
equation
  level = Functions.stribeckLevel(v_rel, coulombForce, staticForce, stribeckSpeed);
  f = Functions.smoothCoulomb(v_rel, level, speedWidth) + viscousFriction*v_rel;
  storedEnergy = 0;
  lossPower = f*v_rel;
  annotation (
    defaultComponentName="friction",
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-64,-51.2},{-32,-33.6},{-16,-33.6},{-6.4,-49.6},{-1.6,-32},{1.6,32},{6.4,49.6},{16,33.6},
          {32,33.6},{64,51.2}}, color={0,0,127}, thickness=0.4)}),
    Documentation(info="<html>
<p>
<code>f = (coulombForce + (staticForce - coulombForce)*exp(-(v_rel/stribeckSpeed)^2))*tanh(v_rel/speedWidth) +
viscousFriction*v_rel</code>. The normal force is constant, and the friction depends on the present speed alone: the
slide creeps instead of sticking.
</p>
<p>
The peak reaches <code>staticForce</code> only as far as <code>speedWidth</code> is small against
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
