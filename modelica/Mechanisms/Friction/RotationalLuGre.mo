within Mechanisms.Friction;
model RotationalLuGre "LuGre friction torque: presliding, Stribeck effect and viscous friction"
  extends Interfaces.PartialRotationalFriction;
  parameter Units.RotationalSpringConstant sigma0(min=1e-12) = 100 "Bristle stiffness";
  parameter Units.RotationalDampingConstant sigma1(min=0) = 0.3 "Bristle damping";
  parameter Units.RotationalDampingConstant sigma2(min=0) = 0.001 "Viscous friction coefficient";
  parameter Units.Torque Tc(min=1e-12) = 0.1 "Coulomb friction torque";
  parameter Units.Torque Ts(min=1e-12) = 0.15 "Static friction torque";
  parameter Units.AngularVelocity ws(min=1e-12) = 0.1 "Stribeck speed";
  parameter Units.AngularVelocity reversalWidth(min=1e-15) = 1e-6
    "Width of the smooth magnitude w*tanh(w/reversalWidth), far below the speed of presliding";
  output Units.Angle z(start=0, fixed=true, nominal=1e-5) "Mean bristle deflection";
  Units.Torque level "Friction torque of steady sliding without its viscous part";
  Units.AngularVelocity dz "Rate of the bristle deflection";
equation
  level = Functions.stribeckLevel(w, Tc, Ts, ws);
  dz = Functions.lugreDeflectionRate(w, z, sigma0, level, reversalWidth);
  der(z) = dz;
  tau = sigma0*z + sigma1*dz + sigma2*w;
  storedEnergy = 0.5*sigma0*z^2;
  lossPower = tau*w - sigma0*z*dz;
  annotation (
    defaultComponentName="friction",
    experiment(StopTime=1, Tolerance=1e-9, Interval=0.001),
    Documentation(info="<html>
<p>
<code>tau = sigma0*z + sigma1*z' + sigma2*w</code>,
<code>z' = w - sigma0*|w|/level*z</code>,
<code>level = Tc + (Ts - Tc)*exp(-(w/ws)^2)</code>.
</p>
<h4>Implementation</h4>
<p>
The deflection <code>z</code> is of the order of <code>Tc/sigma0</code>, often microradians. Its nominal value 1e-5
makes the solver's absolute tolerance fit; set <code>z(nominal=...)</code> for a much stiffer or softer contact, and
give angle and speed of the moved body nominal values of the same order when presliding is studied.
The magnitude of the speed is <code>w*tanh(w/reversalWidth)</code>; as long as <code>reversalWidth</code> stays
far below the speed of presliding it cannot be told from the exact magnitude.
</p>
<h4>Limitations</h4>
<p>
With constant <code>sigma1</code> the lost power can become slightly negative for an instant when the motion
reverses, a known property of the law. The equations are stiff: at the sliding speed w the deflection settles with
the rate <code>sigma0*|w|/level</code>.
</p>
<h4>References</h4>
<p>
C. Canudas de Wit, H. Olsson, K. J. &Aring;str&ouml;m, P. Lischinsky:
<em>A new model for control of systems with friction</em>, IEEE Transactions on Automatic Control 40 (1995), 419-425.
</p>
</html>"));
end RotationalLuGre;
