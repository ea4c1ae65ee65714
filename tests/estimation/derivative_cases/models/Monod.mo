model Monod "Batch fermentation: a sharp bend when the substrate runs out"
  parameter Real mu = 0.4;
  parameter Real Ks = 0.02;
  parameter Real Y = 0.5;
  output Real X(start = 0.1, fixed = true);
  output Real S(start = 10, fixed = true);
  Real growth;
equation
  growth = mu*S/(Ks + S)*X;
  der(X) = growth;
  der(S) = -growth/Y;
end Monod;
