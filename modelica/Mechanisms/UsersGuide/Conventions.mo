within Mechanisms.UsersGuide;
class Conventions "Conventions"
  extends Modelica.Icons.Information;
  annotation (
    preferredView="info",
    DocumentationClass=true,
    Documentation(info="<html>
<ul>
<li>Parameters to be estimated are at the top level of the model with literal defaults, never final, never protected,
    never computed from another parameter: so they stay tunable in an exported FMU.</li>
<li>Forward and inverse model of a machine extend one component that has its equations. Inverse models take position,
    speed and acceleration as three inputs <code>q</code>, <code>qd</code>, <code>qdd</code>, which must fit
    together.</li>
<li>Every machine outputs <code>kineticEnergy</code>, <code>potentialEnergy</code>, <code>inputPower</code> and
    <code>dissipatedPower</code>, and <code>inputPower = der(kineticEnergy + potentialEnergy) + dissipatedPower</code>
    along every motion. Friction has <code>storedEnergy</code> and <code>lossPower</code> instead.</li>
<li>The smooth form of a sign, and of the direction of power, is <code>tanh(x/width)</code>; that of a magnitude is
    <code>x*tanh(x/width)</code>; limits have rounded corners. The width is a parameter. It belongs to the model and not
    to the solver: choose it well below the speeds, powers or torques of interest. Classes whose name ends in
    <code>WithEvents</code> stick and switch by state events instead.</li>
<li>No division by the mass or inertia of a single body, so that it can be zero.</li>
<li>States of micrometre size have nominal values, so that the absolute tolerance of the solver fits.</li>
<li>What is out of range is an <code>assert</code> whose message says what to check.</li>
<li>Every connector has a place in the icon: drives on the left, results on the right, energies and powers below. Every
    component has a place in the diagram and every connection a line.</li>
<li>Every parameter has a group in the dialog; widths of smooth forms are on the tab <em>Advanced</em>, start values on
    the tab <em>Initialization</em>.</li>
<li>One thing has one name. Where a machine has two of them, the name has a prefix: <code>coulombTorque</code>, but
    <code>motorCoulombTorque</code> and <code>loadCoulombTorque</code>. The start value of <code>x</code> is
    <code>x_start</code>. The symbol of the literature is at the end of the description.</li>
<li>SI units on everything; angles in radians.</li>
</ul>
</html>"));
end Conventions;
