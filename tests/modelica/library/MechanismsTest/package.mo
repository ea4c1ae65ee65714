within ;
package MechanismsTest "Machines with the exact inputs of the reference trajectories"
  annotation (
    version="0.1.0",
    uses(Mechanisms(version="0.1.0")),
    Documentation(info="<html>
<p>
For inputs that are formulas in a reference file: straight lines between samples would differ from them.
</p>
</html>"));
end MechanismsTest;
