within Modelica;
package Mechanics "One-dimensional mechanics"
  extends Modelica.Icons.Package;
end Mechanics;
