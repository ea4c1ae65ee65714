within Mechanisms.Icons;
partial model MassSpringDamper "Icon of a mass on spring and damper"
  extends Mechanism;
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-82.7,-40.8},{-82.7,59}}, color={64,64,64}),
        Line(points={{-82.7,-33.6},{-90,-40.8}}, color={64,64,64}),
        Line(points={{-82.7,-22.7},{-90,-29.9}}, color={64,64,64}),
        Line(points={{-82.7,-11.8},{-90,-19}}, color={64,64,64}),
        Line(points={{-82.7,-0.9},{-90,-8.2}}, color={64,64,64}),
        Line(points={{-82.7,10},{-90,2.7}}, color={64,64,64}),
        Line(points={{-82.7,20.9},{-90,13.6}}, color={64,64,64}),
        Line(points={{-82.7,31.7},{-90,24.5}}, color={64,64,64}),
        Line(points={{-82.7,42.6},{-90,35.4}}, color={64,64,64}),
        Line(points={{-82.7,53.5},{-90,46.3}}, color={64,64,64}),
        Line(points={{-82.7,31.7},{-72.9,31.7},{-69,40.8},{-61.3,22.7},{-53.6,40.8},{-45.9,22.7},{-38,40.8},
          {-30.3,22.7},
          {-22.6,40.8},{-14.9,22.7},{-10.9,31.7},{-1.1,31.7}}, color={64,64,64}),
        Line(points={{-82.7,-13.6},{-51,-13.6}}, color={64,64,64}),
        Rectangle(extent={{-51,-2.7},{-29.2,-24.5}}, lineColor={64,64,64}, fillColor={230,230,230},
          fillPattern=FillPattern.Solid),
        Line(points={{-40.1,-4.5},{-40.1,-22.7}}, color={64,64,64}, thickness=0.45),
        Line(points={{-40.1,-13.6},{-1.1,-13.6}}, color={64,64,64}),
        Rectangle(extent={{-1.1,54.4},{44.3,-36.3}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Line(points={{44.3,9.1},{76,9.1}}, color={0,0,127}, thickness=0.45, arrow={Arrow.None,Arrow.Filled}),
        Line(points={{-1.1,-51.7},{44.3,-51.7}}, color={64,64,64}, arrow={Arrow.None,Arrow.Filled}),
        Text(extent={{47.9,29.9},{76,13.6}}, textColor={0,0,127}, textString="F"),
        Text(extent={{-64.6,59},{-19.2,44.4}}, textColor={64,64,64}, textString="k"),
        Text(extent={{-64.6,-26.3},{-19.2,-40.8}}, textColor={64,64,64}, textString="d"),
        Text(extent={{8,22.7},{35.2,-4.5}}, textColor={64,64,64}, textString="m"),
        Text(extent={{46.1,-44.4},{62.4,-59}}, textColor={64,64,64}, textString="x")}),
    Documentation(info="<html>
<p>Icon of a mass on spring and damper. It holds no equation.</p>
</html>"));
end MassSpringDamper;
