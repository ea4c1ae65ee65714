within Modelica.Blocks;
package Math "Blocks without states"
  extends Modelica.Icons.Package;

  block Gain
    parameter Real k(start = 1, unit = "1");
    Interfaces.RealInput u;
    Interfaces.RealOutput y;
  equation
    y = k*u;
  end Gain;

  block Feedback
    Interfaces.RealInput u1;
    Interfaces.RealInput u2;
    Interfaces.RealOutput y;
  equation
    y = u1 - u2;
  end Feedback;

  block Add
    extends Interfaces.SI2SO;
    parameter Real k1 = +1;
    parameter Real k2 = +1;
  equation
    y = k1*u1 + k2*u2;
  end Add;

  block Product
    extends Interfaces.SI2SO;
  equation
    y = u1*u2;
  end Product;
end Math;
