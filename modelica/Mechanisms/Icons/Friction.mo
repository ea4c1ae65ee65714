within Mechanisms.Icons;
partial model Friction "Icon of a friction law"
  annotation (Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Rectangle(extent={{-100,100},{100,-100}}, lineColor={95,95,95}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Line(points={{-80,0},{80,0}}, color={160,160,160}),
        Line(points={{0,-80},{0,80}}, color={160,160,160}),
        Line(points={{-80,-60},{-20,-40},{-4,-50},{4,50},{20,40},{80,60}}, color={0,0,127}, thickness=0.5),
        Text(extent={{-150,150},{150,110}}, textColor={0,0,255}, textString="%name")}));
end Friction;
