within Mechanisms.UsersGuide;
class ReleaseNotes "Release notes"
  extends Icons.Information;
  annotation (
    DocumentationClass=true,
    Documentation(info="<html>
<h4>Version 0.1.0</h4>
<p>First version: oscillators, friction laws, drive trains, slider-crank, delta robot and tripod.</p>
</html>"));
end ReleaseNotes;
