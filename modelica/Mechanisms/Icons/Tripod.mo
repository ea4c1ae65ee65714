within Mechanisms.Icons;
partial model Tripod "Icon of a tripod on vertical rails"
  extends Mechanism;
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-64,-45.3},{38,-45.3}}, color={64,64,64}),
        Line(points={{-59.5,-45.3},{-64,-49.9}}, color={64,64,64}),
        Line(points={{-52.7,-45.3},{-57.2,-49.9}}, color={64,64,64}),
        Line(points={{-45.9,-45.3},{-50.4,-49.9}}, color={64,64,64}),
        Line(points={{-39.1,-45.3},{-43.6,-49.9}}, color={64,64,64}),
        Line(points={{-32.3,-45.3},{-36.8,-49.9}}, color={64,64,64}),
        Line(points={{-25.5,-45.3},{-30,-49.9}}, color={64,64,64}),
        Line(points={{-18.7,-45.3},{-23.2,-49.9}}, color={64,64,64}),
        Line(points={{-11.9,-45.3},{-16.4,-49.9}}, color={64,64,64}),
        Line(points={{-5.1,-45.3},{-9.6,-49.9}}, color={64,64,64}),
        Line(points={{1.7,-45.3},{-2.8,-49.9}}, color={64,64,64}),
        Line(points={{8.5,-45.3},{4,-49.9}}, color={64,64,64}),
        Line(points={{15.3,-45.3},{10.8,-49.9}}, color={64,64,64}),
        Line(points={{22.1,-45.3},{17.6,-49.9}}, color={64,64,64}),
        Line(points={{28.9,-45.3},{24.4,-49.9}}, color={64,64,64}),
        Line(points={{35.7,-45.3},{31.2,-49.9}}, color={64,64,64}),
        Rectangle(extent={{-54.9,49.9},{-50.4,-45.3}}, lineColor={64,64,64}, fillColor={230,230,230},
          fillPattern=FillPattern.Solid),
        Line(points={{-52.7,19.3},{-13,-26.1}}, color={90,110,150}, thickness=0.57),
        Rectangle(extent={{-59.5,24.9},{-45.9,13.6}}, lineColor={64,64,64}, fillColor={220,228,240},
          fillPattern=FillPattern.Solid),
        Line(points={{-43,12.5},{-43,27.2}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled}),
        Rectangle(extent={{-15.3,49.9},{-10.7,-45.3}}, lineColor={64,64,64}, fillColor={230,230,230},
          fillPattern=FillPattern.Solid),
        Line(points={{-13,31.7},{-10.7,-26.1}}, color={90,110,150}, thickness=0.57),
        Rectangle(extent={{-19.8,37.4},{-6.2,26.1}}, lineColor={64,64,64}, fillColor={220,228,240},
          fillPattern=FillPattern.Solid),
        Line(points={{-3.4,24.9},{-3.4,39.7}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled}),
        Rectangle(extent={{24.4,49.9},{28.9,-45.3}}, lineColor={64,64,64}, fillColor={230,230,230},
          fillPattern=FillPattern.Solid),
        Line(points={{26.7,7.9},{-13,-26.1}}, color={90,110,150}, thickness=0.57),
        Rectangle(extent={{19.9,13.6},{33.5,2.3}}, lineColor={64,64,64}, fillColor={220,228,240},
          fillPattern=FillPattern.Solid),
        Line(points={{36.3,1.1},{36.3,15.9}}, color={0,0,127}, arrow={Arrow.None,Arrow.Filled}),
        Ellipse(extent={{-17.5,-21.5},{-8.5,-30.6}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Line(points={{-13,-30.6},{-13,-38.5}}, color={64,64,64}, thickness=0.57)}),
    Documentation(info="<html>
<p>Icon of a tripod on vertical rails. It holds no equation.</p>
</html>"));
end Tripod;
