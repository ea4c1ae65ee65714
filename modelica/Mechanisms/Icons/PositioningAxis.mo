within Mechanisms.Icons;
partial model PositioningAxis "Icon of a positioning axis under control"
  extends Mechanism;
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Rectangle(extent={{-57,21.2},{-33,-5.2}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Text(extent={{-54,15.2},{-36,0.8}}, textColor={64,64,64}, textString="M"),
        Rectangle(extent={{-33,10.4},{54,5.6}}, lineColor={64,64,64}, fillColor={230,230,230},
          fillPattern=FillPattern.HorizontalCylinder),
        Rectangle(extent={{46.8,17.6},{54,-5.2}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Line(points={{-26.4,10.4},{-23.4,5.6}}, color={64,64,64}),
        Line(points={{-20.4,10.4},{-17.4,5.6}}, color={64,64,64}),
        Line(points={{-14.4,10.4},{-11.4,5.6}}, color={64,64,64}),
        Line(points={{27.6,10.4},{30.6,5.6}}, color={64,64,64}),
        Line(points={{33.6,10.4},{36.6,5.6}}, color={64,64,64}),
        Line(points={{39.6,10.4},{42.6,5.6}}, color={64,64,64}),
        Rectangle(extent={{-8.4,29.6},{21.6,-1.6}}, lineColor={64,64,64}, fillColor={220,228,240},
          fillPattern=FillPattern.Solid),
        Text(extent={{0,22.4},{14.4,6.8}}, textColor={64,64,64}, textString="M"),
        Line(points={{-33,-6.4},{54,-6.4}}, color={64,64,64}),
        Line(points={{-28.2,-6.4},{-33,-11.2}}, color={64,64,64}),
        Line(points={{-21,-6.4},{-25.8,-11.2}}, color={64,64,64}),
        Line(points={{-13.8,-6.4},{-18.6,-11.2}}, color={64,64,64}),
        Line(points={{-6.6,-6.4},{-11.4,-11.2}}, color={64,64,64}),
        Line(points={{0.6,-6.4},{-4.2,-11.2}}, color={64,64,64}),
        Line(points={{7.8,-6.4},{3,-11.2}}, color={64,64,64}),
        Line(points={{15,-6.4},{10.2,-11.2}}, color={64,64,64}),
        Line(points={{22.2,-6.4},{17.4,-11.2}}, color={64,64,64}),
        Line(points={{29.4,-6.4},{24.6,-11.2}}, color={64,64,64}),
        Line(points={{36.6,-6.4},{31.8,-11.2}}, color={64,64,64}),
        Line(points={{43.8,-6.4},{39,-11.2}}, color={64,64,64}),
        Line(points={{51,-6.4},{46.2,-11.2}}, color={64,64,64}),
        Rectangle(extent={{-24,-25.6},{12,-42.4}}, lineColor={0,0,127}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Line(points={{6.6,-1.6},{6.6,-20.8},{30,-20.8},{30,-34},{12,-34}}, color={0,0,127},
          arrow={Arrow.None,Arrow.Filled}),
        Line(points={{-24,-34},{-45,-34},{-45,-5.2}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled})}),
    Documentation(info="<html>
<p>Icon of a positioning axis under control. It holds no equation.</p>
</html>"));
end PositioningAxis;
