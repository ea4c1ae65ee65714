within Mechanisms;
package Robots "Parallel robots"
  extends Icons.Package;
  annotation (Documentation(info="<html>
<p>Parallel robots with three drives: rotary arms (delta robot) and vertical rails (tripod).</p>
</html>"));
end Robots;
