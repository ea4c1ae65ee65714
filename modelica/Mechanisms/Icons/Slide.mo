within Mechanisms.Icons;
partial model Slide "Icon of a mass on a guide"
  extends Mechanism;
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-54,-28},{54,-28}}, color={64,64,64}),
        Line(points={{-49.2,-28},{-54,-32.8}}, color={64,64,64}),
        Line(points={{-42,-28},{-46.8,-32.8}}, color={64,64,64}),
        Line(points={{-34.8,-28},{-39.6,-32.8}}, color={64,64,64}),
        Line(points={{-27.6,-28},{-32.4,-32.8}}, color={64,64,64}),
        Line(points={{-20.4,-28},{-25.2,-32.8}}, color={64,64,64}),
        Line(points={{-13.2,-28},{-18,-32.8}}, color={64,64,64}),
        Line(points={{-6,-28},{-10.8,-32.8}}, color={64,64,64}),
        Line(points={{1.2,-28},{-3.6,-32.8}}, color={64,64,64}),
        Line(points={{8.4,-28},{3.6,-32.8}}, color={64,64,64}),
        Line(points={{15.6,-28},{10.8,-32.8}}, color={64,64,64}),
        Line(points={{22.8,-28},{18,-32.8}}, color={64,64,64}),
        Line(points={{30,-28},{25.2,-32.8}}, color={64,64,64}),
        Line(points={{37.2,-28},{32.4,-32.8}}, color={64,64,64}),
        Line(points={{44.4,-28},{39.6,-32.8}}, color={64,64,64}),
        Line(points={{51.6,-28},{46.8,-32.8}}, color={64,64,64}),
        Line(points={{-22.8,-28},{-20.4,-25},{-21.6,-22}}, color={200,60,40}),
        Line(points={{-16.8,-28},{-14.4,-25},{-15.6,-22}}, color={200,60,40}),
        Line(points={{-10.8,-28},{-8.4,-25},{-9.6,-22}}, color={200,60,40}),
        Line(points={{-4.8,-28},{-2.4,-25},{-3.6,-22}}, color={200,60,40}),
        Line(points={{1.2,-28},{3.6,-25},{2.4,-22}}, color={200,60,40}),
        Line(points={{7.2,-28},{9.6,-25},{8.4,-22}}, color={200,60,40}),
        Line(points={{13.2,-28},{15.6,-25},{14.4,-22}}, color={200,60,40}),
        Line(points={{19.2,-28},{21.6,-25},{20.4,-22}}, color={200,60,40}),
        Rectangle(extent={{-27,17},{24,-22}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Line(points={{24,-2.8},{54,-2.8}}, color={0,0,127}, thickness=0.3, arrow={Arrow.None,Arrow.Filled}),
        Line(points={{-18,26},{15,26}}, color={64,64,64}, arrow={Arrow.None,Arrow.Filled}),
        Text(extent={{36,10.4},{50.4,-0.4}}, textColor={0,0,127}, textString="u"),
        Text(extent={{-9,9.2},{6,-6.4}}, textColor={64,64,64}, textString="m"),
        Text(extent={{16.8,32},{27.6,21.2}}, textColor={64,64,64}, textString="x")}),
    Documentation(info="<html>
<p>Icon of a mass on a guide. It holds no equation.</p>
</html>"));
end Slide;
