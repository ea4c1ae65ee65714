within Mechanisms.Friction.Rotational;
model CoulombViscous "Coulomb and viscous friction torque with a smooth sign"
  extends Interfaces.PartialRotationalFriction;
  parameter SI.Torque coulombTorque(min=0) = 0.1 "Coulomb friction torque, Tc"
    annotation (Dialog(group="Friction"));
  parameter SI.RotationalDampingConstant viscousFriction(min=0) = 0.001 "Viscous friction coefficient, d"
    annotation (Dialog(group="Friction"));
  parameter SI.AngularVelocity speedWidth(min=Modelica.Constants.eps) = 0.01
    "Width of the smooth sign tanh(w_rel/speedWidth)"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
equation
  tau = Functions.smoothCoulomb(w_rel, coulombTorque, speedWidth) + viscousFriction*w_rel;
  storedEnergy = 0;
  lossPower = tau*w_rel;
  annotation (
    defaultComponentName="friction",
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-64,-51.2},{-12.8,-35.2},{-4,-27.2},{4,27.2},{12.8,35.2},{64,51.2}}, color={0,0,127},
          thickness=0.4)}),
    Documentation(info="<html>
<p>
<code>tau = coulombTorque*tanh(w_rel/speedWidth) + viscousFriction*w_rel</code>, without events and differentiable any
number of times. The normal force is constant, and the friction depends on the present speed alone.
</p>
<p>
The shaft does not stick: under a constant load below <code>coulombTorque</code> it creeps with a speed of the order
of <code>speedWidth</code>. Where sticking matters take <a
href=\"modelica://Mechanisms.Friction.Rotational.LuGre\">LuGre</a> or <a
href=\"modelica://Mechanisms.Friction.Rotational.CoulombViscousWithEvents\">CoulombViscousWithEvents</a>.
</p>
<h4>References</h4>
<p>
B. Armstrong-H&eacute;louvry, P. Dupont, C. Canudas de Wit: <em>A survey of models, analysis tools and compensation
methods for the control of machines with friction</em>, Automatica 30 (1994), 1083-1138.
</p>
</html>"));
end CoulombViscous;
