within Mechanisms.Interfaces;
connector RealInput = input Real "Signal into a machine" annotation (
  defaultComponentName="u",
  Icon(coordinateSystem(preserveAspectRatio=true, extent={{-100,-100},{100,100}}), graphics={
        Polygon(points={{-100,100},{100,0},{-100,-100},{-100,100}}, lineColor={0,0,127}, fillColor={0,0,127},
          fillPattern=FillPattern.Solid)}),
  Diagram(coordinateSystem(preserveAspectRatio=true, extent={{-100,-100},{100,100}}), graphics={
        Polygon(points={{0,50},{100,0},{0,-50},{0,50}}, lineColor={0,0,127}, fillColor={0,0,127},
          fillPattern=FillPattern.Solid),
        Text(extent={{-140,120},{100,60}}, textColor={0,0,127}, textString="%name")}),
  Documentation(info="<html>
<p>
An input signal. It is the same type as <code>Modelica.Blocks.Interfaces.RealInput</code>, so the two can be connected.
</p>
</html>"));
