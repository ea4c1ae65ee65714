model Predator "Lotka and Volterra's cycle: the phase drifts with every error"
  parameter Real a = 1.1;
  parameter Real b = 0.4;
  parameter Real c = 0.4;
  parameter Real d = 0.1;
  output Real x(start = 10, fixed = true);
  output Real y(start = 5, fixed = true);
equation
  der(x) = a*x - b*x*y;
  der(y) = d*x*y - c*y;
end Predator;
