within Mechanisms.DriveTrains;
model SlideWithLuGreFriction "Mass on a guide with LuGre friction, driven by a force"
  extends Icons.Mechanism;
  parameter Units.Mass m(min=1e-12) = 1 "Sliding mass";
  parameter Units.TranslationalSpringConstant sigma0(min=1e-12) = 1e5 "Bristle stiffness";
  parameter Units.TranslationalDampingConstant sigma1(min=0) = 316 "Bristle damping";
  parameter Units.TranslationalDampingConstant sigma2(min=0) = 0.4 "Viscous friction coefficient";
  parameter Units.Force Fc(min=1e-12) = 1 "Coulomb friction force";
  parameter Units.Force Fs(min=1e-12) = 1.5 "Static friction force";
  parameter Units.Velocity vs(min=1e-12) = 0.001 "Stribeck speed";
  parameter Units.Velocity reversalWidth(min=1e-15) = 1e-9
    "Width of the smooth magnitude of the speed in the friction law, far below the speed of presliding";
  input Units.Force u(start=0) "Driving force";
  output Units.Position x(start=0, fixed=true, nominal=1e-5) "Position";
  output Units.Velocity v(start=0, fixed=true, nominal=1e-4) "Velocity";
  output Units.Acceleration a "Acceleration";
  output Units.Force frictionForce "Friction force";
  output Units.Position bristleDeflection "Mean bristle deflection";
  output Units.Energy kineticEnergy "Kinetic energy";
  output Units.Energy potentialEnergy "Elastic energy of the bristles";
  output Units.Power inputPower "Power of the driving force";
  output Units.Power dissipatedPower "Dissipated power";
  Friction.TranslationalLuGre friction(
    v=v,
    sigma0=sigma0,
    sigma1=sigma1,
    sigma2=sigma2,
    Fc=Fc,
    Fs=Fs,
    vs=vs,
    reversalWidth=reversalWidth) "Friction in the guide";
equation
  der(x) = v;
  der(v) = a;
  m*a = u - frictionForce;
  frictionForce = friction.f;
  bristleDeflection = friction.z;
  kineticEnergy = 0.5*m*v^2;
  potentialEnergy = friction.storedEnergy;
  inputPower = u*v;
  dissipatedPower = friction.lossPower;
  annotation (
    experiment(StopTime=5, Tolerance=1e-9, Interval=0.001),
    Documentation(info="<html>
<p>
<code>m*x'' = u - F</code> with the friction force <code>F</code> of
<a href=\"modelica://Mechanisms.Friction.TranslationalLuGre\">TranslationalLuGre</a>. The published study drives it
with <code>u = 1.1*sin(5*t)</code>: that stays below the static friction of 1.5 N, so the mass moves about 10
micrometres and hardly feels <code>Fc</code> and <code>vs</code>.
</p>
<h4>Implementation</h4>
<p>
Position, speed and bristle deflection have small nominal values (1e-5 m, 1e-4 m/s, 1e-6 m), so that the solver resolves
the presliding; with nominal values of one the friction force of a break-away run is wrong by a tenth of its range
at a tolerance of 1e-8. The magnitude of the speed in the friction law is smooth below <code>reversalWidth</code>.
</p>
<h4>Limitations</h4>
<p>
At a sliding speed of 1 m/s the deflection settles with the rate <code>sigma0*|v|/Fc = 1e5 1/s</code>: use a stiff
solver.
</p>
<h4>References</h4>
<p>
Y. Zeng: <em>Parameter Identification for Dynamic Damping System Based on Genetic Algorithm</em>, AMSE Journals,
Series Advances C 72 (2017), 101-113.
</p>
</html>"));
end SlideWithLuGreFriction;
