within Mechanisms.Friction.Functions;
function stribeckLevel "Magnitude of friction in steady sliding, without the viscous part"
  extends Modelica.Icons.Function;
  input Real v "Sliding speed";
  input Real coulombLevel "Coulomb friction";
  input Real staticLevel "Static friction";
  input Real stribeckSpeed "Stribeck speed";
  output Real level "Friction level, positive";
algorithm
  level := coulombLevel + (staticLevel - coulombLevel)*exp(-(v/stribeckSpeed)^2);
  annotation (
    Inline=true,
    smoothOrder=10,
    Documentation(info="<html>
<p><code>level = coulombLevel + (staticLevel - coulombLevel)*exp(-(v/stribeckSpeed)^2)</code>.</p>
</html>"));
end stribeckLevel;
