within Mechanisms.UsersGuide;
class ReleaseNotes "Release notes"
  extends Icons.Information;
  annotation (
    preferredView="info",
    DocumentationClass=true,
    Documentation(info="<html>
<h4>Version 0.2.0, 2026-11-22</h4>
<p>
No name and no equation of a machine has changed: models that use version 0.1.0 need no conversion.
</p>
<ul>
<li>Inputs and outputs are connectors (<a href=\"modelica://Mechanisms.Interfaces.RealInput\">RealInput</a>,
    <a href=\"modelica://Mechanisms.Interfaces.RealOutput\">RealOutput</a>), with a place in icon and diagram.</li>
<li>Icons and diagrams that show the machine; examples are wired.</li>
<li>Parameter dialogs with groups and tabs.</li>
<li><a href=\"modelica://Mechanisms.Sources\">Sources</a>: <code>SumOfSines</code> and <code>Constant</code>.</li>
<li>User's guide: connectors, literature, license and contact.</li>
</ul>
<h4>Version 0.1.0, 2026-11-21</h4>
<p>First version: oscillators, friction laws, drive trains, slider-crank, delta robot and tripod.</p>
</html>"));
end ReleaseNotes;
