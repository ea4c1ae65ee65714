within Mechanisms.Friction;
model TranslationalLuGre "LuGre friction force: presliding, Stribeck effect and viscous friction"
  extends Interfaces.PartialTranslationalFriction;
  parameter Units.TranslationalSpringConstant sigma0(min=1e-12) = 1e5 "Bristle stiffness";
  parameter Units.TranslationalDampingConstant sigma1(min=0) = 316 "Bristle damping";
  parameter Units.TranslationalDampingConstant sigma2(min=0) = 0.4 "Viscous friction coefficient";
  parameter Units.Force Fc(min=1e-12) = 1 "Coulomb friction force";
  parameter Units.Force Fs(min=1e-12) = 1.5 "Static friction force";
  parameter Units.Velocity vs(min=1e-12) = 0.001 "Stribeck speed";
  parameter Units.Velocity reversalWidth(min=1e-15) = 1e-9
    "Width of the smooth magnitude v*tanh(v/reversalWidth), far below the speed of presliding";
  output Units.Position z(start=0, fixed=true, nominal=1e-6) "Mean bristle deflection";
  Units.Force level "Friction force of steady sliding without its viscous part";
  Units.Velocity dz "Rate of the bristle deflection";
equation
  level = Functions.stribeckLevel(v, Fc, Fs, vs);
  dz = Functions.lugreDeflectionRate(v, z, sigma0, level, reversalWidth);
  der(z) = dz;
  f = sigma0*z + sigma1*dz + sigma2*v;
  storedEnergy = 0.5*sigma0*z^2;
  lossPower = f*v - sigma0*z*dz;
  annotation (
    defaultComponentName="friction",
    experiment(StopTime=1, Tolerance=1e-9, Interval=0.001),
    Documentation(info="<html>
<p>
<code>f = sigma0*z + sigma1*z' + sigma2*v</code>,
<code>z' = v - sigma0*|v|/level*z</code>,
<code>level = Fc + (Fs - Fc)*exp(-(v/vs)^2)</code>.
</p>
<h4>Implementation</h4>
<p>
The deflection <code>z</code> is of the order of <code>Fc/sigma0</code>, often micrometres. Its nominal value 1e-6
makes the solver's absolute tolerance fit; set <code>z(nominal=...)</code> for a much stiffer or softer contact, and
give position and speed of the moved body nominal values of the same order when presliding is studied.
The magnitude of the speed is <code>v*tanh(v/reversalWidth)</code>; as long as <code>reversalWidth</code> stays
far below the speed of presliding it cannot be told from the exact magnitude.
</p>
<h4>Limitations</h4>
<p>
With constant <code>sigma1</code> the lost power can become slightly negative for an instant when the motion
reverses, a known property of the law. The equations are stiff: at the sliding speed v the deflection settles with
the rate <code>sigma0*|v|/level</code>.
</p>
<h4>References</h4>
<p>
C. Canudas de Wit, H. Olsson, K. J. &Aring;str&ouml;m, P. Lischinsky:
<em>A new model for control of systems with friction</em>, IEEE Transactions on Automatic Control 40 (1995), 419-425.
</p>
</html>"));
end TranslationalLuGre;
