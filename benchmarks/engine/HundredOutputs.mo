model HundredOutputs "One input and one hundred outputs that need nearly no time: the engine's own share shows"
  parameter Real gain = 1.0 "Common factor";
  parameter Real offset[100] = {0.01*i for i in 1:100} "Offsets";
  input Real u "Signal";
  output Real y[100] "Shifted copies";
equation
  for i in 1:100 loop
    y[i] = gain*u + offset[i];
  end for;
  annotation(Documentation(info="<html><p>For benchmarks/engine.py only.</p></html>"));
end HundredOutputs;
