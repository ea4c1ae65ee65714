within Mechanisms;
package DriveTrains "Drive trains with friction"
  extends Icons.Package;
  annotation (Documentation(info="<html>
<p>
A slide with LuGre friction, a linear positioning axis and geared rotary drives with an elastic shaft.
</p>
</html>"));
end DriveTrains;
