within Mechanisms.Icons;
partial model PositioningAxisInverse "Icon of a positioning axis with prescribed motion"
  extends Mechanism;
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Rectangle(extent={{-66,18.7},{-31.4,-19.3}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Text(extent={{-61.7,10.1},{-35.7,-10.7}}, textColor={64,64,64}, textString="M"),
        Rectangle(extent={{-31.4,3.2},{94,-3.7}}, lineColor={64,64,64}, fillColor={230,230,230},
          fillPattern=FillPattern.HorizontalCylinder),
        Rectangle(extent={{83.6,13.6},{94,-19.3}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Line(points={{-21.9,3.2},{-17.6,-3.7}}, color={64,64,64}),
        Line(points={{-13.2,3.2},{-8.9,-3.7}}, color={64,64,64}),
        Line(points={{-4.6,3.2},{-0.3,-3.7}}, color={64,64,64}),
        Line(points={{55.9,3.2},{60.3,-3.7}}, color={64,64,64}),
        Line(points={{64.6,3.2},{68.9,-3.7}}, color={64,64,64}),
        Line(points={{73.2,3.2},{77.6,-3.7}}, color={64,64,64}),
        Rectangle(extent={{4.1,30.9},{47.3,-14.1}}, lineColor={64,64,64}, fillColor={220,228,240},
          fillPattern=FillPattern.Solid),
        Text(extent={{16.2,20.5},{36.9,-2}}, textColor={64,64,64}, textString="m"),
        Line(points={{-31.4,-21},{94,-21}}, color={64,64,64}),
        Line(points={{-24.5,-21},{-31.4,-28}}, color={64,64,64}),
        Line(points={{-14.1,-21},{-21,-28}}, color={64,64,64}),
        Line(points={{-3.7,-21},{-10.6,-28}}, color={64,64,64}),
        Line(points={{6.6,-21},{-0.3,-28}}, color={64,64,64}),
        Line(points={{17,-21},{10.1,-28}}, color={64,64,64}),
        Line(points={{27.4,-21},{20.5,-28}}, color={64,64,64}),
        Line(points={{37.8,-21},{30.9,-28}}, color={64,64,64}),
        Line(points={{48.2,-21},{41.2,-28}}, color={64,64,64}),
        Line(points={{58.5,-21},{51.6,-28}}, color={64,64,64}),
        Line(points={{68.9,-21},{62,-28}}, color={64,64,64}),
        Line(points={{79.3,-21},{72.4,-28}}, color={64,64,64}),
        Line(points={{89.7,-21},{82.8,-28}}, color={64,64,64}),
        Line(points={{47.3,43},{4.1,43}}, color={0,0,127}, thickness=0.43, arrow={Arrow.None,Arrow.Filled}),
        Line(points={{4.1,43},{47.3,43}}, color={0,0,127}, thickness=0.43, arrow={Arrow.None,Arrow.Filled})}),
    Documentation(info="<html>
<p>Icon of a positioning axis with prescribed motion. It holds no equation.</p>
</html>"));
end PositioningAxisInverse;
