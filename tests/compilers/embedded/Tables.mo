package Tables "Lookup tables by the external functions of the Modelica Standard Library"
  type Smoothness = enumeration(
      LinearSegments, ContinuousDerivative, ConstantSegments, MonotoneContinuousDerivative1,
      MonotoneContinuousDerivative2, ModifiedContinuousDerivative);
  type Extrapolation = enumeration(HoldLastPoint, LastTwoPoints, Periodic, NoExtrapolation);
  type TimeEvents = enumeration(Always, AtDiscontinuities, NoTimeEvents);

  class OneObject
    extends ExternalObject;
    function constructor
      input Real table[:, :];
      input Integer columns[:];
      input Smoothness smoothness;
      input Extrapolation extrapolation;
      input String fileName = "NoName";
      output OneObject id;
      external "C" id = ModelicaStandardTables_CombiTable1D_init2(fileName, "NoName", table,
        size(table, 1), size(table, 2), columns, size(columns, 1), smoothness, extrapolation, false);
    end constructor;
    function destructor
      input OneObject id;
      external "C" ModelicaStandardTables_CombiTable1D_close(id);
    end destructor;
  end OneObject;

  function one
    input OneObject id;
    input Integer column;
    input Real u;
    output Real y;
    external "C" y = ModelicaStandardTables_CombiTable1D_getValue(id, column, u);
  end one;

  function lowest
    input OneObject id;
    output Real u;
    external "C" u = ModelicaStandardTables_CombiTable1D_minimumAbscissa(id);
  end lowest;

  function highest
    input OneObject id;
    output Real u;
    external "C" u = ModelicaStandardTables_CombiTable1D_maximumAbscissa(id);
  end highest;

  block One
    parameter Real table[:, :];
    parameter Integer columns[:] = 2:size(table, 2);
    parameter Smoothness smoothness = Smoothness.LinearSegments;
    parameter Extrapolation extrapolation = Extrapolation.LastTwoPoints;
    parameter String fileName = "NoName";
    input Real u;
    output Real y[size(columns, 1)];
    final parameter Real u_min = lowest(id);
    final parameter Real u_max = highest(id);
  protected
    parameter OneObject id = OneObject(table, columns, smoothness, extrapolation, fileName);
  equation
    for i in 1:size(columns, 1) loop
      y[i] = one(id, i, u);
    end for;
  end One;

  class TimeObject
    extends ExternalObject;
    function constructor
      input Real table[:, :];
      input Real startTime;
      input Integer columns[:];
      input Smoothness smoothness;
      input Extrapolation extrapolation;
      input Real shiftTime;
      input TimeEvents timeEvents;
      output TimeObject id;
      external "C" id = ModelicaStandardTables_CombiTimeTable_init2("NoName", "NoName", table,
        size(table, 1), size(table, 2), startTime, columns, size(columns, 1), smoothness,
        extrapolation, shiftTime, timeEvents, false);
    end constructor;
    function destructor
      input TimeObject id;
      external "C" ModelicaStandardTables_CombiTimeTable_close(id);
    end destructor;
  end TimeObject;

  function atTime
    input TimeObject id;
    input Integer column;
    input Real t;
    input Real next;
    input Real before;
    output Real y;
    external "C" y = ModelicaStandardTables_CombiTimeTable_getValue(id, column, t, next, before);
  end atTime;

  function nextEvent
    input TimeObject id;
    input Real t;
    output Real next;
    external "C" next = ModelicaStandardTables_CombiTimeTable_nextTimeEvent(id, t);
  end nextEvent;

  model Integrated "The integral of a table of time, and how many time events there are"
    parameter Real table[:, :] = [0, 1; 1, 1; 1, 3; 2, -1];
    parameter Smoothness smoothness = Smoothness.LinearSegments;
    parameter Extrapolation extrapolation = Extrapolation.LastTwoPoints;
    parameter Real startTime = 0;
    parameter Real shiftTime = startTime;
    parameter TimeEvents timeEvents = TimeEvents.Always;
    output Real y;
    output Real x(start = 0, fixed = true);
    output Integer events(start = 0, fixed = true);
    discrete Real next(start = 0, fixed = true);
  protected
    parameter TimeObject id = TimeObject(
      table, startTime, {2}, smoothness, extrapolation, shiftTime, timeEvents);
  equation
    when {time >= pre(next), initial()} then
      next = nextEvent(id, time);
      events = pre(events) + 1;
    end when;
    y = atTime(id, 1, time, next, pre(next));
    der(x) = y;
  end Integrated;

  model Repeated = Integrated(table = [0, 0; 0.25, 1; 0.75, -1; 1, 0] "A triangle",
      extrapolation = Extrapolation.Periodic, shiftTime = 0.1, startTime = 0.3);
  model Steps = Integrated(table = [0, 2; 0.4, 5; 1, 0], smoothness = Smoothness.ConstantSegments,
      extrapolation = Extrapolation.Periodic);
  model Jumps = Integrated(table = [0, 0; 1, 1; 1, 5; 3, 1],
      extrapolation = Extrapolation.HoldLastPoint, timeEvents = TimeEvents.AtDiscontinuities);

  model Friction "A friction characteristic by points"
    parameter Real m = 2;
    One characteristic(table = [-1, -3; 0, 0; 1, 3; 2, 4]);
    output Real v(start = 3, fixed = true);
  equation
    characteristic.u = v;
    m*der(v) = -characteristic.y[1];
  end Friction;
end Tables;
