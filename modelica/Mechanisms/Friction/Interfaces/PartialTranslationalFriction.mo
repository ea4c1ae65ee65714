within Mechanisms.Friction.Interfaces;
partial model PartialTranslationalFriction "Friction between a slide and its guide, without the friction law"
  extends Icons.Friction;
  Mechanisms.Interfaces.RealInput v(final quantity="Velocity", final unit="m/s", start=0)
    "Velocity of the slide relative to the guide"
    annotation (Placement(transformation(extent={{-140,-20},{-100,20}})));
  Mechanisms.Interfaces.RealOutput f(final quantity="Force", final unit="N") "Friction force, acts against the motion"
    annotation (Placement(transformation(extent={{100,-10},{120,10}})));
  Mechanisms.Interfaces.RealOutput storedEnergy(final quantity="Energy", final unit="J")
    "Elastic energy stored in the contact"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-50,-110})));
  Mechanisms.Interfaces.RealOutput lossPower(final quantity="Power", final unit="W") "Dissipated power"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={50,-110})));
  annotation (
    Diagram(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Line(points={{-68,4},{73.1,4}}, color={160,160,160}, arrow={Arrow.None,Arrow.Filled}),
        Line(points={{0,-64},{0,77.1}}, color={160,160,160}, arrow={Arrow.None,Arrow.Filled}),
        Text(extent={{51,-1.1},{78.2,-14.7}}, textColor={0,0,127}, textString="v"),
        Text(extent={{3.4,82.2},{25.5,68.6}}, textColor={0,0,127}, textString="f")}),
    Documentation(info="<html>
<p>
Signals of a friction law between a slide and its guide. A subclass gives <code>f</code>, <code>storedEnergy</code> and
<code>lossPower</code> such that <code>f*v = lossPower + der(storedEnergy)</code>.
</p>
</html>"));
end PartialTranslationalFriction;
