within Mechanisms.Icons;
partial package InterfacesPackage "Icon of a package of interfaces"
  extends Package;
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Polygon(points={{-70,0},{-20,-22},{-70,-44},{-70,0}}, lineColor={0,0,127}, fillColor={0,0,127},
          fillPattern=FillPattern.Solid),
        Polygon(points={{20,0},{70,-22},{20,-44},{20,0}}, lineColor={0,0,127}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Line(points={{-20,-22},{20,-22}}, color={0,0,127})}),
    Documentation(info="<html>
<p>Icon of a package of interfaces. It holds no equation.</p>
</html>"));
end InterfacesPackage;
