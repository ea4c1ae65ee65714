within MechanismsMSL.UsersGuide;
class ReleaseNotes "Release notes"
  extends Modelica.Icons.ReleaseNotes;
  annotation (
    preferredView="info",
    DocumentationClass=true,
    Documentation(info="<html>
<h4>Version 0.2.0, 2026-11-22</h4>
<ul>
<li>Diagrams: every component has a place and every connection a line. Icons show the machine.</li>
<li>Parameter dialogs with groups and tabs.</li>
<li>The smooth friction elements put the laws of <a href=\"modelica://Mechanisms.Friction\">Mechanisms.Friction</a>
between
    flanges instead of repeating them. The LuGre elements, <code>SlideWithLuGreFriction</code> and
    <code>RotaryDriveWithLuGreFriction</code> have the parameter <code>reversalWidth</code>
(<code>loadReversalWidth</code>)
    of their counterparts. <code>MechanismsMSL.Friction.Functions</code> is
    <a href=\"modelica://Mechanisms.Friction.Functions\">Mechanisms.Friction.Functions</a> now: the conversion script
renames
    the calls; <code>lugreDeflectionRate</code> has one more input, <code>width</code>, which must be added by
hand.</li>
<li>Inputs and outputs of the delta robot and of the slider-crank are connectors.</li>
<li>Machines no longer have the icon of an example.</li>
</ul>
<h4>Version 0.1.0</h4>
<p>First version.</p>
</html>"));
end ReleaseNotes;
