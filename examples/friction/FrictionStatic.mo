model FrictionStatic "Force of a positioning axis in motion: Coulomb, Stribeck and viscous friction, the last one by direction"
  import Modelica.Units.SI;
  parameter SI.Mass m(min=1e-12) = 95 "Moved mass including the reflected inertia of the motor";
  parameter SI.Force coulombForce(min=1e-12) = 20 "Coulomb friction force";
  parameter SI.Force staticForce(min=1e-12) = 20 "Static friction force";
  parameter SI.Velocity stribeckSpeed(min=1e-12) = 5e-3 "Stribeck speed";
  parameter SI.TranslationalDampingConstant viscousFriction(min=0) = 200 "Viscous friction, mean of both directions";
  parameter SI.TranslationalDampingConstant viscousDifference = 0
    "Half the difference of the viscous friction forth and back";
  parameter SI.Force offset = 0 "Constant force";
  parameter SI.Velocity speedWidth(min=1e-12) = 1e-3 "Width of the smooth sign";
  Modelica.Blocks.Interfaces.RealInput qd(final quantity="Velocity", final unit="m/s", start=0) "Speed";
  Modelica.Blocks.Interfaces.RealInput qdd(final quantity="Acceleration", final unit="m/s2", start=0) "Acceleration";
  Modelica.Blocks.Interfaces.RealOutput force(final quantity="Force", final unit="N") "Driving force";
protected
  Real level "Friction of steady sliding, N";
equation
  level = Mechanisms.Friction.Functions.stribeckLevel(qd, coulombForce, staticForce, stribeckSpeed);
  force = m*qdd + Mechanisms.Friction.Functions.smoothCoulomb(qd, level, speedWidth)
    + (viscousFriction + viscousDifference*tanh(qd/speedWidth))*qd + offset;
end FrictionStatic;
