within Mechanisms;
package Functions "Smooth forms of limits, roots and of losses in gears"
  extends Modelica.Icons.FunctionsPackage;
  annotation (Documentation(info="<html>
<p>
Functions whose result can be differentiated any number of times, where the exact form has a kink or a jump. Arguments
without a unit serve several quantities; the models that call them declare the units.
</p>
</html>"));
end Functions;
