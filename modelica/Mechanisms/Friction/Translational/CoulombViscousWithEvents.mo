within Mechanisms.Friction.Translational;
model CoulombViscousWithEvents "Coulomb and viscous friction force with true sticking, by state events"
  extends Interfaces.PartialTranslationalFriction;
  extends Interfaces.Sticking(final speed=v_rel, final forwardLevel=coulombForce, final backwardLevel=coulombForce);
  parameter SI.Force coulombForce(min=Modelica.Constants.eps) = 1
    "Coulomb friction force, also the largest static friction, Fc"
    annotation (Dialog(group="Friction"));
  parameter SI.TranslationalDampingConstant viscousFriction(min=0) = 0.4 "Viscous friction coefficient, d"
    annotation (Dialog(group="Friction"));
equation
  acceleration = der(v_rel);
  f = friction + viscousFriction*v_rel;
  storedEnergy = 0;
  lossPower = f*v_rel;
  annotation (
    defaultComponentName="friction",
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-64,-51.2},{0,-35.2},{0,35.2},{64,51.2}}, color={0,0,127}, thickness=0.4)}),
    Documentation(info="<html>
<p>
<code>f = coulombForce*sign(v_rel) + viscousFriction*v_rel</code> while the slide slides, and the force that holds it
at rest while that is not above <code>coulombForce</code>. The normal force is constant, the same in both directions,
and the largest static friction equals the Coulomb friction.
</p>
<p>Two such elements on one rigid slide cannot both stick: their shares would be undetermined.</p>
<h4>References</h4>
<p>
M. Otter, H. Elmqvist, S. E. Mattsson: <em>Hybrid modeling in Modelica based on the synchronous data flow
principle</em>, IEEE International Symposium on Computer Aided Control System Design, 1999, 151-157.
</p>
</html>"));
end CoulombViscousWithEvents;
