within Mechanisms;
package DriveTrains "Drive trains with friction"
  extends Modelica.Icons.Package;
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Rectangle(extent={{-71.2,-20.5},{-45,-59.5}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Rectangle(extent={{-45,-36.2},{-27,-43.8}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Rectangle(extent={{-33,-26.5},{-24,-53.5}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Rectangle(extent={{-24,5},{-13.5,-26.5}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Rectangle(extent={{-13.5,-7},{-3,-14.5}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Line(points={{-3,-10.8},{1.3,-10.8},{3,-4},{6.4,-17.5},{9.9,-4},{13.3,-17.5},{16.7,-4},{20.1,-17.5},
          {23.5,-4},{27,-17.5},{28.7,-10.8},{33,-10.8}}, color={64,64,64}),
        Rectangle(extent={{33,-7},{42,-14.5}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Rectangle(extent={{42,17},{58.5,-38.5}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Rectangle(extent={{58.5,-7},{67.5,-14.5}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Line(points={{-66,-67},{-49.5,-67}}, color={64,64,64}),
        Line(points={{-60,-67},{-66,-73}}, color={64,64,64})}),
    Documentation(info="<html>
<p>
A slide with LuGre friction, a linear positioning axis and geared rotary drives with an elastic shaft; gears with
losses and controllers.
</p>
</html>"));
end DriveTrains;
