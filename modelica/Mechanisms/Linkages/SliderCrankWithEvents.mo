within Mechanisms.Linkages;
model SliderCrankWithEvents "Slider-crank with friction that sticks between slider and guide"
  extends PartialSliderCrankWithFriction(redeclare Friction.Translational.CoulombViscousWithEvents friction(
      coulombForce=coulombForce,
      viscousFriction=viscousFriction));
  annotation (Documentation(info="<html>
<p>
<a href=\"modelica://Mechanisms.Linkages.PartialSliderCrankWithFriction\">Slider-crank</a> whose slider sticks and
breaks away by events.
</p>
</html>"));
end SliderCrankWithEvents;
