within Mechanisms.Icons;
partial model Example "Icon of a model that runs as it is"
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Ellipse(extent={{-100,100},{100,-100}}, lineColor={75,138,73}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Polygon(points={{-36,60},{64,0},{-36,-60},{-36,60}}, lineColor={75,138,73}, fillColor={75,138,73},
          fillPattern=FillPattern.Solid)}),
    Documentation(info="<html>
<p>Icon of a model that runs as it is. It holds no equation.</p>
</html>"));
end Example;
