within Mechanisms.Friction;
model RotationalStribeck "Stribeck friction torque with a smooth sign"
  extends Interfaces.PartialRotationalFriction;
  parameter Units.Torque Tc(min=0) = 0.1 "Coulomb friction torque"
    annotation (Dialog(group="Friction"));
  parameter Units.Torque Ts(min=0) = 0.15 "Static friction torque"
    annotation (Dialog(group="Friction"));
  parameter Units.AngularVelocity ws(min=1e-12) = 0.1 "Stribeck speed"
    annotation (Dialog(group="Friction"));
  parameter Units.RotationalDampingConstant sigma2(min=0) = 0.001 "Viscous friction coefficient"
    annotation (Dialog(group="Friction"));
  parameter Units.AngularVelocity width(min=1e-12) = 0.01 "Width of the smooth sign tanh(w/width), well below ws"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
equation
  tau = Functions.smoothCoulomb(w, Functions.stribeckLevel(w, Tc, Ts, ws), width) + sigma2*w;
  storedEnergy = 0;
  lossPower = tau*w;
  annotation (
    defaultComponentName="friction",
    experiment(StopTime=1, Tolerance=1e-8, Interval=0.001),
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-64,-51.2},{-32,-33.6},{-16,-33.6},{-6.4,-49.6},{-1.6,-32},{1.6,32},{6.4,49.6},{16,33.6},
          {32,33.6},{64,51.2}}, color={0,0,127}, thickness=0.4)}),
    Diagram(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-68,4},{73.1,4}}, color={160,160,160}, arrow={Arrow.None,Arrow.Filled}),
        Line(points={{0,-64},{0,77.1}}, color={160,160,160}, arrow={Arrow.None,Arrow.Filled}),
        Line(points={{-68,-50.4},{-34,-31.7},{-17,-31.7},{-6.8,-48.7},{-1.7,-30},{1.7,38},{6.8,56.7},{17,39.7},
          {34,39.7},{68,58.4}}, color={0,0,127}, thickness=0.425),
        Text(extent={{51,-1.1},{78.2,-14.7}}, textColor={0,0,127}, textString="w"),
        Text(extent={{3.4,82.2},{25.5,68.6}}, textColor={0,0,127}, textString="tau")}),
    Documentation(info="<html>
<p>
<img src=\"modelica://Mechanisms/Resources/Images/Friction/RotationalStribeck.svg\" alt=\"RotationalStribeck\">
</p>
<p>
<code>tau = (Tc + (Ts - Tc)*exp(-(w/ws)^2))*tanh(w/width) + sigma2*w</code>.
</p>
<h4>Assumptions</h4>
<ul>
<li>The normal force is constant.</li>
<li>The friction depends on the present speed alone, and is the same in both directions.</li>
</ul>
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
