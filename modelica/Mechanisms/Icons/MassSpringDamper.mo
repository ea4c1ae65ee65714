within Mechanisms.Icons;
partial model MassSpringDamper "Icon of a mass on spring and damper"
  extends Mechanism;
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-48,-28},{-48,38}}, color={64,64,64}),
        Line(points={{-48,-23.2},{-52.8,-28}}, color={64,64,64}),
        Line(points={{-48,-16},{-52.8,-20.8}}, color={64,64,64}),
        Line(points={{-48,-8.8},{-52.8,-13.6}}, color={64,64,64}),
        Line(points={{-48,-1.6},{-52.8,-6.4}}, color={64,64,64}),
        Line(points={{-48,5.6},{-52.8,0.8}}, color={64,64,64}),
        Line(points={{-48,12.8},{-52.8,8}}, color={64,64,64}),
        Line(points={{-48,20},{-52.8,15.2}}, color={64,64,64}),
        Line(points={{-48,27.2},{-52.8,22.4}}, color={64,64,64}),
        Line(points={{-48,34.4},{-52.8,29.6}}, color={64,64,64}),
        Line(points={{-48,20},{-41.5,20},{-38.9,26},{-33.8,14},{-28.7,26},{-23.6,14},{-18.4,26},{-13.3,14},
          {-8.2,26},{-3.1,14},{-0.5,20},{6,20}}, color={64,64,64}),
        Line(points={{-48,-10},{-27,-10}}, color={64,64,64}),
        Rectangle(extent={{-27,-2.8},{-12.6,-17.2}}, lineColor={64,64,64}, fillColor={230,230,230},
          fillPattern=FillPattern.Solid),
        Line(points={{-19.8,-4},{-19.8,-16}}, color={64,64,64}, thickness=0.3),
        Line(points={{-19.8,-10},{6,-10}}, color={64,64,64}),
        Rectangle(extent={{6,35},{36,-25}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Line(points={{36,5},{57,5}}, color={0,0,127}, thickness=0.3, arrow={Arrow.None,Arrow.Filled}),
        Line(points={{6,-35.2},{36,-35.2}}, color={64,64,64}, arrow={Arrow.None,Arrow.Filled}),
        Text(extent={{38.4,18.8},{57,8}}, textColor={0,0,127}, textString="F"),
        Text(extent={{-36,38},{-6,28.4}}, textColor={64,64,64}, textString="k"),
        Text(extent={{-36,-18.4},{-6,-28}}, textColor={64,64,64}, textString="d"),
        Text(extent={{12,14},{30,-4}}, textColor={64,64,64}, textString="m"),
        Text(extent={{37.2,-30.4},{48,-40}}, textColor={64,64,64}, textString="x")}),
    Documentation(info="<html>
<p>Icon of a mass on spring and damper. It holds no equation.</p>
</html>"));
end MassSpringDamper;
