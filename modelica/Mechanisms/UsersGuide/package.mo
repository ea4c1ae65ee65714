within Mechanisms;
package UsersGuide "User's guide"
  extends Modelica.Icons.Information;
  annotation (
    preferredView="info",
    DocumentationClass=true,
    Documentation(info="<html>
<p>
The library holds machines whose parameters are estimated from measurements. It is written for export: a model becomes a
Functional Mock-up Unit, an identification tool sets its parameters and compares its outputs with what was measured.
</p>
<table border=\"1\" cellspacing=\"0\" cellpadding=\"2\">
<tr><th>Package</th><th>Holds</th></tr>
<tr><td><a href=\"modelica://Mechanisms.Oscillators\">Oscillators</a></td><td>Mass-spring-damper, in physical and in
normal form</td></tr>
<tr><td><a href=\"modelica://Mechanisms.Friction\">Friction</a></td><td>Friction laws, translational and
rotational</td></tr>
<tr><td><a href=\"modelica://Mechanisms.DriveTrains\">DriveTrains</a></td><td>Slide with LuGre friction, positioning
axis, geared rotary drives</td></tr>
<tr><td><a href=\"modelica://Mechanisms.Linkages\">Linkages</a></td><td>Slider-crank, inverse and forward</td></tr>
<tr><td><a href=\"modelica://Mechanisms.Robots\">Robots</a></td><td>Delta robot, inverse and forward; tripod
with cascade control, and its inverse</td></tr>
<tr><td><a href=\"modelica://Mechanisms.Examples\">Examples</a></td><td>Every machine with an input signal</td></tr>
</table>
</html>"));
end UsersGuide;
