within Mechanisms.Linkages;
model SliderCrank "Slider-crank with smooth friction between slider and guide"
  extends PartialSliderCrankWithFriction(redeclare Friction.Translational.CoulombViscous friction(
      coulombForce=coulombForce,
      viscousFriction=viscousFriction,
      speedWidth=speedWidth));
  parameter SI.Velocity speedWidth(min=Modelica.Constants.eps) = 0.01 "Width of the smooth sign of the Coulomb friction"
    annotation (Dialog(tab="Advanced", group="Smoothing"));
  annotation (Documentation(info="<html>
<p>
<a href=\"modelica://Mechanisms.Linkages.PartialSliderCrankWithFriction\">Slider-crank</a> without events: the slider
creeps instead of sticking.
</p>
</html>"));
end SliderCrank;
