within Mechanisms;
package Icons "Icons"
  extends Modelica.Icons.Package;
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Rectangle(extent={{-60,20},{10,-50}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Ellipse(extent={{-10,0},{60,-70}}, lineColor={0,0,127}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid)}),
    Documentation(info="<html>
<p>Partial classes that hold an icon and nothing else.</p>
</html>"));
end Icons;
