within Mechanisms.Functions;
function smoothLimit "Limits a signal symmetrically, with rounded corners"
  extends Modelica.Icons.Function;
  input Real u "Signal";
  input Real limit "Limit, positive";
  input Real width "Width of the rounded corners, positive, in units of the signal";
  output Real y "Limited signal, strictly between -limit and limit";
algorithm
  y := 2*limit*u/(sqrt((u + limit)^2 + width^2) + sqrt((u - limit)^2 + width^2));
  annotation (
    Inline=true,
    smoothOrder=10,
    Documentation(info="<html>
<p>
<code>y = (sqrt((u + limit)^2 + width^2) - sqrt((u - limit)^2 + width^2))/2</code>, written so that nothing cancels. The
result grows monotonically, never passes the limit, and differs from <code>u</code> inside the limit by the fraction
<code>width^2/(2*(limit^2 - u^2))</code>.
</p>
</html>"));
end smoothLimit;
