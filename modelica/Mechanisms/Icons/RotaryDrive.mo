within Mechanisms.Icons;
partial model RotaryDrive "Icon of a geared drive with elastic shaft"
  extends Mechanism;
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Rectangle(extent={{-92,14.2},{-67.2,-22.7}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Text(extent={{-89.9,5.7},{-69.3,-14.2}}, textColor={64,64,64}, textString="M"),
        Rectangle(extent={{-67.2,-0.7},{-50.2,-7.8}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Rectangle(extent={{-55.8,8.5},{-47.3,-17}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Rectangle(extent={{-47.3,38.3},{-37.4,8.5}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Rectangle(extent={{-37.4,26.9},{-27.5,19.9}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Line(points={{-27.5,23.4},{-23.3,23.4},{-21.8,29.8},{-18.5,17},{-15.3,29.8},{-12.1,17},{-8.8,29.8},{-5.6,17},
          {-2.4,29.8},{0.9,17},{2.4,23.4},{6.6,23.4}}, color={64,64,64}),
        Rectangle(extent={{6.6,26.9},{15.1,19.9}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Rectangle(extent={{15.1,49.6},{30.7,-2.8}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Rectangle(extent={{30.7,26.9},{39.2,19.9}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Line(points={{-87,-29.8},{-71.4,-29.8}}, color={64,64,64}),
        Line(points={{-81.4,-29.8},{-87,-35.4}}, color={64,64,64}),
        Line(points={{-72.9,-29.8},{-78.5,-35.4}}, color={64,64,64}),
        Line(points={{-79.9,-22.7},{-79.9,-29.8}}, color={64,64,64}),
        Line(points={{34.9,19.9},{34.9,-7.1}}, color={64,64,64}),
        Line(points={{27.8,-7.1},{42,-7.1}}, color={64,64,64}),
        Line(points={{33.5,-7.1},{27.8,-12.8}}, color={64,64,64}),
        Line(points={{42,-7.1},{36.3,-12.8}}, color={64,64,64}),
        Line(points={{-38.8,-28.4},{9.4,-28.4}}, color={160,160,160}),
        Line(points={{-14.7,-49.6},{-14.7,-9.9}}, color={160,160,160}),
        Line(points={{-38.8,-44},{-19,-38.3},{-15.4,-35.4},{-14,-21.3},{-10.5,-18.4},{9.4,-12.8}}, color={200,60,40},
          thickness=0.35)}),
    Documentation(info="<html>
<p>Icon of a geared drive with elastic shaft. It holds no equation.</p>
</html>"));
end RotaryDrive;
