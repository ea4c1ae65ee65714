model StribeckCurve "Friction force of a slide that moves steadily, as Mechanisms.Friction.TranslationalStribeck"
  import Modelica.Units.SI;
  parameter SI.Force coulombForce(min=0) = 1 "Coulomb friction force, Fc";
  parameter SI.Force staticForce(min=0) = 1.5 "Static friction force, Fs";
  parameter SI.Velocity stribeckSpeed(min=1e-12) = 0.001 "Stribeck speed, vs";
  parameter SI.TranslationalDampingConstant viscousFriction(min=0) = 0.4 "Viscous friction coefficient, sigma2";
  parameter SI.Velocity speedWidth(min=1e-12) = 0.0001 "Width of the smooth sign, well below stribeckSpeed";
  Modelica.Blocks.Interfaces.RealInput v(final quantity="Velocity", final unit="m/s", start=0) "Speed";
  Modelica.Blocks.Interfaces.RealOutput f(final quantity="Force", final unit="N") "Friction force";
protected
  SI.Force level "Friction force of steady sliding without its viscous part";
equation
  level = Mechanisms.Friction.Functions.stribeckLevel(v, coulombForce, staticForce, stribeckSpeed);
  f = Mechanisms.Friction.Functions.smoothCoulomb(v, level, speedWidth) + viscousFriction*v;
  annotation (experiment(StopTime=1, Tolerance=1e-8, Interval=0.001));
end StribeckCurve;
