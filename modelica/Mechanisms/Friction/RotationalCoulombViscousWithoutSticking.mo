within Mechanisms.Friction;
model RotationalCoulombViscousWithoutSticking
  "Coulomb and viscous friction torque with events at reversal, for prescribed motion"
  extends Interfaces.PartialRotationalFriction;
  parameter SI.Torque coulombTorque(min=0) = 0.1 "Coulomb friction torque, Tc"
    annotation (Dialog(group="Friction"));
  parameter SI.RotationalDampingConstant viscousFriction(min=0) = 0.001 "Viscous friction coefficient, d"
    annotation (Dialog(group="Friction"));
  parameter SI.AngularVelocity standstillSpeed(min=Modelica.Constants.eps) = 1e-6
    "Below this speed the shaft counts as standing and transmits no Coulomb torque"
    annotation (Dialog(group="Friction"));
equation
  tau = (if w > standstillSpeed then coulombTorque elseif w < -standstillSpeed then -coulombTorque else 0)
    + viscousFriction*w;
  storedEnergy = 0;
  lossPower = tau*w;
  annotation (
    defaultComponentName="friction",
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-64,-51.2},{0,-35.2},{0,35.2},{64,51.2}}, color={0,0,127}, thickness=0.4)}),
    Documentation(info="<html>
<p>
<code>tau = coulombTorque*sign(w) + viscousFriction*w</code>, with the sign zero below <code>standstillSpeed</code>.
For inverse models: the friction of a shaft at rest under a prescribed motion has no unique value, and a law that sticks
demands zero acceleration there. Where the speed depends on the friction take <a
href=\"modelica://Mechanisms.Friction.Rotational.CoulombViscousWithEvents\">RotationalCoulombViscousWithEvents</a>.
</p>
</html>"));
end RotationalCoulombViscousWithoutSticking;
