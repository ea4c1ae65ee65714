within Mechanisms.Examples;
model PositioningAxisMove "Positioning axis to and fro; the inverse model returns the force of the controlled one"
  extends Modelica.Icons.Example;
  Sources.SumOfSines reference(
    offset=0.13,
    amplitude={-0.12, -0.01, 0},
    omega={2, 11, 1},
    phase={1.5707963267948966, 1.5707963267948966, 0}) "Reference position, to and fro"
    annotation (Placement(transformation(extent={{-80,-10},{-60,10}})));
  FMUs.PositioningAxisClosedLoop axis "Axis under control"
    annotation (Placement(transformation(extent={{-30,20},{10,60}})));
  FMUs.PositioningAxisInverse inverse "Inverse model, fed with the motion of the axis"
    annotation (Placement(transformation(extent={{40,24},{80,64}})));
  FMUs.PositioningAxisDelayedLoop sampled "Axis under a sampled controller"
    annotation (Placement(transformation(extent={{-30,-60},{10,-20}})));
  output SI.Force difference "Force of the inverse model less that of the axis";
equation
  connect(reference.y, axis.q_ref) annotation (Line(points={{-59,0},{-46,0},{-46,52},{-34,52}}, color={0,0,127}));
  connect(reference.y, sampled.q_ref)
    annotation (Line(points={{-59,0},{-46,0},{-46,-28},{-34,-28}}, color={0,0,127}));
  connect(axis.q, inverse.q) annotation (Line(points={{12,56},{36,56}}, color={0,0,127}));
  connect(axis.qd, inverse.qd) annotation (Line(points={{12,48},{26,48},{26,44},{36,44}}, color={0,0,127}));
  connect(axis.qdd, inverse.qdd) annotation (Line(points={{12,40},{26,40},{26,32},{36,32}}, color={0,0,127}));
  difference = inverse.force - axis.force;
  annotation (
    experiment(StopTime=5, Tolerance=1e-10, Interval=0.001),
    Documentation(info="<html>
<p><code>difference</code> stays zero. <code>sampled</code> shows what the delays of a sampled controller change.</p>
</html>"));
end PositioningAxisMove;
