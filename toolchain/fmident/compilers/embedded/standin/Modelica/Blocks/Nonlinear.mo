within Modelica.Blocks;
package Nonlinear "Blocks that bend a signal"
  extends Modelica.Icons.Package;

  block Limiter
    extends Interfaces.SISO;
    parameter Real uMax(start = 1);
    parameter Real uMin = -uMax;
    parameter Boolean strict = false;
    parameter Types.LimiterHomotopy homotopyType = Types.LimiterHomotopy.Linear;
  equation
    assert(uMax >= uMin, "Limiter: the upper limit lies below the lower one");
    if strict then
      y = smooth(0, noEvent(if u > uMax then uMax elseif u < uMin then uMin else u));
    else
      y = smooth(0, if u > uMax then uMax elseif u < uMin then uMin else u);
    end if;
  end Limiter;
end Nonlinear;
