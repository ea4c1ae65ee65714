model Dampers "Mass with two dampers side by side under a constant force; only d1 + d2 acts"
  parameter Real m = 1.5;
  parameter Real d1 = 0.4;
  parameter Real d2 = 0.7;
  parameter Real k = 20;
  output Real x(start = 0, fixed = true);
  Real v(start = 0, fixed = true);
equation
  der(x) = v;
  m*der(v) = 3 - (d1 + d2)*v - k*x;
end Dampers;
