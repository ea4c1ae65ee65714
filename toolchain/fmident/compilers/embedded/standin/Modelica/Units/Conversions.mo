within Modelica.Units;
package Conversions "Between units of the SI and others"
  extends Modelica.Icons.FunctionsPackage;

  function to_unit1 "The same number without a unit"
    extends Modelica.Icons.Function;
    input Real r;
    output Real result(unit = "1");
  algorithm
    result := r;
  end to_unit1;

  function to_degC "Temperature in degrees Celsius"
    extends Modelica.Icons.Function;
    input Modelica.Units.SI.Temperature Kelvin;
    output Modelica.Units.NonSI.Temperature_degC Celsius;
  algorithm
    Celsius := Kelvin + Modelica.Constants.T_zero;
  end to_degC;

  function from_degC "Temperature from degrees Celsius"
    extends Modelica.Icons.Function;
    input Modelica.Units.NonSI.Temperature_degC Celsius;
    output Modelica.Units.SI.Temperature Kelvin;
  algorithm
    Kelvin := Celsius - Modelica.Constants.T_zero;
  end from_degC;

  function to_degF "Temperature in degrees Fahrenheit"
    extends Modelica.Icons.Function;
    input Modelica.Units.SI.Temperature Kelvin;
    output Modelica.Units.NonSI.Temperature_degF Fahrenheit;
  algorithm
    Fahrenheit := (Kelvin + Modelica.Constants.T_zero)*(9/5) + 32;
  end to_degF;

  function from_degF "Temperature from degrees Fahrenheit"
    extends Modelica.Icons.Function;
    input Modelica.Units.NonSI.Temperature_degF Fahrenheit;
    output Modelica.Units.SI.Temperature Kelvin;
  algorithm
    Kelvin := (Fahrenheit - 32)*(5/9) - Modelica.Constants.T_zero;
  end from_degF;

  function to_degRk "Temperature in degrees Rankine"
    extends Modelica.Icons.Function;
    input Modelica.Units.SI.Temperature Kelvin;
    output Modelica.Units.NonSI.Temperature_degRk Rankine;
  algorithm
    Rankine := 9/5*Kelvin;
  end to_degRk;

  function from_degRk "Temperature from degrees Rankine"
    extends Modelica.Icons.Function;
    input Modelica.Units.NonSI.Temperature_degRk Rankine;
    output Modelica.Units.SI.Temperature Kelvin;
  algorithm
    Kelvin := 5/9*Rankine;
  end from_degRk;

  function to_deg "Angle in degrees"
    extends Modelica.Icons.Function;
    input Modelica.Units.SI.Angle radian;
    output Modelica.Units.NonSI.Angle_deg degree;
  algorithm
    degree := 180.0/Modelica.Constants.pi*radian;
  end to_deg;

  function from_deg "Angle from degrees"
    extends Modelica.Icons.Function;
    input Modelica.Units.NonSI.Angle_deg degree;
    output Modelica.Units.SI.Angle radian;
  algorithm
    radian := Modelica.Constants.pi/180.0*degree;
  end from_deg;

  function to_rpm "AngularVelocity in revolutions per minute"
    extends Modelica.Icons.Function;
    input Modelica.Units.SI.AngularVelocity rs;
    output Modelica.Units.NonSI.AngularVelocity_rpm rpm;
  algorithm
    rpm := 30/Modelica.Constants.pi*rs;
  end to_rpm;

  function from_rpm "AngularVelocity from revolutions per minute"
    extends Modelica.Icons.Function;
    input Modelica.Units.NonSI.AngularVelocity_rpm rpm;
    output Modelica.Units.SI.AngularVelocity rs;
  algorithm
    rs := Modelica.Constants.pi/30*rpm;
  end from_rpm;

  function to_kmh "Velocity in kilometres per hour"
    extends Modelica.Icons.Function;
    input Modelica.Units.SI.Velocity ms;
    output Modelica.Units.NonSI.Velocity_kmh kmh;
  algorithm
    kmh := 3.6*ms;
  end to_kmh;

  function from_kmh "Velocity from kilometres per hour"
    extends Modelica.Icons.Function;
    input Modelica.Units.NonSI.Velocity_kmh kmh;
    output Modelica.Units.SI.Velocity ms;
  algorithm
    ms := kmh/3.6;
  end from_kmh;

  function to_day "Time in days"
    extends Modelica.Icons.Function;
    input Modelica.Units.SI.Time s;
    output Modelica.Units.NonSI.Time_day day;
  algorithm
    day := s/86400;
  end to_day;

  function from_day "Time from days"
    extends Modelica.Icons.Function;
    input Modelica.Units.NonSI.Time_day day;
    output Modelica.Units.SI.Time s;
  algorithm
    s := 86400*day;
  end from_day;

  function to_hour "Time in hours"
    extends Modelica.Icons.Function;
    input Modelica.Units.SI.Time s;
    output Modelica.Units.NonSI.Time_hour hour;
  algorithm
    hour := s/3600;
  end to_hour;

  function from_hour "Time from hours"
    extends Modelica.Icons.Function;
    input Modelica.Units.NonSI.Time_hour hour;
    output Modelica.Units.SI.Time s;
  algorithm
    s := 3600*hour;
  end from_hour;

  function to_minute "Time in minutes"
    extends Modelica.Icons.Function;
    input Modelica.Units.SI.Time s;
    output Modelica.Units.NonSI.Time_minute minute;
  algorithm
    minute := s/60;
  end to_minute;

  function from_minute "Time from minutes"
    extends Modelica.Icons.Function;
    input Modelica.Units.NonSI.Time_minute minute;
    output Modelica.Units.SI.Time s;
  algorithm
    s := 60*minute;
  end from_minute;

  function to_litre "Volume in litres"
    extends Modelica.Icons.Function;
    input Modelica.Units.SI.Volume m3;
    output Modelica.Units.NonSI.Volume_litre litre;
  algorithm
    litre := 1000*m3;
  end to_litre;

  function from_litre "Volume from litres"
    extends Modelica.Icons.Function;
    input Modelica.Units.NonSI.Volume_litre litre;
    output Modelica.Units.SI.Volume m3;
  algorithm
    m3 := litre/1000;
  end from_litre;

  function to_Ah "ElectricCharge in ampere hours"
    extends Modelica.Icons.Function;
    input Modelica.Units.SI.ElectricCharge Coulomb;
    output Modelica.Units.NonSI.ElectricCharge_Ah AmpereHour;
  algorithm
    AmpereHour := Coulomb/3600;
  end to_Ah;

  function from_Ah "ElectricCharge from ampere hours"
    extends Modelica.Icons.Function;
    input Modelica.Units.NonSI.ElectricCharge_Ah AmpereHour;
    output Modelica.Units.SI.ElectricCharge Coulomb;
  algorithm
    Coulomb := AmpereHour*3600;
  end from_Ah;

  function to_Wh "Energy in watt hours"
    extends Modelica.Icons.Function;
    input Modelica.Units.SI.Energy Joule;
    output Modelica.Units.NonSI.Energy_Wh WattHour;
  algorithm
    WattHour := Joule/3600;
  end to_Wh;

  function from_Wh "Energy from watt hours"
    extends Modelica.Icons.Function;
    input Modelica.Units.NonSI.Energy_Wh WattHour;
    output Modelica.Units.SI.Energy Joule;
  algorithm
    Joule := WattHour*3600;
  end from_Wh;

  function to_kWh "Energy in kilowatt hours"
    extends Modelica.Icons.Function;
    input Modelica.Units.SI.Energy J;
    output Modelica.Units.NonSI.Energy_kWh kWh;
  algorithm
    kWh := J/3.6e6;
  end to_kWh;

  function from_kWh "Energy from kilowatt hours"
    extends Modelica.Icons.Function;
    input Modelica.Units.NonSI.Energy_kWh kWh;
    output Modelica.Units.SI.Energy J;
  algorithm
    J := 3.6e6*kWh;
  end from_kWh;

  function to_bar "Pressure in bar"
    extends Modelica.Icons.Function;
    input Modelica.Units.SI.Pressure Pa;
    output Modelica.Units.NonSI.Pressure_bar bar;
  algorithm
    bar := Pa/1e5;
  end to_bar;

  function from_bar "Pressure from bar"
    extends Modelica.Icons.Function;
    input Modelica.Units.NonSI.Pressure_bar bar;
    output Modelica.Units.SI.Pressure Pa;
  algorithm
    Pa := 1e5*bar;
  end from_bar;

  function to_gps "MassFlowRate in grams per second"
    extends Modelica.Icons.Function;
    input Modelica.Units.SI.MassFlowRate kgps;
    output Modelica.Units.NonSI.MassFlowRate_gps gps;
  algorithm
    gps := 1000*kgps;
  end to_gps;

  function from_gps "MassFlowRate from grams per second"
    extends Modelica.Icons.Function;
    input Modelica.Units.NonSI.MassFlowRate_gps gps;
    output Modelica.Units.SI.MassFlowRate kgps;
  algorithm
    kgps := gps/1000;
  end from_gps;

  function to_cm2 "Area in square centimetres"
    extends Modelica.Icons.Function;
    input Modelica.Units.SI.Area m2;
    output Modelica.Units.NonSI.Area_cm cm2;
  algorithm
    cm2 := 10000*m2;
  end to_cm2;

  function from_cm2 "Area from square centimetres"
    extends Modelica.Icons.Function;
    input Modelica.Units.NonSI.Area_cm cm2;
    output Modelica.Units.SI.Area m2;
  algorithm
    m2 := 0.0001*cm2;
  end from_cm2;

  function to_Hz "Frequency of an angular velocity"
    extends Modelica.Icons.Function;
    input Modelica.Units.SI.AngularVelocity w;
    output Modelica.Units.SI.Frequency f;
  algorithm
    f := w/(2*Modelica.Constants.pi);
  end to_Hz;

  function from_Hz "Angular velocity of a frequency"
    extends Modelica.Icons.Function;
    input Modelica.Units.SI.Frequency f;
    output Modelica.Units.SI.AngularVelocity w;
  algorithm
    w := 2*Modelica.Constants.pi*f;
  end from_Hz;
end Conversions;
