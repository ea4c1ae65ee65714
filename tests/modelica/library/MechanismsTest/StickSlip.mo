within MechanismsTest;
model StickSlip "Mass that a moving spring pulls over a surface: stick-slip"
  import Modelica.Units.SI;
  Modelica.Mechanics.Translational.Sources.Speed belt(exact=true);
  Modelica.Mechanics.Translational.Components.Spring spring(c=20);
  Modelica.Mechanics.Translational.Components.Mass mass(m=1, s(start=0, fixed=true), v(start=0, fixed=true));
  Mechanisms.Friction.Translational.LuGre friction(sigma1=300);
  output SI.Energy stored = 0.5*spring.c*spring.s_rel^2 + 0.5*mass.m*mass.v^2 + friction.storedEnergy;
  output SI.Energy work(start=0, fixed=true);
  output SI.Velocity speed = mass.v;
equation
  belt.v_ref = 0.1;
  connect(belt.flange, spring.flange_b);
  connect(spring.flange_a, mass.flange_a);
  connect(mass.flange_b, friction.flange_a);
  der(work) = -belt.flange.f*0.1 - friction.lossPower;
  annotation (experiment(StopTime=4, Tolerance=1e-9, Interval=0.002));
end StickSlip;
