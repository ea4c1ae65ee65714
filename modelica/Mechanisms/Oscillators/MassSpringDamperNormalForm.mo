within Mechanisms.Oscillators;
model MassSpringDamperNormalForm "Oscillator in normal form, with damping ratio and natural frequency"
  extends Icons.MassSpringDamper;
  parameter Units.DimensionlessRatio zeta(min=0) = 7.216878364870322e-4 "Damping ratio"
    annotation (Dialog(group="Oscillator"));
  parameter Units.AngularVelocity omega0(min=1e-12) = 11.547005383792516 "Undamped natural frequency"
    annotation (Dialog(group="Oscillator"));
  parameter Units.Position x_start = 0 "Position at the start"
    annotation (Dialog(tab="Initialization", group="Start values"));
  parameter Units.Velocity v_start = 0 "Velocity at the start"
    annotation (Dialog(tab="Initialization", group="Start values"));
  Mechanisms.Interfaces.RealInput u(final quantity="Acceleration", final unit="m/s2", start=0)
    "Driving force over mass"
    annotation (Placement(transformation(extent={{-140,-20},{-100,20}})));
  Mechanisms.Interfaces.RealOutput x(
    final quantity="Length",
    final unit="m",
    start=x_start, fixed=true, nominal=0.001) "Position"
    annotation (Placement(transformation(extent={{100,50},{120,70}})));
  Mechanisms.Interfaces.RealOutput v(
    final quantity="Velocity",
    final unit="m/s",
    start=v_start, fixed=true, nominal=0.01) "Velocity"
    annotation (Placement(transformation(extent={{100,-10},{120,10}})));
  Mechanisms.Interfaces.RealOutput a(final quantity="Acceleration", final unit="m/s2") "Acceleration"
    annotation (Placement(transformation(extent={{100,-70},{120,-50}})));
  Mechanisms.Interfaces.RealOutput kineticEnergy(final quantity="SpecificEnergy", final unit="J/kg")
    "Kinetic energy over mass"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-75,-110})));
  Mechanisms.Interfaces.RealOutput potentialEnergy(final quantity="SpecificEnergy", final unit="J/kg")
    "Energy of the spring over mass"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-25,-110})));
  Mechanisms.Interfaces.RealOutput inputPower(final quantity="SpecificPower", final unit="W/kg")
    "Power of the driving force over mass"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={25,-110})));
  Mechanisms.Interfaces.RealOutput dissipatedPower(final quantity="SpecificPower", final unit="W/kg")
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
    Diagram(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-70.4,-36},{-70.4,60.8}}, color={64,64,64}),
        Line(points={{-70.4,-29},{-77.4,-36}}, color={64,64,64}),
        Line(points={{-70.4,-18.4},{-77.4,-25.4}}, color={64,64,64}),
        Line(points={{-70.4,-7.8},{-77.4,-14.9}}, color={64,64,64}),
        Line(points={{-70.4,2.7},{-77.4,-4.3}}, color={64,64,64}),
        Line(points={{-70.4,13.3},{-77.4,6.2}}, color={64,64,64}),
        Line(points={{-70.4,23.8},{-77.4,16.8}}, color={64,64,64}),
        Line(points={{-70.4,34.4},{-77.4,27.4}}, color={64,64,64}),
        Line(points={{-70.4,45},{-77.4,37.9}}, color={64,64,64}),
        Line(points={{-70.4,55.5},{-77.4,48.5}}, color={64,64,64}),
        Line(points={{-70.4,34.4},{-60.9,34.4},{-57.1,43.2},{-49.6,25.6},{-42.1,43.2},{-34.6,25.6},{-27,43.2},
          {-19.5,25.6},{-12,43.2},{-4.5,25.6},{-0.7,34.4},{8.8,34.4}}, color={64,64,64}),
        Line(points={{-70.4,-9.6},{-39.6,-9.6}}, color={64,64,64}),
        Rectangle(extent={{-39.6,1},{-18.5,-20.2}}, lineColor={64,64,64}, fillColor={230,230,230},
          fillPattern=FillPattern.Solid),
        Line(points={{-29,-0.8},{-29,-18.4}}, color={64,64,64}, thickness=0.44),
        Line(points={{-29,-9.6},{8.8,-9.6}}, color={64,64,64}),
        Rectangle(extent={{8.8,56.4},{52.8,-31.6}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Line(points={{52.8,12.4},{83.6,12.4}}, color={0,0,127}, thickness=0.44, arrow={Arrow.None,Arrow.Filled}),
        Line(points={{8.8,-46.6},{52.8,-46.6}}, color={64,64,64}, arrow={Arrow.None,Arrow.Filled}),
        Text(extent={{56.3,32.6},{83.6,16.8}}, textColor={0,0,127}, textString="u"),
        Text(extent={{-66,60.8},{4.4,46.7}}, textColor={64,64,64}, textString="omega0^2"),
        Text(extent={{-62,-21.9},{0.4,-36}}, textColor={64,64,64}, textString="2*zeta*omega0"),
        Text(extent={{17.6,25.6},{44,-0.8}}, textColor={64,64,64}, textString="1"),
        Text(extent={{54.6,-39.5},{70.4,-53.6}}, textColor={64,64,64}, textString="x")}),
    Documentation(info="<html>
<p>
<img src=\"modelica://Mechanisms/Resources/Images/Oscillators/MassSpringDamperNormalForm.svg\"
alt=\"MassSpringDamperNormalForm\">
</p>
<p>
<code>x'' + 2*zeta*omega0*x' + omega0^2*x = u</code>, with <code>u</code> the force over the mass. The default values
are those of <a href=\"modelica://Mechanisms.Oscillators.MassSpringDamper\">MassSpringDamper</a>:
<code>omega0 = sqrt(k/m)</code>, <code>zeta = d/(2*sqrt(k*m))</code>.
</p>
<h4>Assumptions</h4>
<ul>
<li>As for <a href=\"modelica://Mechanisms.Oscillators.MassSpringDamper\">MassSpringDamper</a>, divided by the
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
