within Mechanisms.Icons;
partial package ExamplesPackage "Icon of a package of examples"
  extends Package;
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Polygon(points={{-40,30},{50,-22},{-40,-74},{-40,30}}, lineColor={75,138,73}, fillColor={75,138,73},
          fillPattern=FillPattern.Solid)}),
    Documentation(info="<html>
<p>Icon of a package of examples. It holds no equation.</p>
</html>"));
end ExamplesPackage;
