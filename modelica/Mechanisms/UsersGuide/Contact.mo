within Mechanisms.UsersGuide;
class Contact "Contact"
  extends Modelica.Icons.Information;
  annotation (
    preferredView="info",
    DocumentationClass=true,
    Documentation(info="<html>
<p>
The library is developed together with fmident. Please report errors and wishes to the issue tracker of fmident, with
the class, the tool and its version, and the smallest model that shows the problem.
</p>
</html>"));
end Contact;
