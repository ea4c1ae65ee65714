model Switch "Heater that is switched off at an unknown time, integrated over"
  parameter Real power = 2;
  parameter Real off = 3.14159;
  parameter Real loss = 0.35;
  output Real x(start = 0, fixed = true);
equation
  der(x) = noEvent(if time < off then power else 0) - loss*x;
end Switch;
