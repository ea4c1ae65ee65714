within Mechanisms.Icons;
partial model SerialArm "Icon of an open chain of links"
  extends Mechanism;
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Polygon(points={{-60,-55},{-10,-55},{-20,-25},{-50,-25},{-60,-55}}, lineColor={64,64,64},
          fillColor={192,192,192}, fillPattern=FillPattern.Solid),
        Line(points={{-35,-25},{-35,-5},{-15,45},{40,35},{55,5}}, color={90,110,150}, thickness=2),
        Ellipse(extent={{-43,3},{-27,-13}}, lineColor={64,64,64}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Ellipse(extent={{-23,53},{-7,37}}, lineColor={64,64,64}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Ellipse(extent={{33,42},{47,28}}, lineColor={64,64,64}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid)}),
    Documentation(info="<html>
<p>Icon of an open chain of links. It holds no equation.</p>
</html>"));
end SerialArm;
