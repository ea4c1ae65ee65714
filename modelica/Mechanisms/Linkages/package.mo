within Mechanisms;
package Linkages "Planar linkages with closed loops"
  extends Icons.Package;
  annotation (Documentation(info="<html>
<p>
Planar mechanisms with a closed kinematic loop, solved in closed form.
</p>
</html>"));
end Linkages;
