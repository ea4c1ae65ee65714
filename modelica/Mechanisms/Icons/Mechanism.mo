within Mechanisms.Icons;
partial model Mechanism "Icon of a machine"
  annotation (Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Rectangle(extent={{-100,100},{100,-100}}, lineColor={95,95,95}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Line(points={{-60,-40},{-20,40},{70,-40}}, color={64,64,64}, thickness=1),
        Ellipse(extent={{-70,-30},{-50,-50}}, lineColor={64,64,64}, fillColor={192,192,192}, fillPattern=FillPattern.Solid),
        Ellipse(extent={{-30,50},{-10,30}}, lineColor={64,64,64}, fillColor={192,192,192}, fillPattern=FillPattern.Solid),
        Rectangle(extent={{50,-25},{90,-55}}, lineColor={64,64,64}, fillColor={192,192,192}, fillPattern=FillPattern.Solid),
        Line(points={{-90,-60},{90,-60}}, color={64,64,64}),
        Text(extent={{-150,150},{150,110}}, textColor={0,0,255}, textString="%name")}));
end Mechanism;
