within ;
package Mechanisms "Machines for parameter estimation, self-contained, smooth and of index one"
  extends Icons.Package;
  annotation (
    version="0.1.0",
    versionDate="2026-11-21",
    Documentation(info="<html>
<p>
Machines whose parameters are to be estimated from measurements: oscillators, friction laws, drive
trains, linkages and robots. The library needs no other library, and every model is continuous in time,
free of events and of index one, so that every compiler of the project compiles every model.
</p>
<p>
Start with <a href=\"modelica://Mechanisms.UsersGuide\">UsersGuide</a> for the conventions and with
<a href=\"modelica://Mechanisms.Examples\">Examples</a> for models that run as they are.
</p>
</html>"));
end Mechanisms;
