within Mechanisms.Functions;
function openChainTorque "Torques on the joints of an open chain that follows a motion, and its energies"
  extends Modelica.Icons.Function;
  input Real q[:] "Angles of the joints";
  input Real qd[size(q, 1)] "Speeds of the joints";
  input Real qdd[size(q, 1)] "Accelerations of the joints";
  input Real alpha[size(q, 1)] "Angles between the axes";
  input Real d[size(q, 1)] "Distances between the axes";
  input Real r[size(q, 1)] "Distances along the axes";
  input Real offset[size(q, 1)] "Angles about the axes where q = 0";
  input Real J[size(q, 1), 6] "Inertia tensors: xx, xy, xz, yy, yz, zz";
  input Real ms[size(q, 1), 3] "First moments of mass";
  input Real m[size(q, 1)] "Masses";
  input Real gravity[3] "Gravity vector";
  output Real torque[size(q, 1)] "Torques on the joints";
  output Real kineticEnergy "Kinetic energy";
  output Real potentialEnergy "Potential energy";
protected
  Integer n = size(q, 1) "Number of joints";
  Real R[size(q, 1), 3, 3] "Orientations: vectors of link j into the frame of link j - 1";
  Real p[size(q, 1), 3] "Origins of the frames, in the frames before";
  Real F[size(q, 1), 3] "Forces of inertia and weight on the links";
  Real N[size(q, 1), 3] "Their torques about the origins";
  Real f[3] "Force on a link by the link before";
  Real t[3] "Torque on a link by the link before, about the origin";
  Real w[3] = zeros(3) "Angular velocity of a link";
  Real z[3] = zeros(3) "Angular acceleration";
  Real v[3] = zeros(3) "Velocity of the origin";
  Real a[3] = -gravity "Acceleration of the origin, less gravity";
  Real g[3] = gravity "Gravity";
  Real height = 0 "Negative potential of gravity at the origin";
  Real Jw[3] "Inertia tensor times angular velocity";
  Real Jz[3] "Inertia tensor times angular acceleration";
  Real s "Sine";
  Real c "Cosine";
algorithm
  kineticEnergy := 0;
  potentialEnergy := 0;
  // From the base to the tool: motion
  for j in 1:n loop
    s := sin(q[j] + offset[j]);
    c := cos(q[j] + offset[j]);
    R[j, :, :] := {{c, -s, 0}, {cos(alpha[j])*s, cos(alpha[j])*c, -sin(alpha[j])},
      {sin(alpha[j])*s, sin(alpha[j])*c, cos(alpha[j])}};
    p[j, :] := {d[j], -r[j]*sin(alpha[j]), r[j]*cos(alpha[j])};
    a := transpose(R[j, :, :])*(a + cross(z, p[j, :]) + cross(w, cross(w, p[j, :])));
    v := transpose(R[j, :, :])*(v + cross(w, p[j, :]));
    height := height + g*p[j, :];
    g := transpose(R[j, :, :])*g;
    w := transpose(R[j, :, :])*w + {0, 0, qd[j]};
    z := transpose(R[j, :, :])*z + {w[2]*qd[j], -w[1]*qd[j], qdd[j]};
    Jw := {J[j, 1]*w[1] + J[j, 2]*w[2] + J[j, 3]*w[3], J[j, 2]*w[1] + J[j, 4]*w[2] + J[j, 5]*w[3],
      J[j, 3]*w[1] + J[j, 5]*w[2] + J[j, 6]*w[3]};
    Jz := {J[j, 1]*z[1] + J[j, 2]*z[2] + J[j, 3]*z[3], J[j, 2]*z[1] + J[j, 4]*z[2] + J[j, 5]*z[3],
      J[j, 3]*z[1] + J[j, 5]*z[2] + J[j, 6]*z[3]};
    F[j, :] := m[j]*a + cross(z, ms[j, :]) + cross(w, cross(w, ms[j, :]));
    N[j, :] := Jz + cross(w, Jw) + cross(ms[j, :], a);
    kineticEnergy := kineticEnergy + 0.5*(w*Jw + m[j]*(v*v)) + ms[j, :]*cross(v, w);
    potentialEnergy := potentialEnergy - m[j]*height - g*ms[j, :];
  end for;
  // From the tool to the base: forces and torques
  f := zeros(3);
  t := zeros(3);
  for j in n:-1:1 loop
    f := F[j, :] + f;
    t := N[j, :] + t;
    torque[j] := t[3];
    f := R[j, :, :]*f;
    t := R[j, :, :]*t + cross(p[j, :], f);
  end for;
  annotation (Documentation(info="<html>
<p>
Newton-Euler recursion in the parameters in which it is linear (references 1 and 2). With the orientation
<code>R[j]</code> and the origin <code>p[j]</code> of frame j in frame j - 1, its axis <code>e = {0,0,1}</code>, and
everything of link j resolved in frame j:
</p>
<blockquote><pre>
w[j] = R[j]'*w[j-1] + e*qd[j]
z[j] = R[j]'*z[j-1] + w[j] x e*qd[j] + e*qdd[j]
a[j] = R[j]'*(a[j-1] + z[j-1] x p[j] + w[j-1] x (w[j-1] x p[j])),   a[0] = -gravity
F[j] = m[j]*a[j] + z[j] x ms[j] + w[j] x (w[j] x ms[j])
N[j] = J[j]*z[j] + w[j] x J[j]*w[j] + ms[j] x a[j]
f[j] = F[j] + R[j+1]*f[j+1]
t[j] = N[j] + R[j+1]*t[j+1] + p[j+1] x R[j+1]*f[j+1]
</pre></blockquote>
<p>
The torque on joint j is the third element of <code>t[j]</code>. The energies of link j are
</p>
<blockquote><pre>
(w[j].J[j]*w[j] + m[j]*v[j].v[j])/2 + ms[j].(v[j] x w[j]),   -m[j]*gravity.r[j] - gravity.ms[j]
</pre></blockquote>
<h4>References</h4>
<ol>
<li>J. Y. S. Luh, M. W. Walker, R. P. C. Paul: <em>On-line computational scheme for mechanical manipulators</em>, ASME
Journal of Dynamic Systems, Measurement and Control 102 (1980), 69-76.</li>
<li>W. Khalil, E. Dombre: <em>Modeling, Identification and Control of Robots</em>, 2002, chapter 9.</li>
</ol>
</html>"));
end openChainTorque;
