within Mechanisms.FMUs;
model SliderCrankInverse "Slider-crank, inverse dynamics with smooth friction"
  extends Linkages.SliderCrank;
  Modelica.Blocks.Interfaces.RealInput q(final quantity="Angle", final unit="rad", displayUnit="deg", start=0)
    "Crank angle, zero with the crank pin farthest along the guide"
    annotation (Placement(transformation(extent={{-140,60},{-100,100}})));
  Modelica.Blocks.Interfaces.RealInput qd(final quantity="AngularVelocity", final unit="rad/s", start=0) "Crank speed"
    annotation (Placement(transformation(extent={{-140,20},{-100,60}})));
  Modelica.Blocks.Interfaces.RealInput qdd(final quantity="AngularAcceleration", final unit="rad/s2", start=0)
    "Crank acceleration"
    annotation (Placement(transformation(extent={{-140,-60},{-100,-20}})));
  Modelica.Blocks.Interfaces.RealOutput tau(final quantity="Torque", final unit="N.m") "Crank torque"
    annotation (Placement(transformation(extent={{100,-90},{120,-70}})));
  Modelica.Mechanics.Rotational.Sources.Move move "Prescribed motion"
    annotation (Placement(transformation(extent={{-86,-50},{-66,-30}})));
equation
  connect(q, move.u[1]) annotation (Line(points={{-120,80},{-94,80},{-94,-40},{-88,-40}}, color={0,0,127}));
  connect(qd, move.u[2]) annotation (Line(points={{-120,40},{-94,40},{-94,-40},{-88,-40}}, color={0,0,127}));
  connect(qdd, move.u[3]) annotation (Line(points={{-120,-40},{-88,-40}}, color={0,0,127}));
  connect(move.flange, crank)
    annotation (Line(points={{-66,-40},{-58,-40},{-58,-14},{-100,-14},{-100,0}}, color={0,0,0}));
  tau = -move.flange.tau;
  annotation (
    experiment(StopTime=1, Tolerance=1e-8, Interval=0.001),
    Documentation(info="<html>
<p>
The torque that <a href=\"modelica://Mechanisms.Linkages.SliderCrank\">SliderCrank</a> needs for a motion of the crank.
Speed and acceleration are inputs of their own and must be the derivatives of the angle. The torque and the energies are
linear in every inertial parameter; there is no state and no system of equations.
</p>
<p>
Only combinations of the twelve inertial parameters can be identified from the torque:
<code>inertia1 + length1^2*(mass2 + mass3)</code>, <code>momentX1 + length1*(mass2 + mass3)</code>,
<code>inertia2 + length2^2*mass3</code>, <code>momentX2 + length2*mass3</code>, <code>momentY1</code> and
<code>momentY2</code>.
</p>
</html>"));
end SliderCrankInverse;
