within Mechanisms.DriveTrains;
model Slide "Mass on a guide with LuGre friction"
  extends Icons.Slide;
  parameter SI.Mass m(min=Modelica.Constants.eps) = 1 "Sliding mass"
    annotation (Dialog(group="Mass and load"));
  parameter SI.TranslationalSpringConstant sigma0(min=Modelica.Constants.eps) = 1e5 "Bristle stiffness"
    annotation (Dialog(group="Friction"));
  parameter SI.TranslationalDampingConstant sigma1(min=0) = 316 "Bristle damping"
    annotation (Dialog(group="Friction"));
  parameter SI.TranslationalDampingConstant viscousFriction(min=0) = 0.4 "Viscous friction coefficient, sigma2"
    annotation (Dialog(group="Friction"));
  parameter SI.Force coulombForce(min=Modelica.Constants.eps) = 1 "Coulomb friction force, Fc"
    annotation (Dialog(group="Friction"));
  parameter SI.Force staticForce(min=Modelica.Constants.eps) = 1.5 "Static friction force, Fs"
    annotation (Dialog(group="Friction"));
  parameter SI.Velocity stribeckSpeed(min=Modelica.Constants.eps) = 0.001 "Stribeck speed, vs"
    annotation (Dialog(group="Friction"));
  parameter SI.Velocity reversalWidth(min=Modelica.Constants.eps) = 1e-9
    "Width of the smooth magnitude of the speed in the friction law, far below the speed of presliding"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  Modelica.Mechanics.Translational.Interfaces.Flange_a flange_a "Drive of the slide"
    annotation (Placement(transformation(extent={{-110,-10},{-90,10}})));
  Modelica.Blocks.Interfaces.RealOutput x(final quantity="Length", final unit="m", start=0, fixed=true, nominal=1e-5)
    "Position"
    annotation (Placement(transformation(extent={{100,70},{120,90}})));
  Modelica.Blocks.Interfaces.RealOutput v(
    final quantity="Velocity",
    final unit="m/s",
    start=0,
    fixed=true,
    nominal=1e-4) "Velocity"
    annotation (Placement(transformation(extent={{100,30},{120,50}})));
  Modelica.Blocks.Interfaces.RealOutput a(final quantity="Acceleration", final unit="m/s2") "Acceleration"
    annotation (Placement(transformation(extent={{100,-10},{120,10}})));
  Modelica.Blocks.Interfaces.RealOutput frictionForce(final quantity="Force", final unit="N") "Friction force"
    annotation (Placement(transformation(extent={{100,-50},{120,-30}})));
  Modelica.Blocks.Interfaces.RealOutput bristleDeflection(final quantity="Length", final unit="m")
    "Mean bristle deflection"
    annotation (Placement(transformation(extent={{100,-90},{120,-70}})));
  Modelica.Blocks.Interfaces.RealOutput kineticEnergy(final quantity="Energy", final unit="J") "Kinetic energy"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-75,-110})));
  Modelica.Blocks.Interfaces.RealOutput potentialEnergy(final quantity="Energy", final unit="J")
    "Elastic energy of the bristles"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-25,-110})));
  Modelica.Blocks.Interfaces.RealOutput inputPower(final quantity="Power", final unit="W") "Power of the driving force"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={25,-110})));
  Modelica.Blocks.Interfaces.RealOutput dissipatedPower(final quantity="Power", final unit="W") "Dissipated power"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={75,-110})));
  Modelica.Mechanics.Translational.Components.Mass mass(
    m=m,
    final L=0,
    stateSelect=StateSelect.prefer,
    s(nominal=1e-5),
    v(nominal=1e-4)) "Sliding mass"
    annotation (Placement(transformation(extent={{-50,-10},{-30,10}})));
  Friction.Translational.LuGre friction(
    sigma0=sigma0,
    sigma1=sigma1,
    viscousFriction=viscousFriction,
    coulombForce=coulombForce,
    staticForce=staticForce,
    stribeckSpeed=stribeckSpeed,
    reversalWidth=reversalWidth) "Friction in the guide"
    annotation (Placement(transformation(extent={{10,-10},{30,10}})));
equation
  connect(flange_a, mass.flange_a) annotation (Line(points={{-100,0},{-50,0}}, color={0,127,0}));
  connect(mass.flange_b, friction.flange_a) annotation (Line(points={{-30,0},{10,0}}, color={0,127,0}));
  x = mass.s;
  v = mass.v;
  a = mass.a;
  frictionForce = friction.f;
  bristleDeflection = friction.z;
  kineticEnergy = 0.5*m*mass.v^2;
  potentialEnergy = friction.storedEnergy;
  inputPower = mass.flange_a.f*mass.v;
  dissipatedPower = friction.lossPower;
  annotation (Documentation(info="<html>
<p>
<code>m*x'' = u - friction</code> with the force <code>u</code> at the flange and the friction of
<a href=\"modelica://Mechanisms.Friction.Translational.LuGre\">TranslationalLuGre</a>. The nominal values of position
and speed are those of presliding.
</p>
</html>"));
end Slide;
