package Events "Models with events, each with a solution that is known"
  model Ball "bounces: impacts at times in closed form"
    parameter Real e = 0.7;
    parameter Real g = 9.81;
    output Real h(start = 1, fixed = true);
    Real v(start = 0, fixed = true);
    output Integer impacts(start = 0, fixed = true);
    output Boolean low = h <= 0;
  equation
    der(h) = v;
    der(v) = -g;
    when low then
      reinit(v, -e*pre(v));
      impacts = pre(impacts) + 1;
    end when;
  end Ball;

  model Thermostat "hysteresis: two exponentials in turns"
    parameter Real high = 25;
    parameter Real low = 22;
    output Real T(start = 20, fixed = true);
    output Boolean on(start = true, fixed = true);
    output Integer switches(start = 0, fixed = true);
  equation
    der(T) = 0.5*(10 - T) + (if on then 10 else 0);
    on = if pre(on) then T < high else T < low;
    when change(on) then
      switches = pre(switches) + 1;
    end when;
  end Thermostat;

  model Controller "a sampled PI controller"
    parameter Real Ts = 0.05;
    parameter Real k = 3;
    parameter Real Ti = 1;
    input Real w;
    output Real x(start = 0, fixed = true);
    Real v(start = 0, fixed = true);
    output Real u(start = 0, fixed = true);
    Real i(start = 0, fixed = true);
  equation
    der(x) = v;
    der(v) = u - v;
    when sample(0, Ts) then
      i = pre(i) + Ts/Ti*(w - x);
      u = k*((w - x) + i);
    end when;
  end Controller;

  model Times "no states: relations of time, functions that jump"
    parameter Real T = 0.35;
    input Real u;
    output Boolean late = time > T;
    output Real y = if late then 2 else 1;
    output Integer n = integer(u);
    output Real saw = mod(u, 2);
    output Real remainder = rem(-u, 2);
    output Real whole = div(-u, 2);
    output Real up = ceil(u);
    output Real s = sign(u - 3);
    output Integer edges(start = 0, fixed = true);
  equation
    when {n > 2, late} then
      edges = pre(edges) + 1;
    end when;
  end Times;

  model Switched "the right-hand side switches at given times"
    parameter Real a = 0.3;
    parameter Real b = 0.7123;
    output Real x(start = 0, fixed = true);
  equation
    der(x) = if time < a then 1 elseif time < b then -2 else 5;
  end Switched;

  model Stick "a mass that sliding friction stops and the spring does not move again"
    parameter Real k = 1;
    parameter Real Fc = 0.45;
    output Real x(start = 1, fixed = true);
    output Real v(start = 0, fixed = true);
    output Boolean sticks(start = false, fixed = true);
    Integer direction;
  equation
    der(x) = v;
    der(v) = if sticks then 0 else -k*x - Fc*direction;
    sticks = pre(sticks) or (change(direction) and abs(k*x) < Fc);
    direction = if v > 0 then 1 else -1;
    when sticks then
      reinit(v, 0);
    end when;
  end Stick;

  model Bend "nothing follows from the event at its instant, but soon after it"
    output Real x(start = 0, fixed = true);
    output Real y(start = 0, fixed = true);
  equation
    der(x) = 1;
    der(y) = if x > 0.5 then max(0, x - 0.51) else 0;
  end Bend;

  model Start "what happens at the start, and at the end"
    output Integer a(start = 1);
    output Integer b(start = 5, fixed = true);
    output Real c(start = 2);
    output Boolean first;
    output Real x;
    output Integer ends(start = 0, fixed = true);
  equation
    first = initial();
    when {initial(), time > 0.5} then
      a = pre(a) + 10;
    end when;
    when time >= 0 then
      b = pre(b) + 100;
    end when;
    when sample(0.2, 0.2) then
      c = pre(c) + 1;
    end when;
    when terminal() then
      ends = pre(ends) + 1;
    end when;
    der(x) = 0;
  initial equation
    pre(a) = 3;
    c = 7;
    x = c + 0.5;
  end Start;

  model InitialAlgorithm "a pulse, and parameters that initial equations give"
    parameter Real period = 0.5;
    parameter Real offset(fixed = false);
    parameter Real t0(fixed = false);
    parameter Real T = 2;
    Integer count;
    discrete Real begin;
    output Real y;
    output Real x(start = 3, fixed = true);
  initial algorithm
    count := 0;
    for i in 1:2 loop
      count := count + integer(time/period);
    end for;
    count := div(count, 2);
    begin := count*period;
    assert(period > 0, "no period");
  initial equation
    offset = 2*x + 1;
    t0 = time;
  equation
    der(x) = -x/T;
    when integer(time/period) > pre(count) then
      count = pre(count) + 1;
      begin = time;
    end when;
    y = offset + t0 + (if time < begin + 0.4*period then 1 else 0);
  end InitialAlgorithm;

  model Operators "operators of slopes, with named arguments in their order"
    Real x(start = 1, fixed = true);
    Real max(start = 1);
    output Real y = semiLinear(x, positiveSlope = 2, negativeSlope = 3);
    output Real z = homotopy(actual = 2*x, simplified = 0);
    output Integer n(start = 0, fixed = true);
  equation
    der(x) = -1;
    max = x;
    when sample(start = 0.25, interval = 0.5) then
      n = pre(n) + 1;
    end when;
  end Operators;

  model Rectifier "an ideal diode: state of the diode and currents belong together"
    output Real q(start = 0, fixed = true);
    Real i;
    Real u;
    Real s;
    Boolean off;
  equation
    off = s < 0;
    u = if off then s else 0;
    i = if off then 0 else s;
    sin(10*q1) = u + 2*i + q;
    der(q) = i;
    der(q1) = 1;
  protected
    Real q1(start = 0, fixed = true);
  end Rectifier;

  model Chatter
    output Real x(start = 1, fixed = true);
  equation
    der(x) = if x > 0 then -1 else 1;
  end Chatter;

  model Endless
    output Real x(start = 0.7, fixed = true);
  equation
    der(x) = 1;
    when x > 1 then
      reinit(x, 0);
    elsewhen x < 0.5 then
      reinit(x, 2);
    end when;
  end Endless;

  model Cascade "an event that follows from another at the same instant"
    output Real x(start = 0, fixed = true);
    output Integer a(start = 0, fixed = true);
    output Integer b(start = 0, fixed = true);
    discrete Real y(start = 0, fixed = true);
  equation
    der(x) = 1;
    when x > 0.5 then
      a = pre(a) + 1;
      reinit(x, 2);
    end when;
    when {a > 0, x > 1.5} then
      b = pre(b) + 1;
      y = a;
    elsewhen time > 0.1 then
      b = 10;
      y = -1;
    end when;
  end Cascade;

  model Stiff "stiff between the events"
    parameter Real fast = 1e6;
    output Real x(start = 1, fixed = true);
    Real z(start = 1, fixed = true);
    output Boolean up(start = false, fixed = true);
  equation
    der(z) = -fast*(z - x);
    der(x) = if up then 1 else -z;
    up = x < 0.5 or pre(up) and x < 0.8;
  end Stiff;

  model Flat "it jumps up by almost nothing, after long steps"
    output Real h(start = 1000, fixed = true);
    output Real v(start = 0, fixed = true);
    output Integer impacts(start = 0, fixed = true);
  equation
    der(h) = v;
    der(v) = -9.81;
    when h < 0 then
      reinit(v, 0.01);
      impacts = pre(impacts) + 1;
    end when;
  end Flat;

  model Reading "what is read belongs to what was set"
    type Level = enumeration(low, high);
    input Real u;
    parameter Real limit = 0.5;
    parameter Real T = 0.1;
    output Real y;
    output Boolean above;
    output Integer rises(start = 0, fixed = true);
    output Integer ticks(start = 0, fixed = true);
    output Level level "starts with the first";
    Real x(start = 0, fixed = true);
  equation
    above = u > limit;
    y = if u > limit then 2*u else u;
    der(x) = if above then 1 else 0;
    when above then
      rises = pre(rises) + 1;
      level = Level.high;
      reinit(x, 10);
    end when;
    when sample(0, T) then
      ticks = pre(ticks) + 1;
    end when;
  end Reading;

  model Stops "a body that Coulomb friction stops: the way of moving is that before the event"
    parameter Real F = 0.5 "push";
    parameter Real R = 1 "friction";
    output Real v(start = 1, fixed = true);
    output Integer way(start = 1, fixed = true);
  equation
    der(v) = if pre(way) == 1 then F - R else 0;
    way = if pre(way) == 1 and v > 0 then 1 else 0;
  end Stops;

  model Sticks "forwards and backwards contradict each other, and neither agrees with itself"
    discrete Real u(start = 15, fixed = true);
    Boolean forwards = s > 1;
    Boolean backwards = s < -1;
    output Real s = if forwards then u - 10 elseif backwards then u + 10 else u;
    output Real x(start = 0, fixed = true);
  equation
    der(x) = s;
    when time >= 1 then
      u = 0.5;
    end when;
  end Sticks;

  function split
    input Real x;
    output Real whole;
    output Real rest;
  protected
    Integer i = 0;
  algorithm
    while i < 2 loop
      i := i + 1;
    end while;
    whole := i*x;
    rest := x - 1;
  end split;

  model Algorithms "sections that give variables their values"
    Real x(start = 1, fixed = true);
    output Real part[3];
    output Real side;
    output Integer n(start = 0, fixed = true);
    output Boolean low(start = false, fixed = true);
    output Real last(start = 0, fixed = true);
    output Real whole(start = 0, fixed = true);
    output Real rest(start = 0, fixed = true);
  equation
    der(x) = -1;
  algorithm
    for i in 1:3 loop
      part[i] := i*x;
    end for;
  algorithm
    if x > 0.5 then
      side := 1;
    elseif x > 0 then
      side := 2;
    else
      side := 3;
    end if;
  algorithm
    when {x < 0.5, x < 0} then
      n := n + 1;
      last := x*n;
      low := true;
    elsewhen time > 1.25 then
      n := pre(n) + 10;
      low := false;
    end when;
  algorithm
    when time > 0.5 then
      (whole, rest) := split(time);
    end when;
  end Algorithms;

  model Checked "an assert at the start only"
    parameter Real x0 = 1;
    output Real x;
  initial equation
    x = x0;
  equation
    der(x) = -1;
    when initial() then
      assert(x > 0.5, "x is too small at the start");
    end when;
  end Checked;
  model BreakAway "What sticks begins to slide: barely true at the instant, and not any more behind it"
    parameter Real m = 1000;
    Real v(start = 0, fixed = true);
    Real a, f, sa;
    output Boolean sliding;
    output Real distance(start = 0, fixed = true);
  equation
    sliding = sa > 1;
    m*a = time - f;
    f = if sliding then 1 else sa;
    a = if sliding then sa - 1 else 0;
    der(v) = a;
    der(distance) = v;
  end BreakAway;

  model Noise "Relations of what is zero but for rounding, which have no effect"
    Real x(start = 0, fixed = true);
    parameter Real c[8] = {i + 0.1 for i in 1:8};
    parameter Real d[8] = {1/(i + 0.1) for i in 1:8};
    Real zero[8];
    output Boolean on, both;
  equation
    der(x) = 1;
    for i in 1:8 loop
      zero[i] = c[i]*x*d[i] - x;
    end for;
    on = x > 2;
    both = on and (zero[1] > 0 or zero[2] > 0 or zero[3] > 0 or zero[4] > 0 or zero[5] > 0 or zero[6] > 0
      or zero[7] > 0 or zero[8] > 0 or x > 2.5);
  end Noise;

end Events;
