within Mechanisms.Examples;
model OscillatorStep "Step response of the mass-spring-damper in both forms"
  extends Icons.Example;
  Oscillators.MassSpringDamper physical(F=0.001*physical.k, d=5) "With mass, damping and stiffness";
  Oscillators.MassSpringDamperNormalForm normal(u=0.001*normal.omega0^2, zeta=0.07216878364870322) "With damping ratio and natural frequency";
  output Units.Position difference "Position of the normal form less that of the physical form";
equation
  difference = normal.x - physical.x;
  annotation (
    experiment(StopTime=10.9, Tolerance=1e-9, Interval=0.004),
    Documentation(info="<html>
<p>
A step of the force bends both oscillators by one millimetre over twenty periods. <code>difference</code> stays zero.
</p>
</html>"));
end OscillatorStep;
