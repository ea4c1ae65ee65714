within Mechanisms.DriveTrains;
model SlideWithLuGreFriction "Mass on a guide with LuGre friction, driven by a force"
  extends Icons.Slide;
  parameter Units.Mass m(min=1e-12) = 1 "Sliding mass"
    annotation (Dialog(group="Mass and load"));
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
    "Width of the smooth magnitude of the speed in the friction law, far below the speed of presliding"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  Mechanisms.Interfaces.RealInput u(final quantity="Force", final unit="N", start=0) "Driving force"
    annotation (Placement(transformation(extent={{-140,-20},{-100,20}})));
  Mechanisms.Interfaces.RealOutput x(final quantity="Length", final unit="m", start=0, fixed=true, nominal=1e-5)
    "Position"
    annotation (Placement(transformation(extent={{100,70},{120,90}})));
  Mechanisms.Interfaces.RealOutput v(
    final quantity="Velocity",
    final unit="m/s",
    start=0, fixed=true, nominal=1e-4) "Velocity"
    annotation (Placement(transformation(extent={{100,30},{120,50}})));
  Mechanisms.Interfaces.RealOutput a(final quantity="Acceleration", final unit="m/s2") "Acceleration"
    annotation (Placement(transformation(extent={{100,-10},{120,10}})));
  Mechanisms.Interfaces.RealOutput frictionForce(final quantity="Force", final unit="N") "Friction force"
    annotation (Placement(transformation(extent={{100,-50},{120,-30}})));
  Mechanisms.Interfaces.RealOutput bristleDeflection(final quantity="Length", final unit="m")
    "Mean bristle deflection"
    annotation (Placement(transformation(extent={{100,-90},{120,-70}})));
  Mechanisms.Interfaces.RealOutput kineticEnergy(final quantity="Energy", final unit="J") "Kinetic energy"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-75,-110})));
  Mechanisms.Interfaces.RealOutput potentialEnergy(final quantity="Energy", final unit="J")
    "Elastic energy of the bristles"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-25,-110})));
  Mechanisms.Interfaces.RealOutput inputPower(final quantity="Power", final unit="W") "Power of the driving force"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={25,-110})));
  Mechanisms.Interfaces.RealOutput dissipatedPower(final quantity="Power", final unit="W") "Dissipated power"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={75,-110})));
  Friction.TranslationalLuGre friction(
    sigma0=sigma0,
    sigma1=sigma1,
    viscousFriction=viscousFriction,
    coulombForce=coulombForce,
    staticForce=staticForce,
    stribeckSpeed=stribeckSpeed,
    reversalWidth=reversalWidth) "Friction in the guide"
    annotation (Placement(transformation(extent={{60,-84},{80,-64}})));
