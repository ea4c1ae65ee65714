within Mechanisms.Sources;
model SumOfSines "Sum of three sine functions"
  extends Modelica.Blocks.Icons.Block;
  parameter Real offset = 0 "Mean value"
    annotation (Dialog(group="Signal"));
  parameter Real amplitude[3] = {1, 0, 0} "Amplitudes"
    annotation (Dialog(group="Signal"));
  parameter SI.AngularVelocity omega[3] = {1, 1, 1} "Angular frequencies"
    annotation (Dialog(group="Signal"));
  parameter SI.Angle phase[3] = {0, 0, 0} "Phases at time zero"
    annotation (Dialog(group="Signal"));
  Modelica.Blocks.Interfaces.RealOutput y "Signal"
    annotation (Placement(transformation(extent={{100,-10},{120,10}})));
protected
  Real terms[3] "Terms of the sum";
equation
  for k in 1:3 loop
    terms[k] = amplitude[k]*sin(omega[k]*time + phase[k]);
  end for;
  y = offset + sum(terms);
  annotation (
    experiment(StopTime=1, Tolerance=1e-8, Interval=0.01),
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-60,0},{60,0}}, color={160,160,160}),
        Line(points={{-60,0},{-45,52.5},{-30,15},{-15,30},{0,0},{15,-45},{30,-7.5},{45,-37.5},{60,0}},
          color={0,0,127}, thickness=0.375, smooth=Smooth.Bezier)}),
    Documentation(info="<html>
<p>
<code>y = offset + sum(amplitude[k]*sin(omega[k]*t + phase[k]))</code>: a force or a reference of a few frequencies that
need not be multiples of each other.
</p>
<h4>Implementation</h4>
<p>The output carries no unit, because the block serves several quantities.</p>
<h4>Limitations</h4>
<p>Three terms; set the amplitudes that are not wanted to zero.</p>
<h4>References</h4>
<p>
L. Ljung: <em>System Identification: Theory for the User</em>, 2nd edition, Prentice Hall, 1999, chapter 13 (choice of
the input).
</p>
</html>"));
end SumOfSines;
