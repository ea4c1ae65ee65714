within Mechanisms;
package Interfaces "Partial models of machines"
  extends Modelica.Icons.InterfacesPackage;
  annotation (Documentation(info="<html>
<p>What the variants of a machine share: parameters, signals and mechanics.</p>
</html>"));
end Interfaces;
