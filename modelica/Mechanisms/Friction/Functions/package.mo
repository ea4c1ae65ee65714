within Mechanisms.Friction;
package Functions "Friction laws shared by the torque and the force versions"
  extends Modelica.Icons.FunctionsPackage;
  annotation (Documentation(info="<html>
<p>
The arguments carry no unit, because the same law serves torque over angular velocity and force over velocity. The
models that call these functions declare the units.
</p>
</html>"));
end Functions;
