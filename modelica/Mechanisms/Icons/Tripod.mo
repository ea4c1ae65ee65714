within Mechanisms.Icons;
partial model Tripod "Icon of a tripod on vertical rails"
  extends Mechanism;
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-54,-48.4},{54,-48.4}}, color={64,64,64}),
        Line(points={{-49.2,-48.4},{-54,-53.2}}, color={64,64,64}),
        Line(points={{-42,-48.4},{-46.8,-53.2}}, color={64,64,64}),
        Line(points={{-34.8,-48.4},{-39.6,-53.2}}, color={64,64,64}),
        Line(points={{-27.6,-48.4},{-32.4,-53.2}}, color={64,64,64}),
        Line(points={{-20.4,-48.4},{-25.2,-53.2}}, color={64,64,64}),
        Line(points={{-13.2,-48.4},{-18,-53.2}}, color={64,64,64}),
        Line(points={{-6,-48.4},{-10.8,-53.2}}, color={64,64,64}),
        Line(points={{1.2,-48.4},{-3.6,-53.2}}, color={64,64,64}),
        Line(points={{8.4,-48.4},{3.6,-53.2}}, color={64,64,64}),
        Line(points={{15.6,-48.4},{10.8,-53.2}}, color={64,64,64}),
        Line(points={{22.8,-48.4},{18,-53.2}}, color={64,64,64}),
        Line(points={{30,-48.4},{25.2,-53.2}}, color={64,64,64}),
        Line(points={{37.2,-48.4},{32.4,-53.2}}, color={64,64,64}),
        Line(points={{44.4,-48.4},{39.6,-53.2}}, color={64,64,64}),
        Line(points={{51.6,-48.4},{46.8,-53.2}}, color={64,64,64}),
        Rectangle(extent={{-44.4,52.4},{-39.6,-48.4}}, lineColor={64,64,64}, fillColor={230,230,230},
          fillPattern=FillPattern.Solid),
        Line(points={{-42,20},{0,-28}}, color={90,110,150}, thickness=0.6),
        Rectangle(extent={{-49.2,26},{-34.8,14}}, lineColor={64,64,64}, fillColor={220,228,240},
          fillPattern=FillPattern.Solid),
        Line(points={{-31.8,12.8},{-31.8,28.4}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled}),
        Rectangle(extent={{-2.4,52.4},{2.4,-48.4}}, lineColor={64,64,64}, fillColor={230,230,230},
          fillPattern=FillPattern.Solid),
        Line(points={{0,33.2},{2.4,-28}}, color={90,110,150}, thickness=0.6),
        Rectangle(extent={{-7.2,39.2},{7.2,27.2}}, lineColor={64,64,64}, fillColor={220,228,240},
          fillPattern=FillPattern.Solid),
        Line(points={{10.2,26},{10.2,41.6}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled}),
        Rectangle(extent={{39.6,52.4},{44.4,-48.4}}, lineColor={64,64,64}, fillColor={230,230,230},
          fillPattern=FillPattern.Solid),
        Line(points={{42,8},{0,-28}}, color={90,110,150}, thickness=0.6),
        Rectangle(extent={{34.8,14},{49.2,2}}, lineColor={64,64,64}, fillColor={220,228,240},
          fillPattern=FillPattern.Solid),
        Line(points={{52.2,0.8},{52.2,16.4}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled}),
        Ellipse(extent={{-4.8,-23.2},{4.8,-32.8}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Line(points={{0,-32.8},{0,-41.2}}, color={64,64,64}, thickness=0.6)}),
    Documentation(info="<html>
<p>Icon of a tripod on vertical rails. It holds no equation.</p>
</html>"));
end Tripod;
