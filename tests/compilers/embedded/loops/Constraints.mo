package Constraints "Equations that bind states to each other"
  model Pendulum "Cartesian"
    parameter Real L(unit = "m") = 1;
    parameter Real g(unit = "m/s2") = 9.81;
    parameter Real m(unit = "kg") = 2;
    output Real x(unit = "m", start = 1);
    output Real y(unit = "m", start = 0);
    output Real vx(unit = "m/s", start = 0);
    output Real vy(unit = "m/s", start = 0);
    output Real energy(unit = "J") = m*g*y + m*(vx^2 + vy^2)/2;
    output Real F(unit = "N");
  equation
    der(x) = vx;
    der(y) = vy;
    m*der(vx) = -x/L*F;
    m*der(vy) = -y/L*F - m*g;
    x^2 + y^2 = L^2;
  end Pendulum;

  model Turning "Goes all the way round"
    extends Pendulum(x(start = 0, fixed = true), y(start = -1, fixed = true), vx(start = 7, fixed = true));
  end Turning;

  model AllGiven "Every start value is given, so that none follows from another"
    extends Pendulum(
      x(start = 0, fixed = true),
      y(start = -1, fixed = true),
      vx(start = 7, fixed = true),
      vy(start = 0, fixed = true));
  end AllGiven;

  model Guided "A bead on a wire that moves: the constraint contains time"
    output Real x(start = 0.2, fixed = true);
    output Real y;
    Real vx(start = 0.5, fixed = true);
    Real vy;
    Real F;
  equation
    der(x) = vx;
    der(y) = vy;
    der(vx) = -2*x*F;
    der(vy) = F - 9.81;
    y = x^2 + 0.1*sin(3*time);
  end Guided;

  model SliderCrank "Length of the rod as a constraint"
    parameter Real r = 0.1;
    parameter Real l = 0.3;
    parameter Real J = 0.01;
    parameter Real m = 0.5;
    output Real phi(start = 0.3, fixed = true);
    output Real w(start = 20, fixed = true);
    output Real s(start = 0.39);
    Real v;
    Real F;
  equation
    der(phi) = w;
    der(s) = v;
    (s - r*cos(phi))^2 + (r*sin(phi))^2 = l^2;
    m*der(v) = 2*(s - r*cos(phi))*F;
    J*der(w) = (2*(s - r*cos(phi))*r*sin(phi) + 2*r^2*sin(phi)*cos(phi))*F;
  end SliderCrank;

  model Driven "An input would have to be differentiated"
    input Real u;
    output Real x(start = 1);
    Real y, vx, vy, F;
  equation
    der(x) = vx;
    der(y) = vy;
    der(vx) = -x*F;
    der(vy) = -y*F - 9.81;
    x^2 + y^2 = u;
  end Driven;

  model Contradicting
    extends Pendulum(x(start = 0.5, fixed = true), y(start = 0.5, fixed = true));
  end Contradicting;

  model Reset "reinit in a model with constraints"
    extends Pendulum;
  equation
    when time > 1 then
      reinit(vx, 0);
    end when;
  end Reset;
end Constraints;
