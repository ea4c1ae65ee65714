model FrictionStatic "Force of a positioning axis in motion: Coulomb, Stribeck and viscous friction, the last one by direction"
  import Mechanisms.Units;
  parameter Units.Mass m(min=1e-12) = 95 "Moved mass including the reflected inertia of the motor";
  parameter Units.Force coulombForce(min=1e-12) = 20 "Coulomb friction force";
  parameter Units.Force staticForce(min=1e-12) = 20 "Static friction force";
  parameter Units.Velocity stribeckSpeed(min=1e-12) = 5e-3 "Stribeck speed";
  parameter Units.TranslationalDampingConstant viscousFriction(min=0) = 200 "Viscous friction, mean of both directions";
  parameter Units.TranslationalDampingConstant viscousDifference = 0
    "Half the difference of the viscous friction forth and back";
  parameter Units.Force offset = 0 "Constant force";
  parameter Units.Velocity speedWidth(min=1e-12) = 1e-3 "Width of the smooth sign";
  Mechanisms.Interfaces.RealInput qd(final quantity="Velocity", final unit="m/s", start=0) "Speed";
  Mechanisms.Interfaces.RealInput qdd(final quantity="Acceleration", final unit="m/s2", start=0) "Acceleration";
  Mechanisms.Interfaces.RealOutput force(final quantity="Force", final unit="N") "Driving force";
protected
  Real level "Friction of steady sliding, N";
equation
  level = Mechanisms.Friction.Functions.stribeckLevel(qd, coulombForce, staticForce, stribeckSpeed);
  force = m*qdd + Mechanisms.Friction.Functions.smoothCoulomb(qd, level, speedWidth)
    + (viscousFriction + viscousDifference*tanh(qd/speedWidth))*qd + offset;
end FrictionStatic;
