model FrictionLuGre "Force of a positioning axis in motion: LuGre friction, its viscous part by direction"
  import Modelica.Units.SI;
  parameter SI.Mass m(min=1e-12) = 95 "Moved mass including the reflected inertia of the motor";
  parameter SI.TranslationalSpringConstant sigma0(min=1e-12) = 1e5 "Bristle stiffness";
  parameter SI.TranslationalDampingConstant sigma1(min=0) = 0 "Bristle damping";
  parameter SI.Force coulombForce(min=1e-12) = 20 "Coulomb friction force";
  parameter SI.Force staticForce(min=1e-12) = 20 "Static friction force";
  parameter SI.Velocity stribeckSpeed(min=1e-12) = 5e-3 "Stribeck speed";
  parameter SI.TranslationalDampingConstant viscousFriction(min=0) = 200 "Viscous friction, mean of both directions";
  parameter SI.TranslationalDampingConstant viscousDifference = 0
    "Half the difference of the viscous friction forth and back";
  parameter SI.Force offset = 0 "Constant force";
  parameter SI.Velocity reversalWidth(min=1e-15) = 1e-5 "Width of the smooth magnitude of the speed";
  Modelica.Blocks.Interfaces.RealInput qd(final quantity="Velocity", final unit="m/s", start=0) "Speed";
  Modelica.Blocks.Interfaces.RealInput qdd(final quantity="Acceleration", final unit="m/s2", start=0) "Acceleration";
  Modelica.Blocks.Interfaces.RealOutput force(final quantity="Force", final unit="N") "Driving force";
protected
  Real z(start=staticForce/sigma0, fixed=true, nominal=1e-5) "Mean bristle deflection, m; the axis slides when the record begins";
  Real dz "Its rate, m/s";
  Real level "Friction of steady sliding, N";
equation
  level = Mechanisms.Friction.Functions.stribeckLevel(qd, coulombForce, staticForce, stribeckSpeed);
  dz = Mechanisms.Friction.Functions.lugreDeflectionRate(qd, z, sigma0, level, reversalWidth);
  der(z) = dz;
  force = m*qdd + sigma0*z + sigma1*dz + (viscousFriction + viscousDifference*tanh(qd/1e-3))*qd + offset;
end FrictionLuGre;
