within Mechanisms.Friction.Functions;
function stribeckLevel "Magnitude of friction in steady sliding, without the viscous part"
  extends Icons.Function;
  input Real v "Sliding speed";
  input Real Fc "Coulomb friction";
  input Real Fs "Static friction";
  input Real vs "Stribeck speed";
  output Real level "Friction level, positive";
algorithm
  level := Fc + (Fs - Fc)*exp(-(v/vs)^2);
  annotation (
    Inline=true,
    smoothOrder=10,
    Documentation(info="<html>
<p><code>level = Fc + (Fs - Fc)*exp(-(v/vs)^2)</code>.</p>
</html>"));
end stribeckLevel;
