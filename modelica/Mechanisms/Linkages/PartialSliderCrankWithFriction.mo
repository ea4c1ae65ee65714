within Mechanisms.Linkages;
partial model PartialSliderCrankWithFriction "Slider-crank with friction between slider and guide, whose law is open"
  extends PartialSliderCrank;
  parameter SI.Force coulombForce(min=0) = 2 "Coulomb friction force between slider and guide"
    annotation (Dialog(group="Friction"));
  parameter SI.TranslationalDampingConstant viscousFriction(min=0) = 1
    "Viscous friction constant between slider and guide"
    annotation (Dialog(group="Friction"));
  Modelica.Blocks.Interfaces.RealOutput inputPower(final quantity="Power", final unit="W") "Power of the crank torque"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={25,-110})));
  Modelica.Blocks.Interfaces.RealOutput dissipatedPower(final quantity="Power", final unit="W") "Power lost in friction"
    annotation (Placement(transformation(extent={{-10,-10},{10,10}}, rotation=-90, origin={75,-110})));
  SliderCrankLinkage linkage(
    final inertia1=inertia1,
    final momentX1=momentX1,
    final momentY1=momentY1,
    final mass1=mass1,
    final inertia2=inertia2,
    final momentX2=momentX2,
    final momentY2=momentY2,
    final mass2=mass2,
    final inertia3=inertia3,
    final momentX3=momentX3,
    final momentY3=momentY3,
    final mass3=mass3,
    final length1=length1,
    final length2=length2,
    final gravity=gravity) "Crank, connecting rod and slider"
    annotation (Placement(transformation(extent={{-40,-20},{0,20}})));
  replaceable Friction.Interfaces.PartialTranslationalFriction friction "Friction between slider and guide"
    annotation (choicesAllMatching=true, Placement(transformation(extent={{40,-10},{60,10}})));
equation
  connect(crank, linkage.crank) annotation (Line(points={{-100,0},{-40,0}}, color={0,0,0}));
  connect(linkage.slider, friction.flange_a) annotation (Line(points={{0,0},{40,0}}, color={0,127,0}));
  connect(friction.flange_b, slider) annotation (Line(points={{60,0},{100,0}}, color={0,127,0}));
  connect(linkage.rodAngle, rodAngle) annotation (Line(points={{2,16},{10,16},{10,80},{110,80}}, color={0,0,127}));
  connect(linkage.rodSpeed, rodSpeed) annotation (Line(points={{2,12},{14,12},{14,60},{110,60}}, color={0,0,127}));
  connect(linkage.pinAngle, pinAngle) annotation (Line(points={{2,8},{18,8},{18,40},{110,40}}, color={0,0,127}));
  connect(linkage.pinSpeed, pinSpeed) annotation (Line(points={{2,4},{22,4},{22,20},{110,20}}, color={0,0,127}));
  connect(linkage.sliderPosition, sliderPosition)
    annotation (Line(points={{2,-4},{22,-4},{22,-20},{110,-20}}, color={0,0,127}));
  connect(linkage.sliderSpeed, sliderSpeed)
    annotation (Line(points={{2,-8},{18,-8},{18,-40},{110,-40}}, color={0,0,127}));
  kineticEnergy = linkage.kineticEnergy;
  potentialEnergy = linkage.potentialEnergy + friction.storedEnergy;
  inputPower = linkage.crank.tau*linkage.qd;
  dissipatedPower = friction.lossPower;
  annotation (Documentation(info="<html>
<p>
<a href=\"modelica://Mechanisms.Linkages.SliderCrankLinkage\">SliderCrankLinkage</a> and the friction of its guide. What
is connected to <code>slider</code> is not part of the balance of <code>inputPower</code>,
<code>dissipatedPower</code> and the energies.
</p>
<h4>Assumptions</h4>
<ul>
<li>Three rigid bodies in a plane; the joints have neither play nor friction.</li>
<li>Only the guide of the slider has friction; it does not depend on the normal force.</li>
</ul>
<h4>References</h4>
<p>
Study on the linear-regression-based identification of closed-loop multibody systems: numerical example of the
slider-crank, Tables 1 and 2.
</p>
</html>"));
end PartialSliderCrankWithFriction;
