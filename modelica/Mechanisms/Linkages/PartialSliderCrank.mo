within Mechanisms.Linkages;
partial model PartialSliderCrank "Slider-crank: flanges, bodies, geometry and signals"
  extends Icons.SliderCrank;
  parameter SI.Inertia inertia1 = 3.8e-4 "Crank: moment of inertia about the crank axis (Izz)"
    annotation (Dialog(group="Crank"));
  parameter Real momentX1(final quantity="FirstMoment", final unit="kg.m") = 7.2e-3
    "Crank: first moment along the crank (mX)"
    annotation (Dialog(group="Crank"));
  parameter Real momentY1(final quantity="FirstMoment", final unit="kg.m") = 0
    "Crank: first moment across the crank (mY)"
    annotation (Dialog(group="Crank"));
  parameter SI.Mass mass1 = 0.18 "Crank: mass, without influence"
    annotation (Dialog(group="Crank"));
  parameter SI.Inertia inertia2 = 4.6e-3 "Connecting rod: moment of inertia about the crank pin (Izz)"
    annotation (Dialog(group="Connecting rod"));
  parameter Real momentX2(final quantity="FirstMoment", final unit="kg.m") = 2.8e-2
    "Connecting rod: first moment along the rod (mX)"
    annotation (Dialog(group="Connecting rod"));
  parameter Real momentY2(final quantity="FirstMoment", final unit="kg.m") = 0
    "Connecting rod: first moment across the rod (mY)"
    annotation (Dialog(group="Connecting rod"));
  parameter SI.Mass mass2 = 0.22 "Connecting rod: mass"
    annotation (Dialog(group="Connecting rod"));
  parameter SI.Inertia inertia3 = 1.9e-4 "Slider: moment of inertia about the piston pin (Izz), without influence"
    annotation (Dialog(group="Slider"));
  parameter Real momentX3(final quantity="FirstMoment", final unit="kg.m") = 0
    "Slider: first moment along the guide (mX), in the potential energy only"
    annotation (Dialog(group="Slider"));
  parameter Real momentY3(final quantity="FirstMoment", final unit="kg.m") = 0
    "Slider: first moment across the guide (mY), in the potential energy only"
    annotation (Dialog(group="Slider"));
  parameter SI.Mass mass3 = 0.25 "Slider: mass"
    annotation (Dialog(group="Slider"));
  parameter SI.Length length1(min=Modelica.Constants.eps) = 0.08 "Length of the crank"
    annotation (Dialog(group="Geometry"));
  parameter SI.Length length2(min=Modelica.Constants.eps) = 0.25 "Length of the connecting rod"
    annotation (Dialog(group="Geometry"));
  parameter SI.Acceleration gravity[3] = {0, -9.81, 0}
    "Gravity vector; x points along the guide, z along the crank axis"
    annotation (Dialog(group="Environment"));
  Modelica.Mechanics.Rotational.Interfaces.Flange_a crank
    "Shaft of the crank; its angle is zero with the crank pin farthest along the guide"
    annotation (Placement(transformation(extent={{-110,-10},{-90,10}})));
  Modelica.Mechanics.Translational.Interfaces.Flange_b slider
    "Slider; its position is the distance of the piston pin from the crank axis"
    annotation (Placement(transformation(extent={{90,-10},{110,10}})));
  Modelica.Blocks.Interfaces.RealOutput rodAngle(final quantity="Angle", final unit="rad", displayUnit="deg")
    "Angle of the connecting rod relative to the crank"
    annotation (Placement(transformation(extent={{100,70},{120,90}})));
  Modelica.Blocks.Interfaces.RealOutput rodSpeed(final quantity="AngularVelocity", final unit="rad/s")
    "Angular velocity of the connecting rod relative to the crank"
    annotation (Placement(transformation(extent={{100,50},{120,70}})));
  Modelica.Blocks.Interfaces.RealOutput pinAngle(final quantity="Angle", final unit="rad", displayUnit="deg")
    "Angle of the slider relative to the connecting rod"
    annotation (Placement(transformation(extent={{100,30},{120,50}})));
  Modelica.Blocks.Interfaces.RealOutput pinSpeed(final quantity="AngularVelocity", final unit="rad/s")
    "Angular velocity of the slider relative to the connecting rod"
    annotation (Placement(transformation(extent={{100,10},{120,30}})));
  Modelica.Blocks.Interfaces.RealOutput sliderPosition(final quantity="Length", final unit="m")
    "Distance of the piston pin from the crank axis"
    annotation (Placement(transformation(extent={{100,-30},{120,-10}})));
  Modelica.Blocks.Interfaces.RealOutput sliderSpeed(final quantity="Velocity", final unit="m/s")
    "Velocity of the slider"
    annotation (Placement(transformation(extent={{100,-50},{120,-30}})));
  Modelica.Blocks.Interfaces.RealOutput kineticEnergy(final quantity="Energy", final unit="J") "Kinetic energy"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-75,-110})));
  Modelica.Blocks.Interfaces.RealOutput potentialEnergy(final quantity="Energy", final unit="J")
    "Potential energy, zero with the centres of mass on the crank axis"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-25,-110})));
  annotation (Documentation(info="<html>
<p>
Crank (body 1), connecting rod (body 2) and slider (body 3) in the x-y plane; the slider moves along x through the crank
axis. Body frames sit at the revolute joints, their x axes along the bodies; the bodies are given by their standard
inertial parameters about the frame origin. <code>mass1</code>, <code>inertia3</code> and the first moments of the
slider complete the set; they have no influence on the motion.
</p>
</html>"));
end PartialSliderCrank;
