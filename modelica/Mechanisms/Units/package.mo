within Mechanisms;
package Units "Types of physical quantities with SI units"
  extends Icons.Package;
  type Acceleration = Real(final quantity="Acceleration", final unit="m/s2") "Acceleration";
  type Angle = Real(final quantity="Angle", final unit="rad", displayUnit="deg") "Angle";
  type AngularAcceleration = Real(final quantity="AngularAcceleration", final unit="rad/s2")
    "Angular acceleration";
  type AngularVelocity = Real(final quantity="AngularVelocity", final unit="rad/s") "Angular velocity";
  type Area = Real(final quantity="Area", final unit="m2") "Area";
  type DimensionlessRatio = Real(final quantity="DimensionlessRatio", final unit="1") "Ratio of two equal quantities";
  type Efficiency = Real(final quantity="Efficiency", final unit="1", min=0) "Efficiency";
  type Energy = Real(final quantity="Energy", final unit="J") "Energy";
  type FirstMoment = Real(final quantity="FirstMoment", final unit="kg.m") "First moment of mass";
  type Force = Real(final quantity="Force", final unit="N") "Force";
  type Inertia = Real(final quantity="MomentOfInertia", final unit="kg.m2") "Moment of inertia";
  type Length = Real(final quantity="Length", final unit="m") "Length";
  type Mass = Real(final quantity="Mass", final unit="kg", min=0) "Mass";
  type Position = Real(final quantity="Length", final unit="m") "Position";
  type Power = Real(final quantity="Power", final unit="W") "Power";
  type RotationalDampingConstant = Real(final quantity="RotationalDampingConstant", final unit="N.m.s/rad")
    "Torque over angular velocity";
  type RotationalSpringConstant = Real(final quantity="RotationalSpringConstant", final unit="N.m/rad")
    "Torque over angle";
  type SpecificEnergy = Real(final quantity="SpecificEnergy", final unit="J/kg") "Energy over mass";
  type SpecificPower = Real(final quantity="SpecificPower", final unit="W/kg") "Power over mass";
  type Time = Real(final quantity="Time", final unit="s") "Time";
  type Torque = Real(final quantity="Torque", final unit="N.m") "Torque";
  type TranslationalDampingConstant = Real(final quantity="TranslationalDampingConstant", final unit="N.s/m")
    "Force over velocity";
  type TranslationalSpringConstant = Real(final quantity="TranslationalSpringConstant", final unit="N/m")
    "Force over displacement";
  type Velocity = Real(final quantity="Velocity", final unit="m/s") "Velocity";
  type Voltage = Real(final quantity="ElectricPotential", final unit="V") "Voltage";
  annotation (
    Icon(coordinateSystem(preserveAspectRatio=false, extent={{-100,-100},{100,100}}), graphics={
        Text(extent={{-80,40},{80,-84}}, textColor={64,64,64}, textString="SI")}),
    Documentation(info="<html>
<p>
The quantities that the library uses, under the names of <code>Modelica.Units.SI</code> where the standard library has
them, so that a model can be moved from one to the other by its import alone.
</p>
</html>"));
end Units;
