within Mechanisms;
package Oscillators "Mass, spring and damper"
  extends Modelica.Icons.Package;
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-56,-61},{-56,16}}, color={64,64,64}),
        Line(points={{-56,-55.4},{-61.6,-61}}, color={64,64,64}),
        Line(points={{-56,-47},{-61.6,-52.6}}, color={64,64,64}),
        Line(points={{-56,-38.6},{-61.6,-44.2}}, color={64,64,64}),
        Line(points={{-56,-30.2},{-61.6,-35.8}}, color={64,64,64}),
        Line(points={{-56,-21.8},{-61.6,-27.4}}, color={64,64,64}),
        Line(points={{-56,-13.4},{-61.6,-19}}, color={64,64,64}),
        Line(points={{-56,-5},{-61.6,-10.6}}, color={64,64,64}),
        Line(points={{-56,3.4},{-61.6,-2.2}}, color={64,64,64}),
        Line(points={{-56,11.8},{-61.6,6.2}}, color={64,64,64}),
        Line(points={{-56,-5},{-48.4,-5},{-45.4,2},{-39.5,-12},{-33.5,2},{-27.5,-12},{-21.5,2},{-15.5,-12},
          {-9.5,2},{-3.6,-12},{-0.6,-5},{7,-5}}, color={64,64,64}),
        Line(points={{-56,-40},{-31.5,-40}}, color={64,64,64}),
        Rectangle(extent={{-31.5,-31.6},{-14.7,-48.4}}, lineColor={64,64,64}, fillColor={230,230,230},
          fillPattern=FillPattern.Solid),
        Line(points={{-23.1,-33},{-23.1,-47}}, color={64,64,64}, thickness=0.35),
        Line(points={{-23.1,-40},{7,-40}}, color={64,64,64}),
        Rectangle(extent={{7,12.5},{42,-57.5}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Line(points={{42,-22.5},{66.5,-22.5}}, color={0,0,127}, thickness=0.35, arrow={Arrow.None,Arrow.Filled}),
        Line(points={{7,-69.4},{42,-69.4}}, color={64,64,64}, arrow={Arrow.None,Arrow.Filled})}),
    Documentation(info="<html>
<p>
The linear oscillator of second order, once with its physical parameters and once in normal form.
</p>
</html>"));
end Oscillators;
