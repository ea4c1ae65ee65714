within Mechanisms.Icons;
partial model Slide "Icon of a mass on a guide"
  extends Mechanism;
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-92,-19},{80,-19}}, color={64,64,64}),
        Line(points={{-84.4,-19},{-92,-26.6}}, color={64,64,64}),
        Line(points={{-72.9,-19},{-80.5,-26.6}}, color={64,64,64}),
        Line(points={{-61.4,-19},{-69.1,-26.6}}, color={64,64,64}),
        Line(points={{-50,-19},{-57.6,-26.6}}, color={64,64,64}),
        Line(points={{-38.5,-19},{-46.1,-26.6}}, color={64,64,64}),
        Line(points={{-27,-19},{-34.7,-26.6}}, color={64,64,64}),
        Line(points={{-15.6,-19},{-23.2,-26.6}}, color={64,64,64}),
        Line(points={{-4.1,-19},{-11.7,-26.6}}, color={64,64,64}),
        Line(points={{7.4,-19},{-0.3,-26.6}}, color={64,64,64}),
        Line(points={{18.8,-19},{11.2,-26.6}}, color={64,64,64}),
        Line(points={{30.3,-19},{22.7,-26.6}}, color={64,64,64}),
        Line(points={{41.8,-19},{34.1,-26.6}}, color={64,64,64}),
        Line(points={{53.2,-19},{45.6,-26.6}}, color={64,64,64}),
        Line(points={{64.7,-19},{57.1,-26.6}}, color={64,64,64}),
        Line(points={{76.2,-19},{68.5,-26.6}}, color={64,64,64}),
        Line(points={{-42.3,-19},{-38.5,-14.2},{-40.4,-9.4}}, color={200,60,40}),
        Line(points={{-32.8,-19},{-28.9,-14.2},{-30.8,-9.4}}, color={200,60,40}),
        Line(points={{-23.2,-19},{-19.4,-14.2},{-21.3,-9.4}}, color={200,60,40}),
        Line(points={{-13.6,-19},{-9.8,-14.2},{-11.7,-9.4}}, color={200,60,40}),
        Line(points={{-4.1,-19},{-0.3,-14.2},{-2.2,-9.4}}, color={200,60,40}),
        Line(points={{5.5,-19},{9.3,-14.2},{7.4,-9.4}}, color={200,60,40}),
        Line(points={{15,-19},{18.8,-14.2},{16.9,-9.4}}, color={200,60,40}),
        Line(points={{24.6,-19},{28.4,-14.2},{26.5,-9.4}}, color={200,60,40}),
        Rectangle(extent={{-49,52.7},{32.2,-9.4}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Line(points={{32.2,21.2},{80,21.2}}, color={0,0,127}, thickness=0.48, arrow={Arrow.None,Arrow.Filled}),
        Line(points={{-34.7,67},{17.9,67}}, color={64,64,64}, arrow={Arrow.None,Arrow.Filled}),
        Text(extent={{51.3,42.2},{74.3,25}}, textColor={0,0,127}, textString="u"),
        Text(extent={{-20.3,40.3},{3.6,15.4}}, textColor={64,64,64}, textString="m"),
        Text(extent={{20.8,76.6},{38,59.4}}, textColor={64,64,64}, textString="x")}),
    Documentation(info="<html>
<p>Icon of a mass on a guide. It holds no equation.</p>
</html>"));
end Slide;