equation
  friction.v = v;
  der(x) = v;
  der(v) = a;
  m*a = u - frictionForce;
  frictionForce = friction.f;
  bristleDeflection = friction.z;
  kineticEnergy = 0.5*m*v^2;
  potentialEnergy = friction.storedEnergy;
  inputPower = u*v;
  dissipatedPower = friction.lossPower;
  annotation (
    experiment(StopTime=5, Tolerance=1e-9, Interval=0.001),
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Text(extent={{90,84},{98,76}}, textColor={128,128,128}, textString="x"),
        Text(extent={{90,44},{98,36}}, textColor={128,128,128}, textString="v"),
        Text(extent={{90,4},{98,-4}}, textColor={128,128,128}, textString="a"),
        Text(extent={{41.6,-36},{98,-44}}, textColor={128,128,128}, textString="frictionForce"),
        Text(extent={{24.2,-76},{98,-84}}, textColor={128,128,128}, textString="bristleDeflection")}),
    Diagram(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-79.2,-36},{79.2,-36}}, color={64,64,64}),
        Line(points={{-72.2,-36},{-79.2,-43}}, color={64,64,64}),
        Line(points={{-61.6,-36},{-68.6,-43}}, color={64,64,64}),
        Line(points={{-51,-36},{-58.1,-43}}, color={64,64,64}),
        Line(points={{-40.5,-36},{-47.5,-43}}, color={64,64,64}),
        Line(points={{-29.9,-36},{-37,-43}}, color={64,64,64}),
        Line(points={{-19.4,-36},{-26.4,-43}}, color={64,64,64}),
        Line(points={{-8.8,-36},{-15.8,-43}}, color={64,64,64}),
        Line(points={{1.8,-36},{-5.3,-43}}, color={64,64,64}),
        Line(points={{12.3,-36},{5.3,-43}}, color={64,64,64}),
        Line(points={{22.9,-36},{15.8,-43}}, color={64,64,64}),
        Line(points={{33.4,-36},{26.4,-43}}, color={64,64,64}),
        Line(points={{44,-36},{37,-43}}, color={64,64,64}),
        Line(points={{54.6,-36},{47.5,-43}}, color={64,64,64}),
        Line(points={{65.1,-36},{58.1,-43}}, color={64,64,64}),
        Line(points={{75.7,-36},{68.6,-43}}, color={64,64,64}),
        Line(points={{-33.4,-36},{-29.9,-31.6},{-31.7,-27.2}}, color={200,60,40}),
        Line(points={{-24.6,-36},{-21.1,-31.6},{-22.9,-27.2}}, color={200,60,40}),
        Line(points={{-15.8,-36},{-12.3,-31.6},{-14.1,-27.2}}, color={200,60,40}),
        Line(points={{-7,-36},{-3.5,-31.6},{-5.3,-27.2}}, color={200,60,40}),
        Line(points={{1.8,-36},{5.3,-31.6},{3.5,-27.2}}, color={200,60,40}),
        Line(points={{10.6,-36},{14.1,-31.6},{12.3,-27.2}}, color={200,60,40}),
        Line(points={{19.4,-36},{22.9,-31.6},{21.1,-27.2}}, color={200,60,40}),
        Line(points={{28.2,-36},{31.7,-31.6},{29.9,-27.2}}, color={200,60,40}),
        Rectangle(extent={{-39.6,30},{35.2,-27.2}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Line(points={{35.2,1},{79.2,1}}, color={0,0,127}, thickness=0.44, arrow={Arrow.None,Arrow.Filled}),
        Line(points={{-26.4,43.2},{22,43.2}}, color={64,64,64}, arrow={Arrow.None,Arrow.Filled}),
        Text(extent={{52.8,20.3},{73.9,4.5}}, textColor={0,0,127}, textString="u"),
        Text(extent={{-13.2,18.6},{8.8,-4.3}}, textColor={64,64,64}, textString="m"),
        Text(extent={{24.6,52},{40.5,36.2}}, textColor={64,64,64}, textString="x")}),
    Documentation(info="<html>
<p>
<img src=\"modelica://Mechanisms/Resources/Images/DriveTrains/SlideWithLuGreFriction.svg\"
alt=\"SlideWithLuGreFriction\">
</p>
<p>
<code>m*x'' = u - F</code> with the friction force <code>F</code> of
<a href=\"modelica://Mechanisms.Friction.TranslationalLuGre\">TranslationalLuGre</a>. The published study drives it with
<code>u = 1.1*sin(5*t)</code>: that stays below the static friction of 1.5 N, so the mass moves about 10 micrometres and
hardly feels <code>coulombForce</code> and <code>stribeckSpeed</code>.
</p>
<h4>Assumptions</h4>
<ul>
<li>The slide is rigid and moves along one line.</li>
<li>The guide is fixed and the normal force constant.</li>
</ul>
<h4>Implementation</h4>
<p>
Position, speed and bristle deflection have small nominal values (1e-5 m, 1e-4 m/s, 1e-6 m), so that the solver resolves
the presliding; with nominal values of one the friction force of a break-away run is wrong by a tenth of its range at a
tolerance of 1e-8. The magnitude of the speed in the friction law is smooth below <code>reversalWidth</code>.
</p>
<h4>Limitations</h4>
<p>
At a sliding speed of 1 m/s the deflection settles with the rate <code>sigma0*|v|/coulombForce = 1e5 1/s</code>: use a
stiff solver.
</p>
<h4>References</h4>
<p>
Y. Zeng: <em>Parameter Identification for Dynamic Damping System Based on Genetic Algorithm</em>, AMSE Journals, Series
Advances C 72 (2017), 101-113.
</p>
</html>"));
end SlideWithLuGreFriction;
