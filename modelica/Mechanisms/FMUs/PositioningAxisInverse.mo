within Mechanisms.FMUs;
model PositioningAxisInverse "Linear positioning axis, force from prescribed motion"
  extends DriveTrains.PositioningAxis;
  Modelica.Blocks.Interfaces.RealInput q(final quantity="Length", final unit="m", start=0) "Position"
    annotation (Placement(transformation(extent={{-140,40},{-100,80}})));
  Modelica.Blocks.Interfaces.RealInput qd(final quantity="Velocity", final unit="m/s", start=0) "Speed"
    annotation (Placement(transformation(extent={{-140,-20},{-100,20}})));
  Modelica.Blocks.Interfaces.RealInput qdd(final quantity="Acceleration", final unit="m/s2", start=0) "Acceleration"
    annotation (Placement(transformation(extent={{-140,-80},{-100,-40}})));
  Modelica.Blocks.Interfaces.RealOutput force(final quantity="Force", final unit="N") "Driving force"
    annotation (Placement(transformation(extent={{100,-10},{120,10}})));
  Modelica.Mechanics.Translational.Sources.Move move "Prescribed motion"
    annotation (Placement(transformation(extent={{-90,-50},{-70,-30}})));
equation
  connect(q, move.u[1]) annotation (Line(points={{-120,60},{-98,60},{-98,-40},{-92,-40}}, color={0,0,127}));
  connect(qd, move.u[2]) annotation (Line(points={{-120,0},{-98,0},{-98,-40},{-92,-40}}, color={0,0,127}));
  connect(qdd, move.u[3]) annotation (Line(points={{-120,-60},{-98,-60},{-98,-40},{-92,-40}}, color={0,0,127}));
  connect(move.flange, flange_a)
    annotation (Line(points={{-70,-40},{-60,-40},{-60,-14},{-100,-14},{-100,0}}, color={0,127,0}));
  force = -move.flange.f;
  annotation (
    experiment(StopTime=5, Tolerance=1e-8, Interval=0.001),
    Documentation(info="<html>
<p>
The force that <a href=\"modelica://Mechanisms.DriveTrains.PositioningAxis\">PositioningAxis</a> needs for a motion.
Speed and acceleration are inputs of their own and must be the derivatives of the position.
</p>
</html>"));
end PositioningAxisInverse;
