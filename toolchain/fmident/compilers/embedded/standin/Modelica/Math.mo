within Modelica;
package Math "Functions of numbers"
  extends Modelica.Icons.FunctionsPackage;

  function sin
    extends Modelica.Icons.Function;
    input Modelica.Units.SI.Angle u;
    output Real y;
  external "builtin" y = sin(u);
  end sin;

  function cos
    extends Modelica.Icons.Function;
    input Modelica.Units.SI.Angle u;
    output Real y;
  external "builtin" y = cos(u);
  end cos;

  function tan
    extends Modelica.Icons.Function;
    input Modelica.Units.SI.Angle u;
    output Real y;
  external "builtin" y = tan(u);
  end tan;

  function asin
    extends Modelica.Icons.Function;
    input Real u;
    output Modelica.Units.SI.Angle y;
  external "builtin" y = asin(u);
  end asin;

  function acos
    extends Modelica.Icons.Function;
    input Real u;
    output Modelica.Units.SI.Angle y;
  external "builtin" y = acos(u);
  end acos;

  function atan
    extends Modelica.Icons.Function;
    input Real u;
    output Modelica.Units.SI.Angle y;
  external "builtin" y = atan(u);
  end atan;

  function atan2
    extends Modelica.Icons.Function;
    input Real u1;
    input Real u2;
    output Modelica.Units.SI.Angle y;
  external "builtin" y = atan2(u1, u2);
  end atan2;

  function sinh
    extends Modelica.Icons.Function;
    input Real u;
    output Real y;
  external "builtin" y = sinh(u);
  end sinh;

  function cosh
    extends Modelica.Icons.Function;
    input Real u;
    output Real y;
  external "builtin" y = cosh(u);
  end cosh;

  function tanh
    extends Modelica.Icons.Function;
    input Real u;
    output Real y;
  external "builtin" y = tanh(u);
  end tanh;

  function exp
    extends Modelica.Icons.Function;
    input Real u;
    output Real y;
  external "builtin" y = exp(u);
  end exp;

  function log
    extends Modelica.Icons.Function;
    input Real u;
    output Real y;
  external "builtin" y = log(u);
  end log;

  function log10
    extends Modelica.Icons.Function;
    input Real u;
    output Real y;
  external "builtin" y = log10(u);
  end log10;

  function asinh
    extends Modelica.Icons.Function;
    input Real u;
    output Real y;
  algorithm
    y := log(u + sqrt(u*u + 1));
  end asinh;

  function acosh
    extends Modelica.Icons.Function;
    input Real u;
    output Real y;
  algorithm
    assert(u >= 1, "acosh is defined from 1 on");
    y := log(u + sqrt(u*u - 1));
  end acosh;

  function isEqual
    extends Modelica.Icons.Function;
    input Real s1;
    input Real s2;
    input Real eps(min = 0) = 0;
    output Boolean result;
  algorithm
    result := abs(s1 - s2) <= eps;
  end isEqual;
end Math;
