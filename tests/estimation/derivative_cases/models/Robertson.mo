model Robertson "Stiff reaction of three species"
  parameter Real k1 = 0.04;
  parameter Real k2 = 1e4;
  parameter Real k3 = 3e7;
  output Real y1(start = 1, fixed = true);
  output Real y2(start = 0, fixed = true, nominal = 1e-5);
  output Real y3(start = 0, fixed = true);
equation
  der(y1) = -k1*y1 + k2*y2*y3;
  der(y2) = k1*y1 - k2*y2*y3 - k3*y2*y2;
  der(y3) = k3*y2*y2;
end Robertson;
