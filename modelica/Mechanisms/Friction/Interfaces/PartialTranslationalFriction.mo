within Mechanisms.Friction.Interfaces;
partial model PartialTranslationalFriction "Friction between a slide and its guide, without the friction law"
  extends Modelica.Mechanics.Translational.Interfaces.PartialElementaryTwoFlangesAndSupport2;
  extends Modelica.Thermal.HeatTransfer.Interfaces.PartialElementaryConditionalHeatPortWithoutT;
  SI.Position s_rel "Position of the slide relative to the support";
  SI.Velocity v_rel "Speed of the slide relative to the support";
  Modelica.Blocks.Interfaces.RealOutput f(final quantity="Force", final unit="N")
    "Friction force, acts against the motion"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=90, origin={-60,110})));
  Modelica.Blocks.Interfaces.RealOutput storedEnergy(final quantity="Energy", final unit="J")
    "Elastic energy stored in the contact"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=90, origin={0,110})));
protected
  Modelica.Mechanics.Translational.Sources.Force contact "Acts on the slide"
    annotation (Placement(transformation(extent={{-10,-60},{10,-40}}, rotation=90)));
equation
  connect(flange_a, contact.flange) annotation (Line(points={{-100,0},{0,0},{0,-40}}, color={0,127,0}));
  connect(flange_b, contact.flange) annotation (Line(points={{100,0},{0,0},{0,-40}}, color={0,127,0}));
  s_rel = contact.flange.s - s_support;
  v_rel = der(s_rel);
  contact.f = -f;
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Rectangle(extent={{-100,10},{100,-10}}, lineColor={64,64,64}, fillColor={192,192,192},
          fillPattern=FillPattern.Solid),
        Line(points={{0,-70},{0,-100}}, color={64,64,64}),
        Rectangle(extent={{-76,76},{76,-76}}, lineColor={64,64,64}, fillColor={255,255,255},
          fillPattern=FillPattern.Solid),
        Line(points={{-68,0},{73,0}}, color={160,160,160}, arrow={Arrow.None,Arrow.Filled}),
        Line(points={{0,-68},{0,73}}, color={160,160,160}, arrow={Arrow.None,Arrow.Filled}),
        Text(extent={{-150,130},{150,90}}, textColor={0,0,255}, textString="%name")}),
    Documentation(info="<html>
<p>
A rigid slide with a friction force <code>f</code> against the guide. A subclass gives <code>f</code>,
<code>lossPower</code> and <code>storedEnergy</code> such that <code>f*v_rel = lossPower + der(storedEnergy)</code>.
</p>
</html>"));
end PartialTranslationalFriction;
