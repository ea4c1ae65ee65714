within Modelica.Blocks;
package Types "Choices of blocks"
  extends Modelica.Icons.TypesPackage;
  type Init = enumeration(NoInit, SteadyState, InitialState, InitialOutput);
  type LimiterHomotopy = enumeration(NoHomotopy, Linear, UpperLimit, LowerLimit);
end Types;
