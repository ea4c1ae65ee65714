within;
package Modelica "Stand-in of fmident for parts of the Modelica Standard Library"
  // Where the library is not found, this answers what nearly every model names: types of quantities,
  // conversions, constants, functions, connectors of blocks and icons. Names, units and values are those of
  // version 4.0.0; anything else of the library is not here, and a model that needs it is refused.
end Modelica;
