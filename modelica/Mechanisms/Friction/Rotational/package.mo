within Mechanisms.Friction;
package Rotational "Friction of bearings"
  extends Modelica.Icons.Package;
  annotation (Documentation(info="<html>
<p>Friction between shafts and their bearings.</p>
</html>"));
end Rotational;
