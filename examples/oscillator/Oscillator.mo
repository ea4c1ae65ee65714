model Oscillator "A mass on a spring, with a damper, pushed by a force"
  parameter Real m(unit="kg") = 1 "Mass";
  parameter Real d(unit="N.s/m") = 1 "Damping";
  parameter Real k(unit="N/m") = 200 "Stiffness";
  input Real F(unit="N") "Force on the mass";
  output Real x(unit="m", start=0, fixed=true) "Position, 0 where the spring is relaxed";
  Real v(unit="m/s", start=0, fixed=true) "Velocity";
equation
  der(x) = v;
  m*der(v) = F - d*v - k*x;
  annotation (experiment(StopTime=5, Tolerance=1e-8));
end Oscillator;
