within Mechanisms.Friction;
package Translational "Friction of guides"
  extends Modelica.Icons.Package;
  annotation (Documentation(info="<html>
<p>Friction between slides and their guides.</p>
</html>"));
end Translational;
