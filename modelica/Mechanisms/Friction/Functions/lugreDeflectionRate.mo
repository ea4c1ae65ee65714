within Mechanisms.Friction.Functions;
function lugreDeflectionRate "Rate of the mean bristle deflection of the LuGre law"
  extends Modelica.Icons.Function;
  input Real v "Sliding speed";
  input Real z "Mean bristle deflection";
  input Real sigma0 "Bristle stiffness";
  input Real level "Friction level in steady sliding, see stribeckLevel";
  input Real width "Width of the smooth magnitude of the speed, v*tanh(v/width)";
  output Real dz "Rate of the deflection";
algorithm
  dz := v - sigma0*v*tanh(v/width)/level*z;
  annotation (
    Inline=true,
    smoothOrder=10,
    Documentation(info="<html>
<p>
<code>dz = v - |v|/g(v)*z</code> with <code>g(v) = level/sigma0</code> and the smooth magnitude
<code>|v| = v*tanh(v/width)</code>.
</p>
<h4>Implementation</h4>
<p>
The form <code>v*tanh(v/width)</code> vanishes at rest, as the magnitude does, so that a deflected bristle at rest stays
deflected. <code>sqrt(v^2 + width^2)</code> does not vanish there, and the deflection creeps.
</p>
</html>"));
end lugreDeflectionRate;
