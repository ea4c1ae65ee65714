within Mechanisms.Friction;
package Interfaces "Partial models of friction laws"
  extends Modelica.Icons.InterfacesPackage;
  annotation (Documentation(info="<html>
<p>Signals of a friction law. A law adds the equations for force or torque, energy and lost power.</p>
</html>"));
end Interfaces;
