within Modelica.Blocks;
package Sources "Signals"
  extends Modelica.Icons.SourcesPackage;

  block Constant
    extends Interfaces.SO;
    parameter Real k(start = 1);
  equation
    y = k;
  end Constant;

  block Step
    extends Interfaces.SignalSource;
    parameter Real height = 1;
  equation
    y = if time < startTime then offset else offset + height;
  end Step;

  block Ramp
    extends Interfaces.SignalSource;
    parameter Real height = 1;
    parameter Modelica.Units.SI.Time duration(min = 0.0, start = 2);
  equation
    y = offset + (if time < startTime then 0 elseif time < startTime + duration then (time - startTime)*height/duration
      else height);
  end Ramp;

  block Sine
    extends Interfaces.SignalSource;
    parameter Real amplitude = 1;
    parameter Modelica.Units.SI.Frequency f(start = 1);
    parameter Modelica.Units.SI.Angle phase = 0;
  equation
    y = offset + (if time < startTime then 0 else
      amplitude*sin(2*Modelica.Constants.pi*f*(time - startTime) + phase));
  end Sine;
end Sources;
