package Stiff "Machines with parts that settle far faster than they move"
  model Motor "DC motor whose current settles in 10 microseconds"
    input Real v(unit="V");
    output Real w(unit="rad/s", start=0, fixed=true);
    output Real i(unit="A", start=0, fixed=true);
    parameter Real R(unit="Ohm")=1 "Resistance";
    parameter Real L(unit="H")=1e-5 "Inductance";
    parameter Real k(unit="N.m/A")=0.05 "Torque constant";
    parameter Real J(unit="kg.m2")=1e-4 "Inertia";
    parameter Real b(unit="N.m.s/rad")=1e-5 "Viscous friction";
  equation
    L*der(i) = v - R*i - k*w;
    J*der(w) = k*i - b*w;
  end Motor;

  model Shaft "Two inertias on a shaft of 1e8 N.m/rad"
    input Real tau(unit="N.m");
    output Real w1(unit="rad/s", start=0, fixed=true);
    output Real w2(unit="rad/s", start=0, fixed=true);
    Real twist(unit="rad", start=0, fixed=true);
    parameter Real c(unit="N.m/rad")=1e8 "Stiffness";
    parameter Real d(unit="N.m.s/rad")=50 "Damping";
    parameter Real J1(unit="kg.m2")=1e-3 "Inertia of the motor";
    parameter Real J2(unit="kg.m2")=5e-3 "Inertia of the load";
    parameter Real b(unit="N.m.s/rad")=0.02 "Viscous friction of the load";
  equation
    der(twist) = w1 - w2;
    J1*der(w1) = tau - c*twist - d*(w1 - w2);
    J2*der(w2) = c*twist + d*(w1 - w2) - b*w2;
  end Shaft;

  model LightlyDampedShaft "The same, hardly damped"
    extends Shaft(d=0.05);
  end LightlyDampedShaft;
end Stiff;
