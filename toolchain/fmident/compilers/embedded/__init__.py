"""The embedded Modelica compiler: rumoca, CasADi, SUNDIALS CVODE."""
