within Modelica.Blocks;
package Continuous "Blocks with states"
  extends Modelica.Icons.Package;
  import Modelica.Blocks.Types.Init;

  block Integrator
    extends Interfaces.SISO(y(start = y_start));
    parameter Real k(unit = "1") = 1;
    parameter Init initType = Init.InitialState;
    parameter Real y_start = 0;
  initial equation
    if initType == Init.SteadyState then
      der(y) = 0;
    elseif initType <> Init.NoInit then
      y = y_start;
    end if;
  equation
    der(y) = k*u;
  end Integrator;

  block FirstOrder
    extends Interfaces.SISO(y(start = y_start));
    parameter Real k(unit = "1") = 1;
    parameter Modelica.Units.SI.Time T(start = 1);
    parameter Init initType = Init.NoInit;
    parameter Real y_start = 0;
  initial equation
    if initType == Init.SteadyState then
      der(y) = 0;
    elseif initType <> Init.NoInit then
      y = y_start;
    end if;
  equation
    T*der(y) = k*u - y;
  end FirstOrder;

  block PI
    extends Interfaces.SISO;
    parameter Real k(unit = "1") = 1;
    parameter Modelica.Units.SI.Time T(start = 1, min = Modelica.Constants.small);
    parameter Init initType = Init.NoInit;
    parameter Real x_start = 0;
    parameter Real y_start = 0;
    output Real x(start = x_start);
  initial equation
    if initType == Init.SteadyState then
      der(x) = 0;
    elseif initType == Init.InitialState then
      x = x_start;
    elseif initType == Init.InitialOutput then
      y = y_start;
    end if;
  equation
    T*der(x) = u;
    y = k*(u + x);
  end PI;
end Continuous;
