model Cooling "Body that is heated and cooled, from a temperature of its own in each experiment"
  parameter Real C = 40;
  parameter Real k = 0.5;
  parameter Real start = 60;
  parameter Real Q = 0;
  output Real T(start = start, fixed = true);
equation
  C*der(T) = Q - k*(T - 20);
end Cooling;
