within Mechanisms.Sources;
model Constant "Constant signal"
  extends Modelica.Blocks.Icons.Block;
  parameter Real k = 1 "Value"
    annotation (Dialog(group="Signal"));
  Modelica.Blocks.Interfaces.RealOutput y "Signal"
    annotation (Placement(transformation(extent={{100,-10},{120,10}})));
equation
  y = k;
  annotation (
    experiment(StopTime=1, Tolerance=1e-8, Interval=0.01),
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-60,-45},{60,-45}}, color={160,160,160}),
        Line(points={{-52.5,-60},{-52.5,52.5}}, color={160,160,160}),
        Line(points={{-52.5,15},{60,15}}, color={0,0,127}, thickness=0.375)}),
    Diagram(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-80,-60},{80,-60}}, color={160,160,160}),
        Line(points={{-70,-80},{-70,70}}, color={160,160,160}),
        Line(points={{-70,20},{80,20}}, color={0,0,127}, thickness=0.5)}),
    Documentation(info="<html>
<p><code>y = k</code>: a step at the start of the simulation, when what it drives is at rest.</p>
<h4>Implementation</h4>
<p>The output carries no unit, because the block serves several quantities.</p>
<h4>Limitations</h4>
<p>The step is at time zero.</p>
<h4>References</h4>
<p>
L. Ljung: <em>System Identification: Theory for the User</em>, 2nd edition, Prentice Hall, 1999, chapter 6 (step
response).
</p>
</html>"));
end Constant;
