within Mechanisms.UsersGuide;
class Connectors "Connectors, and why there are no flanges"
  extends Modelica.Icons.Information;
  annotation (
    preferredView="info",
    DocumentationClass=true,
    Documentation(info="<html>
<p>
Machines connect by signals: <a href=\"modelica://Modelica.Blocks.Interfaces.RealInput\">RealInput</a> and
<a href=\"modelica://Modelica.Blocks.Interfaces.RealOutput\">RealOutput</a> are the types of the connectors of that name in
<code>Modelica.Blocks.Interfaces</code>, so blocks of the standard library can drive a machine.
</p>
<p>There are no mechanical flanges, for three reasons.</p>
<ol>
<li>A machine becomes a Functional Mock-up Unit. Its interface is causal: inputs and outputs, with units.</li>
<li>Two bodies that are joined by rigid flanges share a position; the equations then have index three and a tool must
    choose states. Here every machine is written in its minimal coordinates and has index one, with the states that its
    class declares, for every compiler.</li>
<li>Machines with flanges exist: the library <code>MechanismsMSL</code> assembles the same machines from
    <code>Modelica.Mechanics</code>, and its friction elements wrap the laws of
    <a href=\"modelica://Mechanisms.Friction\">Friction</a> with the flanges, support and heat port of the standard
    library. The two libraries check each other.</li>
</ol>
<p>
To put a friction law of this library between flanges of your own, connect speed and force:
</p>
<blockquote><pre>
Mechanisms.Friction.TranslationalLuGre law;
equation
  law.v = der(flange.s);
  flange.f = law.f;
</pre></blockquote>
</html>"));
end Connectors;
