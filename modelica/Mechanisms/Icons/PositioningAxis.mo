within Mechanisms.Icons;
partial model PositioningAxis "Icon of a positioning axis under control"
  extends Mechanism;
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Rectangle(extent={{-92,34.3},{-62.2,1.5}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Text(extent={{-88.3,26.9},{-65.9,9}}, textColor={64,64,64}, textString="M"),
        Rectangle(extent={{-62.2,20.9},{46,14.9}}, lineColor={64,64,64}, fillColor={230,230,230},
          fillPattern=FillPattern.HorizontalCylinder),
        Rectangle(extent={{37,29.8},{46,1.5}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Line(points={{-54,20.9},{-50.2,14.9}}, color={64,64,64}),
        Line(points={{-46.5,20.9},{-42.8,14.9}}, color={64,64,64}),
        Line(points={{-39,20.9},{-35.3,14.9}}, color={64,64,64}),
        Line(points={{13.2,20.9},{16.9,14.9}}, color={64,64,64}),
        Line(points={{20.6,20.9},{24.4,14.9}}, color={64,64,64}),
        Line(points={{28.1,20.9},{31.8,14.9}}, color={64,64,64}),
        Rectangle(extent={{-31.6,44.8},{5.7,6}}, lineColor={64,64,64}, fillColor={220,228,240},
          fillPattern=FillPattern.Solid),
        Text(extent={{-21.1,35.8},{-3.2,16.4}}, textColor={64,64,64}, textString="m"),
        Line(points={{-62.2,0},{46,0}}, color={64,64,64}),
        Line(points={{-56.2,0},{-62.2,-6}}, color={64,64,64}),
        Line(points={{-47.2,0},{-53.2,-6}}, color={64,64,64}),
        Line(points={{-38.3,0},{-44.3,-6}}, color={64,64,64}),
        Line(points={{-29.3,0},{-35.3,-6}}, color={64,64,64}),
        Line(points={{-20.4,0},{-26.4,-6}}, color={64,64,64}),
        Line(points={{-11.4,0},{-17.4,-6}}, color={64,64,64}),
        Line(points={{-2.5,0},{-8.5,-6}}, color={64,64,64}),
        Line(points={{6.5,0},{0.5,-6}}, color={64,64,64}),
        Line(points={{15.4,0},{9.4,-6}}, color={64,64,64}),
        Line(points={{24.4,0},{18.4,-6}}, color={64,64,64}),
        Line(points={{33.3,0},{27.4,-6}}, color={64,64,64}),
        Line(points={{42.3,0},{36.3,-6}}, color={64,64,64}),
        Rectangle(extent={{-51,-23.9},{-6.2,-44.8}}, lineColor={0,0,127}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Line(points={{-12.9,6},{-12.9,-17.9},{16.2,-17.9},{16.2,-34.3},{-6.2,-34.3}}, color={0,0,127},
          arrow={Arrow.None,Arrow.Filled}),
        Line(points={{-51,-34.3},{-77.1,-34.3},{-77.1,1.5}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled})}),
    Documentation(info="<html>
<p>Icon of a positioning axis under control. It holds no equation.</p>
</html>"));
end PositioningAxis;
