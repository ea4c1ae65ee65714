model Arrays "Arrays of all types and kinds"
  parameter Real k[2, 2] = {{1, 2}, {3, 4}};
  input Real u[2];
  output Integer n[2](each start = 0, each fixed = true);
  output Boolean b[2];
  output Real s[2](each start = 0, each fixed = true);
  Real x[2](each start = 0, each fixed = true);
equation
  der(x) = k*u;
  b = {x[1] > 0.3, x[2] > 0.6};
  when b[1] then
    n = pre(n) + {1, 2};
    s = {time, 2*time};
  end when;
end Arrays;
