model Discharge "Leaky capacitor behind a resistor: picofarads, gigaohms, picoamperes"
  parameter Real R = 2.2e9;
  parameter Real C = 4.7e-11;
  parameter Real leak = 3e10;
  Real q(start = 0, fixed = true, nominal = 1e-11);
  output Real v;
  output Real i;
equation
  v = q/C;
  i = (1 - v)/R;
  der(q) = i - v/leak;
end Discharge;
