within Mechanisms.Functions;
function smoothPositive "Keeps a signal positive, with a rounded corner at zero"
  extends Modelica.Icons.Function;
  input Real u "Signal";
  input Real width "Width of the rounded corner, positive, in units of the signal";
  output Real y "Signal, not negative";
algorithm
  y := (u + sqrt(u^2 + width^2))/2;
  annotation (
    Inline=true,
    smoothOrder=10,
    Documentation(info="<html>
<p>
<code>y = (u + sqrt(u^2 + width^2))/2</code>: equal to <code>u</code> where <code>u</code> is well above
<code>width</code>, and close to zero where <code>u</code> is negative. Used under a root whose argument may become
negative on the way to an <code>assert</code> that says what is wrong.
</p>
</html>"));
end smoothPositive;
