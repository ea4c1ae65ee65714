within Mechanisms.Oscillators;
model MassSpringDamper "Mass on spring and damper, driven by a force"
  extends Icons.MassSpringDamper;
  parameter Units.Mass m(min=1e-12) = 3 "Mass"
    annotation (Dialog(group="Oscillator"));
  parameter Units.TranslationalDampingConstant d(min=0) = 0.05 "Damping constant"
    annotation (Dialog(group="Oscillator"));
  parameter Units.TranslationalSpringConstant k(min=0) = 400 "Spring constant"
    annotation (Dialog(group="Oscillator"));
  parameter Units.Position x_start = 0 "Position at the start"
    annotation (Dialog(tab="Initialization", group="Start values"));
  parameter Units.Velocity v_start = 0 "Velocity at the start"
    annotation (Dialog(tab="Initialization", group="Start values"));
  Mechanisms.Interfaces.RealInput F(final quantity="Force", final unit="N", start=0) "Driving force"
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
  Mechanisms.Interfaces.RealOutput kineticEnergy(final quantity="Energy", final unit="J") "Kinetic energy"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-75,-110})));
  Mechanisms.Interfaces.RealOutput potentialEnergy(final quantity="Energy", final unit="J") "Energy of the spring"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-25,-110})));
  Mechanisms.Interfaces.RealOutput inputPower(final quantity="Power", final unit="W") "Power of the driving force"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={25,-110})));
  Mechanisms.Interfaces.RealOutput dissipatedPower(final quantity="Power", final unit="W") "Power lost in the damper"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={75,-110})));
equation
  der(x) = v;
  der(v) = a;
  m*a + d*v + k*x = F;
  kineticEnergy = 0.5*m*v^2;
  potentialEnergy = 0.5*k*x^2;
  inputPower = F*v;
  dissipatedPower = d*v^2;
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
        Text(extent={{56.3,32.6},{83.6,16.8}}, textColor={0,0,127}, textString="F"),
        Text(extent={{-52.8,60.8},{-8.8,46.7}}, textColor={64,64,64}, textString="k"),
        Text(extent={{-52.8,-21.9},{-8.8,-36}}, textColor={64,64,64}, textString="d"),
        Text(extent={{17.6,25.6},{44,-0.8}}, textColor={64,64,64}, textString="m"),
        Text(extent={{54.6,-39.5},{70.4,-53.6}}, textColor={64,64,64}, textString="x")}),
    Documentation(info="<html>
<p>
<img src=\"modelica://Mechanisms/Resources/Images/Oscillators/MassSpringDamper.svg\" alt=\"MassSpringDamper\">
</p>
<p>
<code>m*x'' + d*x' + k*x = F</code>. The default values are those of a study on algebraic and Kalman identification
(mass 3 kg, damping 0.05 N.s/m, stiffness 400 N/m, natural frequency 11.55 rad/s, damping ratio 7.2e-4).
</p>
<h4>Assumptions</h4>
<ul>
<li>The mass moves along one line without friction.</li>
<li>Spring and damper are linear and massless.</li>
</ul>
<h4>Implementation</h4>
<p>
Position and velocity have nominal values of a millimetre and a centimetre per second, the size of the motion in a step
response study with 1 mm of final deflection; a larger motion is then integrated more tightly than asked for.
</p>
<h4>Limitations</h4>
<p>
From a motion and its force all three constants can be told apart; from a free oscillation only the ratios
<code>d/m</code> and <code>k/m</code>, see
<a href=\"modelica://Mechanisms.Oscillators.MassSpringDamperNormalForm\">MassSpringDamperNormalForm</a>.
</p>
<h4>References</h4>
<p>
Any textbook on vibrations, such as S. S. Rao: <em>Mechanical Vibrations</em>, chapter 3.
</p>
</html>"));
end MassSpringDamper;
