within Mechanisms;
package Examples "Machines with their input signals"
  extends Modelica.Icons.ExamplesPackage;
  annotation (Documentation(info="<html>
<p>Each example runs as it is.</p>
</html>"));
end Examples;
