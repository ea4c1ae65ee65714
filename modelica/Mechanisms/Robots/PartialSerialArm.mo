within Mechanisms.Robots;
partial model PartialSerialArm "Open chain of revolute joints: links, geometry and signals"
  extends Icons.SerialArm;
  parameter Integer n(min=1) = 6 "Number of joints"
    annotation (Evaluate=true, Dialog(group="Geometry"));
  parameter SI.Angle alpha[n] = {0, -1.5707963267948966, 0, 1.5707963267948966, -1.5707963267948966, 1.5707963267948966}
    "Angle from z[j-1] to z[j] about x[j-1]"
    annotation (Dialog(group="Geometry"));
  parameter SI.Length d[n] = {0, 0, 0.225, 0, 0, 0} "Distance from z[j-1] to z[j] along x[j-1]"
    annotation (Dialog(group="Geometry"));
  parameter SI.Length r[n] = {0, 0, 0.035, 0.225, 0, 0} "Distance from x[j-1] to x[j] along z[j]"
    annotation (Dialog(group="Geometry"));
  parameter SI.Angle jointOffset[n] = {0, -1.5707963267948966, 1.5707963267948966, 0, 0, 0}
    "Angle from x[j-1] to x[j] about z[j] where q[j] = 0"
    annotation (Dialog(group="Geometry"));
  parameter SI.MomentOfInertia Ixx[n] = {0.104, 0.056, 0.0312, 0.0185, 0.00131, 0.000492}
    "Inertia tensor about the origin of the link's frame, element 1,1"
    annotation (Dialog(group="Mass and load"));
  parameter Real Ixy[n](each final quantity="MomentOfInertia", each final unit="kg.m2") = {0, -0.006, 0.002, 0, 0, 0}
    "Inertia tensor, element 1,2"
    annotation (Dialog(group="Mass and load"));
  parameter Real Ixz[n](each final quantity="MomentOfInertia", each final unit="kg.m2") =
    {0, -0.048, -0.0004, 0, 0, -0.000018} "Inertia tensor, element 1,3"
    annotation (Dialog(group="Mass and load"));
  parameter SI.MomentOfInertia Iyy[n] = {0.0966, 0.178, 0.0148, 0.0181, 0.000987, 0.000492}
    "Inertia tensor, element 2,2"
    annotation (Dialog(group="Mass and load"));
  parameter Real Iyz[n](each final quantity="MomentOfInertia", each final unit="kg.m2") =
    {-0.0084, -0.0048, 0.002, 0.0007, 0.00004, 0} "Inertia tensor, element 2,3"
    annotation (Dialog(group="Mass and load"));
  parameter SI.MomentOfInertia Izz[n] = {0.045, 0.143, 0.0303, 0.00373, 0.00117, 0.000121}
    "Inertia tensor, element 3,3"
    annotation (Dialog(group="Mass and load"));
  parameter Real mx[n](each final quantity="FirstMoment", each final unit="kg.m") = {0, 0.6, 0.04, 0, 0, 0.0004}
    "First moment of mass along x"
    annotation (Dialog(group="Mass and load"));
  parameter Real my[n](each final quantity="FirstMoment", each final unit="kg.m") =
    {-0.14, 0.06, -0.2, 0.01, -0.008, 0} "First moment of mass along y"
    annotation (Dialog(group="Mass and load"));
  parameter Real mz[n](each final quantity="FirstMoment", each final unit="kg.m") =
    {-0.42, 0.48, 0.04, -0.14, 0.004, 0.009} "First moment of mass along z"
    annotation (Dialog(group="Mass and load"));
  parameter SI.Mass m[n] = {7, 6, 4, 2, 0.8, 0.2} "Mass"
    annotation (Dialog(group="Mass and load"));
  parameter SI.Acceleration gravity[3] = {0, 0, -9.81} "Gravity vector, resolved in the base frame"
    annotation (Dialog(group="Environment"));
  Modelica.Blocks.Interfaces.RealOutput kineticEnergy(final quantity="Energy", final unit="J")
    "Kinetic energy of the links, and of the rotors if there are any"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-75,-110})));
  Modelica.Blocks.Interfaces.RealOutput potentialEnergy(final quantity="Energy", final unit="J")
    "Potential energy, zero with the centres of mass at the origin of the base"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={-25,-110})));
  annotation (Documentation(info="<html>
<p>
Links 1 to n on a fixed base, each turning about the axis <code>z[j]</code> of its frame. The frames are those of Khalil
and Kleinfinger (modified Denavit-Hartenberg parameters): from frame j - 1 to frame j turn by <code>alpha[j]</code>
about x, move by <code>d[j]</code> along x, turn by <code>q[j] + jointOffset[j]</code> about z and move by
<code>r[j]</code> along z.
</p>
<p>
The inertial parameters of a link are those in which its torques are linear, in its own frame: the inertia tensor about
the origin, of which <code>Ixy</code> is the <em>element</em>, -integral(x*y*dm); the first moments <code>mx</code>,
<code>my</code>, <code>mz</code>; and the mass. Nothing is divided by a mass, so that all of them may be zero. For an
arm with other than six joints, give all vectors.
</p>
<h4>Assumptions</h4>
<ul>
<li>Rigid links.</li>
</ul>
<h4>Default parameters</h4>
<p>
A small industrial arm with the geometry of the St&auml;ubli TX40 (225 mm, 35 mm, 225 mm). Its masses and inertias are
made of blocks of 20 kg in total that fit the links.
</p>
<h4>References</h4>
<p>
W. Khalil, J.-F. Kleinfinger: <em>A new geometric notation for open and closed-loop robots</em>, IEEE International
Conference on Robotics and Automation, 1986, 1174-1179.
</p>
</html>"));
end PartialSerialArm;
