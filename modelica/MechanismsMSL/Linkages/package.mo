within MechanismsMSL;
package Linkages "Planar linkages with closed loops"
  extends Modelica.Icons.Package;
  annotation (
    Documentation(info="<html>
<p>
Planar mechanisms with a closed kinematic loop, assembled from <code>MultiBody</code> joints and bodies. The loop is
solved by an aggregated joint of the standard library, so that no nonlinear system of equations is left.
</p>
</html>"));
end Linkages;
