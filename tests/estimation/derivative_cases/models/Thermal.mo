model Thermal "Room between two temperatures; only R1*C and R2*C act"
  input Real Ti1;
  input Real Ti2;
  parameter Real R1 = 0.02;
  parameter Real R2 = 0.05;
  parameter Real C = 5e5;
  output Real T(start = 20, fixed = true);
equation
  C*der(T) = (Ti1 - T)/R1 + (Ti2 - T)/R2;
end Thermal;
