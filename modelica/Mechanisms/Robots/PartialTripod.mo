within Mechanisms.Robots;
partial model PartialTripod "Tripod: bodies, geometry and signals"
  extends Icons.Tripod;
  parameter SI.Mass toolMass(min=0) = 1.5 "Mass of the tool, m_t"
    annotation (Dialog(group="Mass and load"));
  parameter SI.Mass carriageMass(min=0) = 1 "Mass of one carriage, m_rail"
    annotation (Dialog(group="Mass and load"));
  parameter SI.Length railRadius(min=Modelica.Constants.eps) = 0.3
    "Distance of the rails from the vertical axis, less that of the rod ends on the tool"
    annotation (Dialog(group="Geometry"));
  parameter SI.Length rodLength(min=Modelica.Constants.eps) = 0.5 "Length of the rods"
    annotation (Dialog(group="Geometry"));
  parameter SI.Acceleration gravity = 9.81 "Gravity acceleration, downwards, g"
    annotation (Dialog(group="Environment"));
  Modelica.Blocks.Interfaces.RealOutput carriagePosition[3](each final quantity="Length", each final unit="m")
    "Heights of the carriages"
    annotation (Placement(transformation(extent={{100,-40},{120,-20}})));
  Modelica.Blocks.Interfaces.RealOutput toolPosition[3](
    each final quantity="Length",
    each final unit="m",
    each nominal=0.1) "Position of the tool, z upwards"
    annotation (Placement(transformation(extent={{100,-70},{120,-50}})));
  Modelica.Blocks.Interfaces.RealOutput toolVelocity[3](each final quantity="Velocity", each final unit="m/s")
    "Velocity of the tool"
    annotation (Placement(transformation(extent={{100,-100},{120,-80}})));
  Modelica.Blocks.Interfaces.RealOutput kineticEnergy(final quantity="Energy", final unit="J") "Kinetic energy"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-75,-110})));
  Modelica.Blocks.Interfaces.RealOutput potentialEnergy(final quantity="Energy", final unit="J")
    "Potential energy of weight and springs, zero weight at height 0"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-25,-110})));
  annotation (Documentation(info="<html>
<p>
Three vertical rails at 0, 120 and 240 degrees carry one carriage each; massless rods of equal length join the carriages
to the tool point, which hangs below them. The rail coordinate of a carriage is its height over the world's origin; with
all carriages at height 0 the tool is at <code>z = -sqrt(rodLength^2 - railRadius^2)</code>, here -0.4 m.
</p>
<h4>Assumptions</h4>
<ul>
<li>Rigid, massless rods with ideal joints; tool and carriages are point masses.</li>
<li>The tool is horizontally nearer to every rail than <code>rodLength</code>; an error names the rail where it is
    not.</li>
</ul>
<h4>References</h4>
<p>
<em>Special Genetic Identification Algorithm with smoothing in the frequency domain</em> (study of a tripod robot;
drive, equivalent mass and identified parameters).
</p>
</html>"));
end PartialTripod;
