package Across "Models with events whose instants and values depend on parameters"
  model StickSlip "a mass on a belt: it sticks until the spring pulls it off"
    parameter Real k = 4;
    parameter Real Fs = 1.5 "force that it holds";
    parameter Real Fc = 0.6 "force while it slips";
    parameter Real belt = 0.3;
    output Real x(start = 0, fixed = true);
    output Real v(start = belt, fixed = true);
    output Boolean sticks(start = true, fixed = true);
  equation
    der(x) = v;
    der(v) = if sticks then 0 else Fc - k*x;
    sticks = if pre(sticks) then k*x < Fs else v > belt;
    when sticks then
      reinit(v, belt);
    end when;
  end StickSlip;

  model Pull "Coulomb friction with rest: two directions and stiction"
    parameter Real m = 1.3;
    parameter Real Fc = 0.5;
    parameter Real Fs = 0.8;
    parameter Real d = 0.2;
    input Real F;
    output Real x(start = 0, fixed = true);
    output Real v(start = 0, fixed = true);
    output Integer mode(start = 0, fixed = true);
  equation
    der(x) = v;
    m*der(v) = if mode == 0 then 0 else F - d*v - Fc*mode;
    mode = if pre(mode) == 0 then (if F > Fs then 1 elseif F < -Fs then -1 else 0)
      elseif pre(mode) == 1 then (if v < 0 then 0 else 1)
      else (if v > 0 then 0 else -1);
    when mode == 0 then
      reinit(v, 0);
    end when;
  end Pull;

  model Relaxation "a switched RC circuit: it charges and discharges between two voltages"
    parameter Real R1 = 2;
    parameter Real R2 = 0.7;
    parameter Real C = 0.4;
    parameter Real U = 5;
    parameter Real high = 3.5;
    parameter Real low = 1.2;
    output Real v(start = 0.5, fixed = true);
    output Real i;
    output Boolean charges(start = true, fixed = true);
  equation
    charges = if pre(charges) then v < high else v <= low;
    i = if charges then (U - v)/R1 else -v/R2;
    C*der(v) = i;
  end Relaxation;

  model Stored "discrete variables that follow parameters, and instants that do"
    parameter Real t0 = 0.412;
    parameter Real a = 1.7;
    parameter Real n = 3;
    output Real x(start = 1, fixed = true);
    output Real kept(start = 0, fixed = true) "of the state, at an instant";
    output Real since(start = 0, fixed = true) "an instant";
    output Real sum(start = n, fixed = true);
    output Real ramp;
    output Real twice = 2*kept + sum;
  equation
    der(x) = -a*x + kept;
    when time >= t0 then
      kept = x^2;
      since = time;
    elsewhen x < 0.4*kept + 0.2 then
      kept = 3*a*pre(x);
      since = 2*time;
    end when;
    when sample(0.1, 0.25) then
      sum = pre(sum)*a + x;
    end when;
    ramp = if time < since + 0.3 then 0 else (time - since - 0.3)^2;
  end Stored;

  model Chain "events that follow from others at the same instant"
    parameter Real limit = 0.5;
    parameter Real b = 2;
    output Real x(start = 0, fixed = true);
    output Real z(start = 0, fixed = true);
    output Real y(start = 0, fixed = true);
    output Real w(start = 0, fixed = true);
    output Integer count(start = 0, fixed = true);
  equation
    der(x) = 1 + x;
    der(z) = y - w*z;
    when x > limit then
      reinit(x, b*x);
      y = b^2*time;
    end when;
    when y > 0 then
      w = 3*y;
      count = pre(count) + 1;
    end when;
    when {count > 0, x > 0.8} then
      reinit(z, w + pre(z)*b);
    end when;
  end Chain;

  model Instant "no states: what is stored at instants that parameters give"
    parameter Real t0 = 0.33;
    parameter Real w = 3;
    parameter Real offset(fixed = false);
    input Real u;
    output Real y(start = 0, fixed = true);
    output Real z;
    output Real above(start = 0, fixed = true);
  initial equation
    offset = w^2;
  equation
    when time >= t0 then
      y = sin(w*time);
    end when;
    when u > w then
      above = time;
    end when;
    z = y*w + offset;
  end Instant;

  model Sampled "its period is a parameter"
    parameter Real Ts = 0.13;
    parameter Real first = 0.05;
    parameter Real k = 2;
    output Real x(start = 1, fixed = true);
    output Real u(start = 0, fixed = true);
  equation
    der(x) = u - 0.5*x;
    when sample(first, Ts) then
      u = -k*x + 0.2*pre(u);
    end when;
  end Sampled;

  model Starts "values that follow from parameters at the start"
    parameter Real a = 2;
    parameter Real b = 0.5;
    output Real x;
    output Real c;
    output Real n;
  initial equation
    pre(c) = a^2;
    x = a*b + n;
  equation
    der(x) = -c*x;
    when {initial(), time > b} then
      c = 0.5*pre(c) + x;
    end when;
    n = if time < b then a else c;
  end Starts;

  model Graze "a pendulum that just reaches a limit, and is pushed there"
    parameter Real limit = 1;
    parameter Real amplitude = 1;
    output Real x(start = 0, fixed = true);
    output Real v(start = amplitude, fixed = true);
    output Real pushes(start = 0, fixed = true);
  equation
    der(x) = v;
    der(v) = -x;
    when x > limit then
      reinit(v, v + 1);
      pushes = pre(pushes) + 1;
    end when;
  end Graze;

  model Together "two events at the same instant, whose order matters"
    parameter Real a = 0.5;
    parameter Real b = 0.5;
    output Real x(start = 0, fixed = true);
    output Real y(start = 0, fixed = true);
  equation
    der(x) = 1;
    der(y) = 1;
    when x > a then
      reinit(y, 3*y);
    elsewhen y > b then
      reinit(x, x - 5);
    end when;
  end Together;

  model Kinks "a kink within noEvent that depends on a discrete variable"
    parameter Real k = 0.6;
    output Real x(start = 0, fixed = true);
    output Real r(start = 0, fixed = true);
    output Real level(start = 0.25, fixed = true);
  equation
    der(x) = 1;
    der(r) = noEvent(if x > level then 2 else 1);
    when sample(0.1, 0.4) then
      level = x + k*0.25;
    end when;
  end Kinks;

  model Clutch "two inertias with friction: modes as in the standard library"
    parameter Real J1 = 0.5;
    parameter Real J2 = 1.1;
    parameter Real slip = 0.8;
    parameter Real peak = 1.3;
    parameter Real c = 3;
    input Real u;
    output Real w1(start = 4, fixed = true);
    output Real w2(start = 0, fixed = true);
    output Real phi(start = 0, fixed = true);
    output Integer mode(start = 1, fixed = true);
    Real relative = w1 - w2;
    Real difference = der(w1) - der(w2);
    Real torque;
    Real s "torque where it is locked, else beyond it the difference";
    Boolean locked;
    Boolean forward(start = false, fixed = true) "it begins to slip";
    Boolean backward(start = false, fixed = true);
  equation
    J1*der(w1) = u - torque;
    J2*der(w2) = torque - c*phi;
    der(phi) = w2;
    forward = pre(mode) == 0 and (s > peak or pre(forward) and s > slip)
      or pre(mode) == -1 and relative > 0;
    backward = pre(mode) == 0 and (s < -peak or pre(backward) and s < -slip)
      or pre(mode) == 1 and relative < 0;
    locked = not (forward or backward or pre(mode) == 1 or pre(mode) == -1);
    difference = if locked then 0 elseif forward then s - slip elseif backward then s + slip
      elseif pre(mode) == 1 then s - slip else s + slip;
    torque = if locked then s elseif forward then slip elseif backward then -slip
      elseif pre(mode) == 1 then slip else -slip;
    mode = if (pre(mode) == 1 or forward) and relative > 0 then 1
      elseif (pre(mode) == -1 or backward) and relative < 0 then -1 else 0;
  end Clutch;

  model Pulses "a converter with pulses whose width is a parameter"
    parameter Real L = 0.01;
    parameter Real R = 1;
    parameter Real U = 10;
    parameter Real duty = 0.37;
    parameter Real T = 0.01;
    output Real i(start = 0, fixed = true);
    discrete Real begin(start = 0, fixed = true);
  equation
    when sample(0, T) then
      begin = time;
    end when;
    L*der(i) = (if time < begin + duty*T then U else 0) - R*i;
  end Pulses;

  model Steps "functions that jump"
    parameter Real a = 2.3;
    parameter Real q = 0.17;
    output Real x(start = 0, fixed = true);
    output Real y = q*floor(x/q);
    output Real z(start = 0, fixed = true);
  equation
    der(x) = a*cos(3*time) + a;
    der(z) = y + mod(x, q) + div(x, 0.3137) - sign(x - 2*q) + rem(x, q);
  end Steps;

  model Balls "two balls on each other"
    parameter Real e = 0.9;
    parameter Real m1 = 1;
    parameter Real m2 = 0.3;
    output Real h1(start = 1, fixed = true);
    output Real v1(start = 0, fixed = true);
    output Real h2(start = 1.7, fixed = true);
    Real v2(start = 0, fixed = true);
  equation
    der(h1) = v1;
    der(h2) = v2;
    der(v1) = -9.81;
    der(v2) = -9.81;
    when h1 <= 0 then
      reinit(v1, -e*pre(v1));
    elsewhen h2 <= h1 then
      reinit(v1, (m1*v1 + m2*v2 + m2*e*(v2 - v1))/(m1 + m2));
      reinit(v2, (m1*v1 + m2*v2 + m1*e*(v1 - v2))/(m1 + m2));
    end when;
  end Balls;
end Across;
