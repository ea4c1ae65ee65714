model Ladder "Chain of ten heat capacities, heated at one end"
  parameter Real R[10] = {0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5};
  parameter Real C[10] = {3.0, 4.0, 2.0, 3.0, 4.0, 2.0, 3.0, 4.0, 2.0, 3.0};
  output Real T[10](each start = 0, each fixed = true);
equation
  C[1]*der(T[1]) = 10 - (T[1] - T[2])/R[1];
  for i in 2:9 loop
    C[i]*der(T[i]) = (T[i - 1] - T[i])/R[i - 1] - (T[i] - T[i + 1])/R[i];
  end for;
  C[10]*der(T[10]) = (T[9] - T[10])/R[9] - T[10]/R[10];
end Ladder;
