within Mechanisms.UsersGuide;
class License "License"
  extends Modelica.Icons.Information;
  annotation (
    preferredView="info",
    DocumentationClass=true,
    Documentation(info="<html>
<p>
This library is part of fmident and is distributed under the Apache License, version 2.0, whose text is in the file
<code>LICENSE</code> of fmident and at
<a href=\"http://www.apache.org/licenses/LICENSE-2.0\">www.apache.org/licenses/LICENSE-2.0</a>. It is distributed on an
\"as is\" basis, without warranties or conditions of any kind.
</p>
</html>"));
end License;
