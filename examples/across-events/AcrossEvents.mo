package AcrossEvents "Machines whose equations change at events"
  model Drive "a mass with Coulomb friction that sticks and slips"
    parameter Modelica.Units.SI.Mass m = 1.3;
    parameter Modelica.Units.SI.Force Fc = 0.5 "friction while it slips";
    parameter Modelica.Units.SI.Force Fs = 0.8 "force that it holds at rest";
    parameter Modelica.Units.SI.TranslationalDampingConstant d = 0.2;
    input Modelica.Units.SI.Force F;
    output Modelica.Units.SI.Position x(start = 0, fixed = true);
    output Modelica.Units.SI.Velocity v(start = 0, fixed = true);
    output Integer direction(start = 0, fixed = true) "0 where it sticks";
  equation
    der(x) = v;
    m*der(v) = if direction == 0 then 0 else F - d*v - Fc*direction;
    direction = if pre(direction) == 0 then (if F > Fs then 1 elseif F < -Fs then -1 else 0)
      elseif pre(direction) == 1 then (if v < 0 then 0 else 1)
      else (if v > 0 then 0 else -1);
    when direction == 0 then
      reinit(v, 0);
    end when;
  end Drive;

  model Tank "its level is controlled by a pump that has a limit"
    parameter Modelica.Units.SI.Area A = 0.05;
    parameter Modelica.Units.SI.Area outlet = 9e-5;
    constant Modelica.Units.SI.Acceleration g = 9.81;
    parameter Modelica.Units.SI.VolumeFlowRate limit = 6e-4 "of the pump";
    parameter Real gain(unit = "m2/s") = 4e-3 "of the controller";
    input Modelica.Units.SI.Height wanted;
    output Modelica.Units.SI.Height h(start = 0.3, fixed = true);
    Modelica.Units.SI.VolumeFlowRate asked = gain*(wanted - h);
    Modelica.Units.SI.VolumeFlowRate q;
  equation
    q = if asked > limit then limit elseif asked < 0 then 0 else asked;
    A*der(h) = q - outlet*sqrt(2*g*h);
  end Tank;

  model Oven "a controller with hysteresis switches its heating"
    parameter Real rate(unit = "1/s") = 0.02 "of the loss of heat";
    parameter Real heating(unit = "K/s") = 1.5;
    parameter Modelica.Units.SI.Temperature low = 340;
    parameter Modelica.Units.SI.Temperature high = 345;
    constant Modelica.Units.SI.Temperature surroundings = 293.15;
    output Modelica.Units.SI.Temperature T(start = 330, fixed = true);
    output Boolean on(start = true, fixed = true);
  equation
    on = if pre(on) then T < high else T < low;
    der(T) = rate*(surroundings - T) + (if on then heating else 0);
  end Oven;
end AcrossEvents;
