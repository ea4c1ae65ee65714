within Mechanisms.FMUs;
model MassSpringDamperNormalForm "Oscillator in normal form, with damping ratio and natural frequency"
  extends Icons.MassSpringDamper;
  parameter SI.DimensionlessRatio zeta(min=0) = 7.216878364870322e-4 "Damping ratio"
    annotation (Dialog(group="Oscillator"));
  parameter SI.AngularVelocity omega0(min=Modelica.Constants.eps) = 11.547005383792516 "Undamped natural frequency"
    annotation (Dialog(group="Oscillator"));
  parameter SI.Position x_start = 0 "Position at the start"
    annotation (Dialog(tab="Initialization", group="Start values"));
  parameter SI.Velocity v_start = 0 "Velocity at the start"
    annotation (Dialog(tab="Initialization", group="Start values"));
  Modelica.Blocks.Interfaces.RealInput u(final quantity="Acceleration", final unit="m/s2", start=0)
    "Driving force over mass"
    annotation (Placement(transformation(extent={{-140,-20},{-100,20}})));
  Modelica.Blocks.Interfaces.RealOutput x(
    final quantity="Length",
    final unit="m",
    start=x_start, fixed=true, nominal=0.001) "Position"
    annotation (Placement(transformation(extent={{100,50},{120,70}})));
  Modelica.Blocks.Interfaces.RealOutput v(
    final quantity="Velocity",
    final unit="m/s",
    start=v_start, fixed=true, nominal=0.01) "Velocity"
    annotation (Placement(transformation(extent={{100,-10},{120,10}})));
  Modelica.Blocks.Interfaces.RealOutput a(final quantity="Acceleration", final unit="m/s2") "Acceleration"
    annotation (Placement(transformation(extent={{100,-70},{120,-50}})));
  Modelica.Blocks.Interfaces.RealOutput kineticEnergy(final quantity="SpecificEnergy", final unit="J/kg")
    "Kinetic energy over mass"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-75,-110})));
  Modelica.Blocks.Interfaces.RealOutput potentialEnergy(final quantity="SpecificEnergy", final unit="J/kg")
    "Energy of the spring over mass"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-25,-110})));
  Modelica.Blocks.Interfaces.RealOutput inputPower(final unit="W/kg")
    "Power of the driving force over mass"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={25,-110})));
  Modelica.Blocks.Interfaces.RealOutput dissipatedPower(final unit="W/kg")
    "Power lost in the damper over mass"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={75,-110})));
equation
  der(x) = v;
  der(v) = a;
  a + 2*zeta*omega0*v + omega0^2*x = u;
  kineticEnergy = 0.5*v^2;
  potentialEnergy = 0.5*omega0^2*x^2;
  inputPower = u*v;
  dissipatedPower = 2*zeta*omega0*v^2;
  annotation (
    experiment(StopTime=5, Tolerance=1e-8, Interval=0.001),
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Text(extent={{91.8,65.8},{98,54.2}}, textColor={128,128,128}, textString="x"),
        Text(extent={{91.8,5.8},{98,-5.8}}, textColor={128,128,128}, textString="v"),
        Text(extent={{91.8,-54.2},{98,-65.8}}, textColor={128,128,128}, textString="a")}),
    Documentation(info="<html>
<p>
<code>x'' + 2*zeta*omega0*x' + omega0^2*x = u</code>, with <code>u</code> the force over the mass. The default values
are those of <a href=\"modelica://Mechanisms.Oscillators.SprungMass\">MassSpringDamper</a>:
<code>omega0 = sqrt(k/m)</code>, <code>zeta = d/(2*sqrt(k*m))</code>.
</p>
<h4>Assumptions</h4>
<ul>
<li>As for <a href=\"modelica://Mechanisms.Oscillators.SprungMass\">MassSpringDamper</a>, divided by the
    mass.</li>
</ul>
<h4>Implementation</h4>
<p>
Energies and powers are those of a mass of one kilogram: they carry units per mass, and the balance
<code>inputPower = der(kineticEnergy + potentialEnergy) + dissipatedPower</code> holds.
</p>
<h4>Limitations</h4>
<p>
Small damping ratios are hard to see in short measurements: the decay over one period is <code>exp(-2*pi*zeta)</code>.
</p>
<h4>References</h4>
<p>
Any textbook on vibrations, such as S. S. Rao: <em>Mechanical Vibrations</em>, chapter 3.
</p>
</html>"));
end MassSpringDamperNormalForm;
