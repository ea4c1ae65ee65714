within Mechanisms.Examples;
model ArmFeedForward "Six-axis arm driven by the torques of its inverse model; it follows the motion"
  extends Modelica.Icons.Example;
  Sources.FourierMotion motion[6](
    each omega=3.141592653589793,
    sine={{0.3, -0.15, 0, 0, 0, 0}, {-0.2, 0.1, 0, 0, 0, 0}, {0.3, 0, -0.1, 0, 0, 0}, {0.4, -0.2, 0, 0, 0, 0},
          {-0.3, 0, 0.1, 0, 0, 0}, {0.2, 0.2, -0.2, 0, 0, 0}},
    cosine={{0.1, -0.1, 0, 0, 0, 0}, {0.15, 0, -0.15, 0, 0, 0}, {-0.2, 0.2, 0, 0, 0, 0}, {0.2, -0.2, 0, 0, 0, 0},
            {0.3, -0.3, 0, 0, 0, 0}, {0.2, 0, -0.2, 0, 0, 0}}) "Motion of the joints"
    annotation (Placement(transformation(extent={{-90,-15},{-60,15}})));
  FMUs.ArmInverse feedForward "Torques for the motion"
    annotation (Placement(transformation(extent={{-35,-20},{5,20}})));
  FMUs.ArmForward robot "Arm driven by these torques"
    annotation (Placement(transformation(extent={{40,-20},{80,20}})));
  output SI.Angle difference[6] "Angles of the arm less those of the motion";
equation
  connect(motion.q, feedForward.q) annotation (Line(points={{-58.5,9},{-50,9},{-50,16},{-39,16}}, color={0,0,127}));
  connect(motion.qd, feedForward.qd) annotation (Line(points={{-58.5,0},{-46,0},{-46,8},{-39,8}}, color={0,0,127}));
  connect(motion.qdd, feedForward.qdd) annotation (Line(
      points={{-58.5,-9},{-50,-9},{-50,-8},{-39,-8}}, color={0,0,127}));
  connect(feedForward.tau, robot.tau) annotation (Line(points={{7,12},{22,12},{22,-8},{36,-8}}, color={0,0,127}));
  difference = robot.q - motion.q;
  annotation (
    experiment(StopTime=2, Tolerance=1e-8, Interval=0.001),
    Documentation(info="<html>
<p>
<code>difference</code> stays zero. Give the robot a tool, <code>robot(m={7, 6, 4, 2, 0.8, 1.2})</code>, and it shows
what the feed-forward leaves to a controller.
</p>
</html>"));
end ArmFeedForward;
