within Mechanisms.Friction.Rotational;
model LuGre "LuGre friction torque: presliding, Stribeck effect and viscous friction"
  extends Interfaces.PartialRotationalFriction;
  parameter SI.RotationalSpringConstant sigma0(min=Modelica.Constants.eps) = 100 "Bristle stiffness"
    annotation (Dialog(group="Friction"));
  parameter SI.RotationalDampingConstant sigma1(min=0) = 0.3 "Bristle damping"
    annotation (Dialog(group="Friction"));
  parameter SI.RotationalDampingConstant viscousFriction(min=0) = 0.001 "Viscous friction coefficient, sigma2"
    annotation (Dialog(group="Friction"));
  parameter SI.Torque coulombTorque(min=Modelica.Constants.eps) = 0.1 "Coulomb friction torque, Tc"
    annotation (Dialog(group="Friction"));
  parameter SI.Torque staticTorque(min=Modelica.Constants.eps) = 0.15 "Static friction torque, Ts"
    annotation (Dialog(group="Friction"));
  parameter SI.AngularVelocity stribeckSpeed(min=Modelica.Constants.eps) = 0.1 "Stribeck speed, ws"
    annotation (Dialog(group="Friction"));
  parameter SI.AngularVelocity reversalWidth(min=Modelica.Constants.eps) = 1e-6
    "Width of the smooth magnitude w_rel*tanh(w_rel/reversalWidth), far below the speed of presliding"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  Modelica.Blocks.Interfaces.RealOutput z(
    final quantity="Angle",
    final unit="rad",
    displayUnit="deg",
    start=0,
    fixed=true,
    nominal=1e-5,
    stateSelect=StateSelect.always) "Mean bristle deflection"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=90, origin={60,110})));
  SI.Torque level "Friction torque of steady sliding without its viscous part";
  SI.AngularVelocity dz "Rate of the bristle deflection";
equation
  level = Functions.stribeckLevel(w_rel, coulombTorque, staticTorque, stribeckSpeed);
  dz = Functions.lugreDeflectionRate(w_rel, z, sigma0, level, reversalWidth);
  der(z) = dz;
  tau = sigma0*z + sigma1*dz + viscousFriction*w_rel;
  storedEnergy = 0.5*sigma0*z^2;
  lossPower = tau*w_rel - sigma0*z*dz;
  annotation (
    defaultComponentName="friction",
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-64,-51.2},{-32,-33.6},{-16,-33.6},{-6.4,-49.6},{-1.6,-32},{1.6,32},{6.4,49.6},{16,33.6},
          {32,33.6},{64,51.2}}, color={0,0,127}, thickness=0.4),
        Rectangle(extent={{12.8,-19.2},{60.8,-27.2}}, lineColor={64,64,64}, fillColor={220,228,240},
          fillPattern=FillPattern.Solid),
        Line(points={{20,-27.2},{24,-34.4},{21.6,-41.6}}, color={200,60,40}),
        Line(points={{36,-27.2},{40,-34.4},{37.6,-41.6}}, color={200,60,40}),
        Line(points={{52,-27.2},{56,-34.4},{53.6,-41.6}}, color={200,60,40}),
        Line(points={{11.2,-41.6},{62.4,-41.6}}, color={64,64,64})}),
    Documentation(info="<html>
<p>
<code>tau = sigma0*z + sigma1*z' + viscousFriction*w_rel</code>, <code>z' = w_rel - sigma0*|w_rel|/level*z</code>,
<code>level = coulombTorque + (staticTorque - coulombTorque)*exp(-(w_rel/stribeckSpeed)^2)</code>. The normal force is
constant; one mean bristle deflection describes all asperities of the contact.
</p>
<p>
The deflection is of the order of <code>coulombTorque/sigma0</code>, often microradians. Its nominal value 1e-5 makes
the solver's absolute tolerance fit: set <code>z(nominal=...)</code> for a much stiffer or softer contact, and give
the moved body nominal values of the same order where presliding is studied. The magnitude of the speed is
<code>w_rel*tanh(w_rel/reversalWidth)</code>; as long as <code>reversalWidth</code> is far below the speed of
presliding, it cannot be told from the exact one.
</p>
<p>
With constant <code>sigma1</code> the lost power can become slightly negative for an instant when the motion reverses,
a known property of the law. The equations are stiff: the deflection settles with the rate
<code>sigma0*|w_rel|/level</code>.
</p>
<h4>References</h4>
<p>
C. Canudas de Wit, H. Olsson, K. J. &Aring;str&ouml;m, P. Lischinsky: <em>A new model for control of systems with
friction</em>, IEEE Transactions on Automatic Control 40 (1995), 419-425.
</p>
</html>"));
end LuGre;
