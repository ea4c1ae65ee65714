within Mechanisms.Interfaces;
connector RealOutput = output Real "Signal out of a machine" annotation (
  defaultComponentName="y",
  Icon(coordinateSystem(preserveAspectRatio=true, extent={{-100,-100},{100,100}}), graphics={
        Polygon(points={{-100,100},{100,0},{-100,-100},{-100,100}}, lineColor={0,0,127}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid)}),
  Diagram(coordinateSystem(preserveAspectRatio=true, extent={{-100,-100},{100,100}}), graphics={
        Polygon(points={{-100,50},{0,0},{-100,-50},{-100,50}}, lineColor={0,0,127}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Text(extent={{-100,130},{300,70}}, textColor={0,0,127}, textString="%name")}),
  Documentation(info="<html>
<p>
An output signal. It is the same type as <code>Modelica.Blocks.Interfaces.RealOutput</code>, so the two can be
connected.
</p>
</html>"));
