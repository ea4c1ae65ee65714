model Dose "Absorption and elimination of a drug, in seconds and millilitres"
  parameter Real ka = 4e-4;
  parameter Real ke = 4e-5;
  parameter Real V = 3e4;
  Real gut(start = 1e5, fixed = true, nominal = 1e5);
  output Real c(start = 0, fixed = true);
equation
  der(gut) = -ka*gut;
  der(c) = ka*gut/V - ke*c;
end Dose;
