within Mechanisms;
package Icons "Icons"
  extends Icons.Package;
  annotation (Documentation(info="<html>
<p>Partial classes that hold an icon and nothing else.</p>
</html>"));
end Icons;
