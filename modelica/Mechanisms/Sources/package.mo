within Mechanisms;
package Sources "Motions that excite a machine"
  extends Icons.Package;
  annotation (Documentation(info="<html>
<p>
Signals whose position, speed and acceleration fit together exactly, for inverse models.
</p>
</html>"));
end Sources;
