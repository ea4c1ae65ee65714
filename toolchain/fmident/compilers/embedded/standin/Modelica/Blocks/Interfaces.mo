within Modelica.Blocks;
package Interfaces "Connectors and partial blocks of input/output blocks"
  extends Modelica.Icons.InterfacesPackage;
  connector RealInput = input Real;
  connector RealOutput = output Real;
  connector BooleanInput = input Boolean;
  connector BooleanOutput = output Boolean;
  connector IntegerInput = input Integer;
  connector IntegerOutput = output Integer;
  connector RealVectorInput = input Real;
  connector IntegerVectorInput = input Integer;
  connector BooleanVectorInput = input Boolean;
  connector RealVectorOutput = output Real;

  partial block SO
    extends Modelica.Blocks.Icons.Block;
    RealOutput y;
  end SO;

  partial block MO
    extends Modelica.Blocks.Icons.Block;
    parameter Integer nout(min = 1) = 1;
    RealOutput y[nout];
  end MO;

  partial block SISO
    extends Modelica.Blocks.Icons.Block;
    RealInput u;
    RealOutput y;
  end SISO;

  partial block SI2SO
    extends Modelica.Blocks.Icons.Block;
    RealInput u1;
    RealInput u2;
    RealOutput y;
  end SI2SO;

  partial block SIMO
    extends Modelica.Blocks.Icons.Block;
    parameter Integer nout = 1;
    RealInput u;
    RealOutput y[nout];
  end SIMO;

  partial block MISO
    extends Modelica.Blocks.Icons.Block;
    parameter Integer nin = 1;
    RealInput u[nin];
    RealOutput y;
  end MISO;

  partial block MIMO
    extends Modelica.Blocks.Icons.Block;
    parameter Integer nin = 1;
    parameter Integer nout = 1;
    RealInput u[nin];
    RealOutput y[nout];
  end MIMO;

  partial block MIMOs
    extends Modelica.Blocks.Icons.Block;
    parameter Integer n = 1;
    RealInput u[n];
    RealOutput y[n];
  end MIMOs;

  partial block MI2MO
    extends Modelica.Blocks.Icons.Block;
    parameter Integer n = 1;
    RealInput u1[n];
    RealInput u2[n];
    RealOutput y[n];
  end MI2MO;

  partial block SignalSource
    extends SO;
    parameter Real offset = 0;
    parameter Modelica.Units.SI.Time startTime = 0;
  end SignalSource;

  partial block SVcontrol
    extends Modelica.Blocks.Icons.Block;
    RealInput u_s;
    RealInput u_m;
    RealOutput y;
  end SVcontrol;

  partial block MVcontrol
    extends Modelica.Blocks.Icons.Block;
    parameter Integer nu_s = 1;
    parameter Integer nu_m = 1;
    parameter Integer ny = 1;
    RealInput u_s[nu_s];
    RealInput u_m[nu_m];
    RealOutput y[ny];
  end MVcontrol;
end Interfaces;
