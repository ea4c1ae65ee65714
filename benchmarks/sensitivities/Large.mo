package Large "Models of 200 states and 50 parameters"
  model Chain "A chain of 100 masses between springs of 50 stiffnesses, pulled at one end"
    parameter Integer n = 100;
    parameter Integer groups = 50;
    parameter Real k[groups] = fill(4e4, groups);
    parameter Real d = 2;
    input Real f(start = 0);
    Real s[n](each start = 0, each fixed = true);
    Real v[n](each start = 0, each fixed = true);
    output Real first;
    output Real middle;
    output Real last;
  protected
    Real force[n];
  equation
    force[1] = k[1]*s[1] + d*v[1];
    for i in 2:n loop
      force[i] = k[div(i + 1, 2)]*(s[i] - s[i - 1]) + d*(v[i] - v[i - 1]);
    end for;
    for i in 1:n loop
      der(s[i]) = v[i];
    end for;
    for i in 1:n - 1 loop
      der(v[i]) = force[i + 1] - force[i];
    end for;
    der(v[n]) = f - force[n];
    first = s[1];
    middle = s[50];
    last = s[n];
  end Chain;

  model Rod "A rod of 200 cells, heated at one end, with 50 conductances"
    parameter Integer n = 200;
    parameter Integer groups = 50;
    parameter Real k[groups] = fill(100, groups);
    input Real q(start = 0);
    Real T[n](each start = 0, each fixed = true);
    output Real first;
    output Real middle;
    output Real last;
  protected
    Real heat[n + 1];
  equation
    heat[1] = q;
    for i in 2:n loop
      heat[i] = k[div(i + 3, 4)]*(T[i - 1] - T[i]);
    end for;
    heat[n + 1] = T[n];
    for i in 1:n loop
      der(T[i]) = heat[i] - heat[i + 1];
    end for;
    first = T[1];
    middle = T[100];
    last = T[n];
  end Rod;
end Large;
