within Mechanisms.Friction.Interfaces;
partial model PartialRotationalFriction "Friction between a shaft and its bearing, without the friction law"
  extends Icons.Friction;
  Mechanisms.Interfaces.RealInput w(final quantity="AngularVelocity", final unit="rad/s", start=0)
    "Angular velocity of the shaft relative to the bearing"
    annotation (Placement(transformation(extent={{-140,-20},{-100,20}})));
  Mechanisms.Interfaces.RealOutput tau(final quantity="Torque", final unit="N.m")
    "Friction torque, acts against the motion"
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
        Text(extent={{51,-1.1},{78.2,-14.7}}, textColor={0,0,127}, textString="w"),
        Text(extent={{3.4,82.2},{25.5,68.6}}, textColor={0,0,127}, textString="tau")}),
    Documentation(info="<html>
<p>
Signals of a friction law between a shaft and its bearing. A subclass gives <code>tau</code>, <code>storedEnergy</code>
and <code>lossPower</code> such that <code>tau*w = lossPower + der(storedEnergy)</code>.
</p>
</html>"));
end PartialRotationalFriction;
