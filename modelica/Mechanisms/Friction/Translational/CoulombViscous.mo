within Mechanisms.Friction.Translational;
model CoulombViscous "Coulomb and viscous friction force with a smooth sign"
  extends Interfaces.PartialTranslationalFriction;
  parameter SI.Force coulombForce(min=0) = 1 "Coulomb friction force, Fc"
    annotation (Dialog(group="Friction"));
  parameter SI.TranslationalDampingConstant viscousFriction(min=0) = 0.4 "Viscous friction coefficient, d"
    annotation (Dialog(group="Friction"));
  parameter SI.Velocity speedWidth(min=Modelica.Constants.eps) = 0.001 "Width of the smooth sign tanh(v_rel/speedWidth)"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
equation
  f = Functions.smoothCoulomb(v_rel, coulombForce, speedWidth) + viscousFriction*v_rel;
  storedEnergy = 0;
  lossPower = f*v_rel;
  annotation (
    defaultComponentName="friction",
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-64,-51.2},{-12.8,-35.2},{-4,-27.2},{4,27.2},{12.8,35.2},{64,51.2}}, color={0,0,127},
          thickness=0.4)}),
    Documentation(info="<html>
<p>
<code>f = coulombForce*tanh(v_rel/speedWidth) + viscousFriction*v_rel</code>, without events and differentiable any
number of times. The normal force is constant, and the friction depends on the present speed alone.
</p>
<p>
The slide does not stick: under a constant load below <code>coulombForce</code> it creeps with a speed of the order of
<code>speedWidth</code>. Where sticking matters take <a
href=\"modelica://Mechanisms.Friction.Translational.LuGre\">LuGre</a> or <a
href=\"modelica://Mechanisms.Friction.Translational.CoulombViscousWithEvents\">CoulombViscousWithEvents</a>.
</p>
<h4>References</h4>
<p>
B. Armstrong-H&eacute;louvry, P. Dupont, C. Canudas de Wit: <em>A survey of models, analysis tools and compensation
methods for the control of machines with friction</em>, Automatica 30 (1994), 1083-1138.
</p>
</html>"));
end CoulombViscous;
