within Mechanisms.UsersGuide;
class AddingAMachine "How to add a machine"
  extends Modelica.Icons.Information;
  annotation (
    preferredView="info",
    DocumentationClass=true,
    Documentation(info="<html>
<ol>
<li>Write one file with one class, and add its name to the <code>package.order</code> beside it. Give it flanges, made
    of parts of the standard library and of this one, joined by <code>connect</code>. Write equations for what is
    left.</li>
<li>Declare parameters with types of <code>Modelica.Units.SI</code>, literal defaults and a description; follow the
    <a href=\"modelica://Mechanisms.UsersGuide.Conventions\">Conventions</a>.</li>
<li>In equations use the force or torque of a part, not of the class's own flange: a class that extends it can then
    connect a source to that flange. Prefer the states of the machine by <code>StateSelect.prefer</code>, since an
    inverse model has none.</li>
<li>Extend it in <a href=\"modelica://Mechanisms.FMUs\">FMUs</a>, with an <code>experiment</code> annotation.</li>
<li>Add an example that drives it, and a test: the power balance at least, better an independent solution.</li>
</ol>
</html>"));
end AddingAMachine;
