within Mechanisms.Friction.Interfaces;
partial model PartialRotationalFriction "Friction between a shaft and its bearing, without the friction law"
  extends Modelica.Mechanics.Rotational.Interfaces.PartialElementaryTwoFlangesAndSupport2;
  extends Modelica.Thermal.HeatTransfer.Interfaces.PartialElementaryConditionalHeatPortWithoutT;
  SI.Angle phi_rel "Angle of the shaft relative to the support";
  SI.AngularVelocity w_rel "Speed of the shaft relative to the support";
  Modelica.Blocks.Interfaces.RealOutput tau(final quantity="Torque", final unit="N.m")
    "Friction torque, acts against the motion"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=90, origin={-60,110})));
  Modelica.Blocks.Interfaces.RealOutput storedEnergy(final quantity="Energy", final unit="J")
    "Elastic energy stored in the contact"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=90, origin={0,110})));
protected
  Modelica.Mechanics.Rotational.Sources.Torque contact "Acts on the shaft"
    annotation (Placement(transformation(extent={{-10,-60},{10,-40}}, rotation=90)));
equation
  connect(flange_a, contact.flange) annotation (Line(points={{-100,0},{0,0},{0,-40}}, color={0,0,0}));
  connect(flange_b, contact.flange) annotation (Line(points={{100,0},{0,0},{0,-40}}, color={0,0,0}));
  phi_rel = contact.flange.phi - phi_support;
  w_rel = der(phi_rel);
  contact.tau = -tau;
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Rectangle(extent={{-100,10},{100,-10}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.HorizontalCylinder),
        Line(points={{0,-70},{0,-100}}, color={64,64,64}),
        Rectangle(extent={{-76,76},{76,-76}}, lineColor={64,64,64}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Line(points={{-68,0},{73,0}}, color={160,160,160}, arrow={Arrow.None,Arrow.Filled}),
        Line(points={{0,-68},{0,73}}, color={160,160,160}, arrow={Arrow.None,Arrow.Filled}),
        Text(extent={{-150,130},{150,90}}, textColor={0,0,255}, textString="%name")}),
    Documentation(info="<html>
<p>
A rigid shaft with a friction torque <code>tau</code> against the housing. A subclass gives <code>tau</code>,
<code>lossPower</code> and <code>storedEnergy</code> such that <code>tau*w_rel = lossPower + der(storedEnergy)</code>.
</p>
</html>"));
end PartialRotationalFriction;
