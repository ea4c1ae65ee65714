within MechanismsTest;
model SliderCrankUnderTwoSines "Slider-crank under a torque of two sines"
  parameter Real amplitude[2](each unit="N.m") = {0.25, 0.1} "Amplitudes of the torque";
  parameter Real frequency[2](each unit="Hz") = {0.9, 0.35} "Frequencies of the torque";
  parameter Real phase[2](each unit="rad") = {0.4, 0.3} "Phases of the torque";
  Mechanisms.FMUs.SliderCrankForward machine(
    tau=amplitude[1]*sin(2*pi*frequency[1]*time + phase[1]) + amplitude[2]*sin(2*pi*frequency[2]*time + phase[2])) "Machine";
protected
  constant Real pi = 3.141592653589793 "Half the circumference of the unit circle";
  annotation (experiment(StopTime=4, Tolerance=1e-10, Interval=0.002));
end SliderCrankUnderTwoSines;
