within Mechanisms.Icons;
partial model RotaryDrive "Icon of a geared drive with elastic shaft"
  extends Mechanism;
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Rectangle(extent={{-57,17.6},{-36,-13.6}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Text(extent={{-55.2,10.4},{-37.8,-6.4}}, textColor={64,64,64}, textString="M"),
        Rectangle(extent={{-36,5},{-21.6,-1}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Rectangle(extent={{-26.4,12.8},{-19.2,-8.8}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Rectangle(extent={{-19.2,38},{-10.8,12.8}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Rectangle(extent={{-10.8,28.4},{-2.4,22.4}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Line(points={{-2.4,25.4},{1.1,25.4},{2.4,30.8},{5.2,20},{7.9,30.8},{10.6,20},{13.4,30.8},{16.1,20},
          {18.8,30.8},{21.6,20},{22.9,25.4},{26.4,25.4}}, color={64,64,64}),
        Rectangle(extent={{26.4,28.4},{33.6,22.4}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Rectangle(extent={{33.6,47.6},{46.8,3.2}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Rectangle(extent={{46.8,28.4},{54,22.4}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Line(points={{-52.8,-19.6},{-39.6,-19.6}}, color={64,64,64}),
        Line(points={{-48,-19.6},{-52.8,-24.4}}, color={64,64,64}),
        Line(points={{-40.8,-19.6},{-45.6,-24.4}}, color={64,64,64}),
        Line(points={{-46.8,-13.6},{-46.8,-19.6}}, color={64,64,64}),
        Line(points={{50.4,22.4},{50.4,-0.4}}, color={64,64,64}),
        Line(points={{44.4,-0.4},{56.4,-0.4}}, color={64,64,64}),
        Line(points={{49.2,-0.4},{44.4,-5.2}}, color={64,64,64}),
        Line(points={{56.4,-0.4},{51.6,-5.2}}, color={64,64,64}),
        Line(points={{-12,-18.4},{28.8,-18.4}}, color={160,160,160}),
        Line(points={{8.4,-36.4},{8.4,-2.8}}, color={160,160,160}),
        Line(points={{-12,-31.6},{4.8,-26.8},{7.8,-24.4},{9,-12.4},{12,-10},{28.8,-5.2}}, color={200,60,40},
          thickness=0.3)}),
    Documentation(info="<html>
<p>Icon of a geared drive with elastic shaft. It holds no equation.</p>
</html>"));
end RotaryDrive;
