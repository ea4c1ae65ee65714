within Modelica;
package Electrical "Circuits"
  extends Modelica.Icons.Package;
end Electrical;
