within Mechanisms.Friction;
model TranslationalLuGre "LuGre friction force: presliding, Stribeck effect and viscous friction"
  extends Interfaces.PartialTranslationalFriction;
  parameter Units.TranslationalSpringConstant sigma0(min=1e-12) = 1e5 "Bristle stiffness"
    annotation (Dialog(group="Friction"));
  parameter Units.TranslationalDampingConstant sigma1(min=0) = 316 "Bristle damping"
    annotation (Dialog(group="Friction"));
  parameter Units.TranslationalDampingConstant viscousFriction(min=0) = 0.4 "Viscous friction coefficient, sigma2"
    annotation (Dialog(group="Friction"));
  parameter Units.Force coulombForce(min=1e-12) = 1 "Coulomb friction force, Fc"
    annotation (Dialog(group="Friction"));
  parameter Units.Force staticForce(min=1e-12) = 1.5 "Static friction force, Fs"
    annotation (Dialog(group="Friction"));
  parameter Units.Velocity stribeckSpeed(min=1e-12) = 0.001 "Stribeck speed, vs"
    annotation (Dialog(group="Friction"));
  parameter Units.Velocity reversalWidth(min=1e-15) = 1e-9
    "Width of the smooth magnitude v*tanh(v/reversalWidth), far below the speed of presliding"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  Mechanisms.Interfaces.RealOutput z(final quantity="Length", final unit="m", start=0, fixed=true, nominal=1e-6)
    "Mean bristle deflection"
    annotation (Placement(transformation(extent={{100,-70},{120,-50}})));
  Units.Force level "Friction force of steady sliding without its viscous part";
  Units.Velocity dz "Rate of the bristle deflection";
equation
  level = Functions.stribeckLevel(v, coulombForce, staticForce, stribeckSpeed);
  dz = Functions.lugreDeflectionRate(v, z, sigma0, level, reversalWidth);
  der(z) = dz;
  f = sigma0*z + sigma1*dz + viscousFriction*v;
  storedEnergy = 0.5*sigma0*z^2;
  lossPower = f*v - sigma0*z*dz;
  annotation (
    defaultComponentName="friction",
    experiment(StopTime=1, Tolerance=1e-9, Interval=0.001),
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-64,-51.2},{-32,-33.6},{-16,-33.6},{-6.4,-49.6},{-1.6,-32},{1.6,32},{6.4,49.6},{16,33.6},
          {32,33.6},{64,51.2}}, color={0,0,127}, thickness=0.4),
        Rectangle(extent={{12.8,-19.2},{60.8,-27.2}}, lineColor={64,64,64}, fillColor={220,228,240},
          fillPattern=FillPattern.Solid),
        Line(points={{16,-27.2},{20,-34.4},{17.6,-41.6}}, color={200,60,40}),
        Line(points={{24,-27.2},{28,-34.4},{25.6,-41.6}}, color={200,60,40}),
        Line(points={{32,-27.2},{36,-34.4},{33.6,-41.6}}, color={200,60,40}),
        Line(points={{40,-27.2},{44,-34.4},{41.6,-41.6}}, color={200,60,40}),
        Line(points={{48,-27.2},{52,-34.4},{49.6,-41.6}}, color={200,60,40}),
        Line(points={{56,-27.2},{60,-34.4},{57.6,-41.6}}, color={200,60,40}),
        Line(points={{11.2,-41.6},{62.4,-41.6}}, color={64,64,64}),
        Line(points={{17.6,-41.6},{11.2,-48}}, color={64,64,64}),
        Line(points={{27.2,-41.6},{20.8,-48}}, color={64,64,64}),
        Line(points={{36.8,-41.6},{30.4,-48}}, color={64,64,64}),
        Line(points={{46.4,-41.6},{40,-48}}, color={64,64,64}),
        Line(points={{56,-41.6},{49.6,-48}}, color={64,64,64})}),
    Diagram(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-68,-50.4},{-34,-31.7},{-17,-31.7},{-6.8,-48.7},{-1.7,-30},{1.7,38},{6.8,56.7},{17,39.7},
          {34,39.7},{68,58.4}}, color={0,0,127}, thickness=0.425),
        Rectangle(extent={{13.6,-16.4},{64.6,-24.9}}, lineColor={64,64,64}, fillColor={220,228,240},
          fillPattern=FillPattern.Solid),
        Line(points={{17,-24.9},{21.2,-32.5},{18.7,-40.2}}, color={200,60,40}),
        Line(points={{25.5,-24.9},{29.8,-32.5},{27.2,-40.2}}, color={200,60,40}),
        Line(points={{34,-24.9},{38.2,-32.5},{35.7,-40.2}}, color={200,60,40}),
        Line(points={{42.5,-24.9},{46.8,-32.5},{44.2,-40.2}}, color={200,60,40}),
        Line(points={{51,-24.9},{55.2,-32.5},{52.7,-40.2}}, color={200,60,40}),
        Line(points={{59.5,-24.9},{63.8,-32.5},{61.2,-40.2}}, color={200,60,40}),
        Line(points={{11.9,-40.2},{66.3,-40.2}}, color={64,64,64}),
        Line(points={{18.7,-40.2},{11.9,-47}}, color={64,64,64}),
        Line(points={{28.9,-40.2},{22.1,-47}}, color={64,64,64}),
        Line(points={{39.1,-40.2},{32.3,-47}}, color={64,64,64}),
        Line(points={{49.3,-40.2},{42.5,-47}}, color={64,64,64}),
        Line(points={{59.5,-40.2},{52.7,-47}}, color={64,64,64})}),
    Documentation(info="<html>
<p>
<img src=\"modelica://Mechanisms/Resources/Images/Friction/TranslationalLuGre.svg\" alt=\"TranslationalLuGre\">
</p>
<p>
<code>f = sigma0*z + sigma1*z' + viscousFriction*v</code>, <code>z' = v - sigma0*|v|/level*z</code>, <code>level =
coulombForce + (staticForce - coulombForce)*exp(-(v/stribeckSpeed)^2)</code>.
</p>
<h4>Assumptions</h4>
<ul>
<li>The normal force is constant.</li>
<li>All asperities of the contact are described by one mean bristle deflection.</li>
</ul>
<h4>Implementation</h4>
<p>
The deflection <code>z</code> is of the order of <code>coulombForce/sigma0</code>, often micrometres. Its nominal value
1e-6 makes the solver's absolute tolerance fit; set <code>z(nominal=...)</code> for a much stiffer or softer contact,
and give position and speed of the moved body nominal values of the same order when presliding is studied. The magnitude
of the speed is <code>v*tanh(v/reversalWidth)</code>; as long as <code>reversalWidth</code> stays far below the speed of
presliding it cannot be told from the exact magnitude.
</p>
<h4>Limitations</h4>
<p>
With constant <code>sigma1</code> the lost power can become slightly negative for an instant when the motion reverses, a
known property of the law. The equations are stiff: at the sliding speed v the deflection settles with the rate
<code>sigma0*|v|/level</code>.
</p>
<h4>References</h4>
<p>
C. Canudas de Wit, H. Olsson, K. J. &Aring;str&ouml;m, P. Lischinsky: <em>A new model for control of systems with
friction</em>, IEEE Transactions on Automatic Control 40 (1995), 419-425.
</p>
</html>"));
end TranslationalLuGre;
