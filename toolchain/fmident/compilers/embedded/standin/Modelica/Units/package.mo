within Modelica;
package Units "Units of measurement"
  extends Modelica.Icons.Package;
end Units;
