within Mechanisms.Icons;
partial model Friction "Frame, axes and name of a friction law"
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Rectangle(extent={{-100,100},{100,-100}}, lineColor={95,95,95}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Line(points={{-68,0},{73,0}}, color={160,160,160}, arrow={Arrow.None,Arrow.Filled}),
        Line(points={{0,-68},{0,73}}, color={160,160,160}, arrow={Arrow.None,Arrow.Filled}),
        Text(extent={{-150,150},{150,110}}, textColor={0,0,255}, textString="%name")}),
    Documentation(info="<html>
<p>Frame, axes and name of a friction law. It holds no equation.</p>
</html>"));
end Friction;
