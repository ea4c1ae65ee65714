within Mechanisms.Icons;
partial class Information "Icon of a page of documentation"
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Ellipse(extent={{-100,100},{100,-100}}, lineColor={75,138,73}, fillColor={235,245,235},
          fillPattern=FillPattern.Solid),
        Text(extent={{-80,80},{80,-80}}, textColor={75,138,73}, textString="i")}),
    Documentation(info="<html>
<p>Icon of a page of documentation. It holds no equation.</p>
</html>"));
end Information;
