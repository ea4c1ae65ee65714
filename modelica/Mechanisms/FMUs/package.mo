within Mechanisms;
package FMUs "Machines with signals as inputs and outputs, to be exported"
  extends Modelica.Icons.Package;
  annotation (Documentation(info="<html>
<p>
Each class extends a component of the library with inputs, outputs and the sources that drive its flanges. Parameters
are those of the component. Inverse models take the motion of the drives and give their forces or torques; position,
speed and acceleration are inputs of their own, of which each must be the derivative of the one before.
</p>
</html>"));
end FMUs;
