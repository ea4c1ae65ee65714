within Mechanisms.Icons;
partial package Package "Icon of a package"
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Rectangle(extent={{-100,100},{100,-100}}, radius=25, lineColor={95,95,95}, fillColor={245,245,245},
          fillPattern=FillPattern.Solid),
        Line(points={{-100,50},{100,50}}, color={95,95,95})}),
    Documentation(info="<html>
<p>Icon of a package. It holds no equation.</p>
</html>"));
end Package;
