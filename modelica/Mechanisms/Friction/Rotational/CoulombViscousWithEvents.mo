within Mechanisms.Friction.Rotational;
model CoulombViscousWithEvents "Coulomb and viscous friction torque with true sticking, by state events"
  extends Interfaces.PartialRotationalFriction;
  extends Interfaces.Sticking(final speed=w_rel, final forwardLevel=coulombTorque, final backwardLevel=coulombTorque);
  parameter SI.Torque coulombTorque(min=Modelica.Constants.eps) = 0.1
    "Coulomb friction torque, also the largest static friction, Tc"
    annotation (Dialog(group="Friction"));
  parameter SI.RotationalDampingConstant viscousFriction(min=0) = 0.001 "Viscous friction coefficient, d"
    annotation (Dialog(group="Friction"));
equation
  acceleration = der(w_rel);
  tau = friction + viscousFriction*w_rel;
  storedEnergy = 0;
  lossPower = tau*w_rel;
  annotation (
    defaultComponentName="friction",
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-64,-51.2},{0,-35.2},{0,35.2},{64,51.2}}, color={0,0,127}, thickness=0.4)}),
    Documentation(info="<html>
<p>
<code>tau = coulombTorque*sign(w_rel) + viscousFriction*w_rel</code> while the shaft slides, and the torque that holds
it at rest while that is not above <code>coulombTorque</code>. The normal force is constant, the same in both
directions, and the largest static friction equals the Coulomb friction.
</p>
<p>Two such elements on one rigid shaft cannot both stick: their shares would be undetermined.</p>
<h4>References</h4>
<p>
M. Otter, H. Elmqvist, S. E. Mattsson: <em>Hybrid modeling in Modelica based on the synchronous data flow
principle</em>, IEEE International Symposium on Computer Aided Control System Design, 1999, 151-157.
</p>
</html>"));
end CoulombViscousWithEvents;
