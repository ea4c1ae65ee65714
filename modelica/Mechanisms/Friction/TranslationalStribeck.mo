within Mechanisms.Friction;
model TranslationalStribeck "Stribeck friction force with a smooth sign"
  extends Interfaces.PartialTranslationalFriction;
  parameter Units.Force coulombForce(min=0) = 1 "Coulomb friction force, Fc"
    annotation (Dialog(group="Friction"));
  parameter Units.Force staticForce(min=0) = 1.5 "Static friction force, Fs"
    annotation (Dialog(group="Friction"));
  parameter Units.Velocity stribeckSpeed(min=1e-12) = 0.001 "Stribeck speed, vs"
    annotation (Dialog(group="Friction"));
  parameter Units.TranslationalDampingConstant viscousFriction(min=0) = 0.4 "Viscous friction coefficient, sigma2"
    annotation (Dialog(group="Friction"));
  parameter Units.Velocity speedWidth(min=1e-12) = 0.0001
    "Width of the smooth sign tanh(v/speedWidth), well below stribeckSpeed"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
equation
  f = Functions.smoothCoulomb(v, Functions.stribeckLevel(v, coulombForce, staticForce, stribeckSpeed), speedWidth)
    + viscousFriction*v;
  storedEnergy = 0;
  lossPower = f*v;
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
<img src=\"modelica://Mechanisms/Resources/Images/Friction/TranslationalStribeck.svg\" alt=\"TranslationalStribeck\">
</p>
<p>
<code>f = (coulombForce + (staticForce - coulombForce)*exp(-(v/stribeckSpeed)^2))*tanh(v/speedWidth) +
viscousFriction*v</code>.
</p>
<h4>Assumptions</h4>
<ul>
<li>The normal force is constant.</li>
<li>The friction depends on the present speed alone, and is the same in both directions.</li>
</ul>
<h4>Implementation</h4>
<p>
The peak reaches <code>staticForce</code> only as far as <code>speedWidth</code> is small against
<code>stribeckSpeed</code>: at <code>speedWidth = stribeckSpeed/10</code> and a static friction of 1.5 times the Coulomb
friction it covers about 90 % of the way from <code>coulombForce</code> to <code>staticForce</code>.
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
