within Mechanisms;
package UsersGuide "User's guide"
  extends Modelica.Icons.Information;
  annotation (
    preferredView="info",
    DocumentationClass=true,
    Documentation(info="<html>
<p>
The library holds machines whose parameters are estimated from measurements. A model becomes a Functional Mock-up Unit;
an identification tool sets its parameters and compares its outputs with what was measured.
</p>
<table border=\"1\" cellspacing=\"0\" cellpadding=\"2\">
<tr><th>Package</th><th>Holds</th></tr>
<tr><td><a href=\"modelica://Mechanisms.FMUs\">FMUs</a></td><td>Machines with signals, to be exported</td></tr>
<tr><td><a href=\"modelica://Mechanisms.Oscillators\">Oscillators</a></td><td>Mass-spring-damper</td></tr>
<tr><td><a href=\"modelica://Mechanisms.Friction\">Friction</a></td><td>Friction, translational and rotational</td></tr>
<tr><td><a href=\"modelica://Mechanisms.DriveTrains\">DriveTrains</a></td><td>Slide, positioning axis, geared rotary
drives, gears with losses, controllers</td></tr>
<tr><td><a href=\"modelica://Mechanisms.Linkages\">Linkages</a></td><td>Slider-crank</td></tr>
<tr><td><a href=\"modelica://Mechanisms.Robots\">Robots</a></td><td>Delta robot, tripod</td></tr>
<tr><td><a href=\"modelica://Mechanisms.Examples\">Examples</a></td><td>Machines with their drives and signals</td></tr>
</table>
</html>"));
end UsersGuide;
