within Mechanisms.Icons;
partial function Function "Icon of a function"
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Ellipse(extent={{-100,100},{100,-100}}, lineColor={108,88,49}, fillColor={255,249,230},
          fillPattern=FillPattern.Solid),
        Text(extent={{-90,90},{90,-90}}, textColor={108,88,49}, textString="f"),
        Text(extent={{-150,150},{150,110}}, textColor={0,0,255}, textString="%name")}),
    Documentation(info="<html>
<p>Icon of a function. It holds no equation.</p>
</html>"));
end Function;
