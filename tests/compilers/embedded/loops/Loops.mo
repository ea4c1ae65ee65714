package Loops "Algebraic loops that have no formula"
  model Kepler "No state: an equation at each instant"
    parameter Real e = 0.6;
    input Real M;
    output Real E(start = 1);
  equation
    M = E - e*sin(E);
  end Kepler;

  model DiodeResistor "Two unknowns, of which one is torn; currents of a millionth"
    parameter Real Is(unit = "A") = 1e-12;
    parameter Real Vt(unit = "V") = 0.025;
    parameter Real R(unit = "Ohm") = 1e5;
    input Real u(unit = "V");
    output Real i(unit = "A");
    Real v(unit = "V");
  equation
    u = R*i + v;
    i = Is*(exp(v/Vt) - 1);
  end DiodeResistor;

  model Slowing "der(x) = -y with y + exp(y) = x"
    parameter Real k = 1;
    parameter Real x0 = 3;
    Real x(start = x0, fixed = true);
    output Real y(start = 0);
    output Real double = 2*y;
  equation
    y + k*exp(y) = x;
    der(x) = -y;
  end Slowing;

  model Ladder "Linear, with coefficients that vary"
    constant Integer n = 20;
    input Real a;
    output Real z[n];
  equation
    (2 + a)*z[1] - a*z[2] = 1;
    for i in 2:n - 1 loop
      -z[i - 1] + (2 + i*a)*z[i] - a*z[i + 1] = 0.1*i;
    end for;
    -z[n - 1] + (3 + a)*z[n] + a*z[1] = 1;
  end Ladder;

  model Rest "Begins at rest, where a loop is in the way"
    parameter Real a = 2;
    output Real x(start = 1);
    Real z(start = 1);
  initial equation
    der(x) = 0;
  equation
    z^3 + z = a - x;
    der(x) = z - 0.5*x + 0.1*time;
  end Rest;

  model Root "An initial equation of a state that is not linear"
    parameter Real square = 4;
    output Real x(start = 1);
  initial equation
    x^2 = square;
  equation
    der(x) = -x;
  end Root;

  model Vanishing "Has no solution any more after a second"
    output Real y(start = 1);
  equation
    y^2 = 1 - time;
  end Vanishing;

  model VanishingState
    Real x(start = 1, fixed = true);
    output Real y(start = 1);
  equation
    y^2 = x;
    der(x) = -1;
  end VanishingState;

  model Two "Two solutions: each guess leads to its own"
    parameter Real guess = 1;
    output Real y(start = guess);
  equation
    y^2 = 4 + time;
  end Two;

  model Far "Newton's method alone diverges from the guess"
    input Real u;
    output Real y(start = 3);
  equation
    atan(y) = u;
  end Far;

  model Limiter "A loop with a relation in it, which switches"
    output Real y;
    output Boolean open;
    Real w(start = 1, fixed = true);
  equation
    der(w) = -1;
    open = y > 0;
    y + 0.1*y^3 = if open then w else 4*w;
  end Limiter;

  model Chain "One loop needs another"
    input Real u;
    output Real a, b;
  equation
    a + exp(a) = u;
    b + exp(b) = a;
  end Chain;

  model Floating "Nothing says where the loop floats"
    input Real u;
    output Real a, b;
  equation
    (a - b)^3 + (a - b) = u;
    2*(a - b)^3 + 2*(a - b) = 2*u;
  end Floating;

  model Jump "Looks linear to a derivative, but jumps with its unknown"
    input Real u;
    output Real y;
  equation
    y + noEvent(sign(y)) = u;
  end Jump;

  model JumpElsewhere "The unknown with which one equation jumps is in another"
    input Real u;
    output Real y, z;
  equation
    y + noEvent(sign(z)) = u;
    z - 2*y + 0.1*noEvent(if y > 1 then 1 else 0) = 0;
  end JumpElsewhere;

  model NoAlias "The derivatives are those of b = a"
    input Real a;
    output Real b;
  equation
    b = a + noEvent(sign(a));
  end NoAlias;

  model SteepBefore "The guess is at a kink, on its steep side"
    input Real u;
    output Real y(start = 1);
  equation
    noEvent(if y <= 1 then 1e12*(y - 1) else y - 1) = u;
  end SteepBefore;

  model Amplifier "Regular between narrow limits only"
    input Real u;
    output Real y;
    Real d, i;
  equation
    d = u - i;
    i = 0.5*y + 0.5*(y - 0.1*i);
    y = smooth(0, noEvent(if 15000*d > 15 then 15 else if 15000*d < -15 then -15 else 15000*d));
  end Amplifier;

  model Undetermined "Each y is a solution at the beginning"
    Real y;
  equation
    time*(y^3 + y - 1) = 0;
  end Undetermined;

  model Follows "Start values that follow from that of x: by a formula, and by iteration"
    Real x(start = 1, fixed = true);
    Real y, z(start = 1), own(start = 2, fixed = true);
  initial equation
    y = 2*x;
    z^2 = x + y;
  equation
    der(x) = -x;
    der(y) = -y;
    der(z) = -z;
    der(own) = -own;
  end Follows;
  model Flat "The matrix is singular at the guess, and there are many solutions"
    input Real u;
    output Real y;
  equation
    cos(y) = u;
  end Flat;

end Loops;
