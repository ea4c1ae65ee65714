within Mechanisms.UsersGuide;
class AddingAMachine "How to add a machine"
  extends Modelica.Icons.Information;
  annotation (
    preferredView="info",
    DocumentationClass=true,
    Documentation(info="<html>
<ol>
<li>Write one file with one class, extend <a href=\"modelica://Mechanisms.Icons.Mechanism\">Icons.Mechanism</a> or an
    icon that shows the machine, and add its name to the <code>package.order</code> beside it.</li>
<li>Declare parameters, inputs and outputs with types of <a href=\"modelica://Mechanisms.Units\">Units</a>, literal
    defaults and a description each; follow the
    <a href=\"modelica://Mechanisms.UsersGuide.Conventions\">Conventions</a>.</li>
<li>Give energies and powers, an <code>experiment</code> annotation, and documentation with the headings Assumptions,
    Implementation, Limitations and References.</li>
<li>Add an example that drives it, and a test: the power balance at least, better an independent solution.</li>
</ol>
</html>"));
end AddingAMachine;
