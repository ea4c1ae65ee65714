within Mechanisms.Examples;
model CompareFriction "Three equal masses under the same force with three friction laws"
  extends Icons.Example;
  parameter Units.Mass m(min=1e-12) = 1 "Mass of each slide";
  Friction.TranslationalCoulombViscous coulombViscous(v=v[1], width=1e-4) "Smooth Coulomb friction";
  Friction.TranslationalStribeck stribeck(v=v[2]) "Stribeck friction";
  Friction.TranslationalLuGre luGre(v=v[3]) "LuGre friction";
  output Units.Position s[3](each start=0, each fixed=true, each nominal=1e-4) "Positions";
  output Units.Velocity v[3](each start=0, each fixed=true, each nominal=1e-3) "Velocities";
  output Units.Force force "Driving force";
equation
  force = 3*sin(3*time);
  der(s) = v;
  m*der(v[1]) = force - coulombViscous.f;
  m*der(v[2]) = force - stribeck.f;
  m*der(v[3]) = force - luGre.f;
  annotation (
    experiment(StopTime=4, Tolerance=1e-8, Interval=0.002),
    Documentation(info="<html>
<p>
While sliding, the three positions agree but for the Stribeck effect; at standstill the laws without a state creep, and
LuGre deflects elastically.
</p>
</html>"));
end CompareFriction;
