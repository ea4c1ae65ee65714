within Mechanisms.Examples;
model DeltaWithController "Delta robot under P control of its positions and PI control of its speeds"
  extends Modelica.Icons.Example;
  Modelica.Blocks.Sources.Constant target[3](k={22.5, 12.5, 17.5}) "Target angles of the motors"
    annotation (Placement(transformation(extent={{-98,30},{-78,50}})));
  Modelica.Blocks.Math.Feedback positionError[3] "Errors of the angles"
    annotation (Placement(transformation(extent={{-70,30},{-50,50}})));
  Modelica.Blocks.Math.Gain positionController[3](each k=10) "Controllers of the angles"
    annotation (Placement(transformation(extent={{-44,30},{-24,50}})));
  Modelica.Blocks.Math.Feedback speedError[3] "Errors of the speeds"
    annotation (Placement(transformation(extent={{-14,30},{6,50}})));
  Modelica.Blocks.Continuous.PI speedController[3](
    each k=0.05,
    each T=0.05,
    each initType=Modelica.Blocks.Types.Init.InitialState) "Controllers of the speeds"
    annotation (Placement(transformation(extent={{16,30},{36,50}})));
  Modelica.Mechanics.Rotational.Sources.Torque torque[3] "Torques of the motors"
    annotation (Placement(transformation(extent={{-20,-40},{0,-20}})));
  Modelica.Mechanics.Rotational.Sensors.AngleSensor angle[3] "Angles of the motors"
    annotation (Placement(transformation(extent={{-18,-10},{-38,10}})));
  Modelica.Mechanics.Rotational.Sensors.SpeedSensor speed[3] "Speeds of the motors"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=90, origin={-4,10})));
  Robots.Delta robot(linkage(
      q(each start=0.6, each fixed=true),
      qd(each start=0, each fixed=true))) "Robot"
    annotation (Placement(transformation(extent={{40,-50},{80,-10}})));
equation
  connect(target.y, positionError.u1) annotation (Line(points={{-77,40},{-68,40}}, color={0,0,127}));
  connect(angle.phi, positionError.u2) annotation (Line(points={{-39,0},{-60,0},{-60,32}}, color={0,0,127}));
  connect(positionError.y, positionController.u) annotation (Line(points={{-51,40},{-46,40}}, color={0,0,127}));
  connect(positionController.y, speedError.u1) annotation (Line(points={{-23,40},{-12,40}}, color={0,0,127}));
  connect(speed.w, speedError.u2) annotation (Line(points={{-4,21},{-4,32}}, color={0,0,127}));
  connect(speedError.y, speedController.u) annotation (Line(points={{5,40},{14,40}}, color={0,0,127}));
  connect(speedController.y, torque.tau)
    annotation (Line(points={{37,40},{44,40},{44,60},{-90,60},{-90,-30},{-22,-30}}, color={0,0,127}));
  connect(torque.flange, robot.axis) annotation (Line(points={{0,-30},{40,-30}}, color={0,0,0}));
  connect(angle.flange, torque.flange) annotation (Line(points={{-18,0},{20,0},{20,-30},{0,-30}}, color={0,0,0}));
  connect(speed.flange, torque.flange) annotation (Line(points={{-4,0},{20,0},{20,-30},{0,-30}}, color={0,0,0}));
  annotation (
    experiment(StopTime=1, Tolerance=1e-8, Interval=0.001),
    Documentation(info="<html>
<p>The robot composes with blocks, sources and sensors of the standard library.</p>
</html>"));
end DeltaWithController;
