within Mechanisms.Robots;
partial model PartialDelta "Delta robot: bodies, geometry and signals"
  extends Icons.DeltaRobot;
  parameter SI.Mass lowerArmMass(min=0) = 0.08 "Mass of a lower arm (both parallel bars together)"
    annotation (Dialog(group="Mass and load"));
  parameter SI.Mass upperArmMass(min=0) = 1.74 "Mass of an upper arm"
    annotation (Dialog(group="Mass and load"));
  parameter SI.Mass platformMass(min=0) = 1.1 "Mass of the base plate (moving platform)"
    annotation (Dialog(group="Mass and load"));
  parameter SI.Length baseRadius(min=0) = 0.2 "Distance of the arms' axes from the robot's axis"
    annotation (Dialog(group="Geometry"));
  parameter SI.Length platformRadius(min=0) = 0.05 "Distance of the platform joints from the platform's centre"
    annotation (Dialog(group="Geometry"));
  parameter SI.Length upperArmLength(min=Modelica.Constants.eps) = 0.2 "Length of the upper arms"
    annotation (Dialog(group="Geometry"));
  parameter SI.Length lowerArmLength(min=Modelica.Constants.eps) = 0.5 "Length of the bars of the lower arms"
    annotation (Dialog(group="Geometry"));
  parameter SI.Acceleration gravity = 9.81 "Gravity acceleration, acting in -z direction"
    annotation (Dialog(group="Environment"));
  Modelica.Blocks.Interfaces.RealOutput r[3](each final quantity="Length", each final unit="m")
    "Position of the platform's centre relative to the base centre"
    annotation (Placement(transformation(extent={{100,-70},{120,-50}})));
  Modelica.Blocks.Interfaces.RealOutput kineticEnergy(final quantity="Energy", final unit="J")
    "Kinetic energy of the robot and its drives"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-75,-110})));
  Modelica.Blocks.Interfaces.RealOutput potentialEnergy(final quantity="Energy", final unit="J")
    "Potential energy, zero at the height of the base"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-25,-110})));
  annotation (Documentation(info="<html>
<p>
Three arms stand at 0, 120 and 240 degrees about the z axis, which points upwards. Each arm turns about a tangential
axis at <code>baseRadius</code>; its angle is that of the upper arm below the horizontal. Two parallel bars connect the
elbow to the platform. The distance between them cancels and is not a parameter.
</p>
<h4>Assumptions</h4>
<ul>
<li>Rigid arms and bars; the joints of the bars have neither play nor friction.</li>
<li>The platform keeps its orientation: the two bars of an arm are of equal length and parallel.</li>
<li>Upper arms and bars are uniform slender rods, the platform is a point mass.</li>
</ul>
<h4>References</h4>
<p>
R. Kampfmann, D. M&ouml;sch, N. Menager: <em>Parameter Estimation based on FMI</em>. 12th International Modelica
Conference, Prague, 2017.
</p>
</html>"));
end PartialDelta;
