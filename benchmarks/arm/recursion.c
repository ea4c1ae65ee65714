/* The inverse dynamics of an arm of six revolute joints by hand: the Newton-Euler recursion for
   modified Denavit-Hartenberg parameters, with friction, as one would write it for a controller.

     pass(parameters, n, inputs, outputs)   n rows of q, qd, qdd; n rows of six torques */
#include <math.h>

enum { JOINTS = 6 };

typedef struct {
  double alpha[JOINTS], d[JOINTS], r[JOINTS], offset[JOINTS];
  double Ixx[JOINTS], Ixy[JOINTS], Ixz[JOINTS], Iyy[JOINTS], Iyz[JOINTS], Izz[JOINTS];
  double ms[3][JOINTS], m[JOINTS], Ia[JOINTS], coulomb[JOINTS], viscous[JOINTS], bias[JOINTS];
  double coupling[JOINTS][JOINTS], gravity[3], width;
} Parameters;

static void cross(const double *a, const double *b, double *c) {
  c[0] = a[1] * b[2] - a[2] * b[1];
  c[1] = a[2] * b[0] - a[0] * b[2];
  c[2] = a[0] * b[1] - a[1] * b[0];
}

/* From the frame before into the frame of the link, or back. */
static void into(double R[3][3], const double *a, double *b) {
  for (int i = 0; i < 3; i++) b[i] = R[0][i] * a[0] + R[1][i] * a[1] + R[2][i] * a[2];
}

static void back(double R[3][3], const double *a, double *b) {
  for (int i = 0; i < 3; i++) b[i] = R[i][0] * a[0] + R[i][1] * a[1] + R[i][2] * a[2];
}

static void torques(const Parameters *p, const double *q, const double *qd, const double *qdd,
                    double *tau) {
  double R[JOINTS][3][3], P[JOINTS][3], F[JOINTS][3], N[JOINTS][3];
  double w[3] = {0}, z[3] = {0}, a[3], x[3], y[3], s[3], load[JOINTS];
  for (int i = 0; i < 3; i++) a[i] = -p->gravity[i];
  for (int j = 0; j < JOINTS; j++) {
    const double sa = sin(p->alpha[j]), ca = cos(p->alpha[j]);
    const double st = sin(q[j] + p->offset[j]), ct = cos(q[j] + p->offset[j]);
    const double rows[3][3] = {{ct, -st, 0.0}, {ca * st, ca * ct, -sa}, {sa * st, sa * ct, ca}};
    for (int i = 0; i < 9; i++) R[j][i / 3][i % 3] = rows[i / 3][i % 3];
    P[j][0] = p->d[j], P[j][1] = -p->r[j] * sa, P[j][2] = p->r[j] * ca;
    cross(w, P[j], x), cross(w, x, y), cross(z, P[j], x);
    for (int i = 0; i < 3; i++) y[i] += x[i] + a[i];
    into(R[j], y, a);
    into(R[j], w, x);
    for (int i = 0; i < 3; i++) w[i] = x[i];
    into(R[j], z, x);
    z[0] = x[0] + w[1] * qd[j], z[1] = x[1] - w[0] * qd[j], z[2] = x[2] + qdd[j];
    w[2] += qd[j];
    const double I[3][3] = {{p->Ixx[j], p->Ixy[j], p->Ixz[j]},
                            {p->Ixy[j], p->Iyy[j], p->Iyz[j]},
                            {p->Ixz[j], p->Iyz[j], p->Izz[j]}};
    for (int i = 0; i < 3; i++) s[i] = p->ms[i][j];
    cross(w, s, x), cross(w, x, y), cross(z, s, x);
    for (int i = 0; i < 3; i++) F[j][i] = p->m[j] * a[i] + x[i] + y[i];
    for (int i = 0; i < 3; i++) x[i] = I[i][0] * w[0] + I[i][1] * w[1] + I[i][2] * w[2];
    cross(w, x, y), cross(s, a, x);
    for (int i = 0; i < 3; i++)
      N[j][i] = I[i][0] * z[0] + I[i][1] * z[1] + I[i][2] * z[2] + x[i] + y[i];
  }
  double f[3] = {0}, n[3] = {0};
  for (int j = JOINTS; j-- > 0;) {
    for (int i = 0; i < 3; i++) f[i] += F[j][i], n[i] += N[j][i];
    load[j] = n[2];
    back(R[j], f, x), back(R[j], n, y);
    cross(P[j], x, n);
    for (int i = 0; i < 3; i++) f[i] = x[i], n[i] += y[i];
  }
  for (int j = JOINTS; j-- > 0;)
    for (int i = j + 1; i < JOINTS; i++) load[j] -= p->coupling[i][j] * load[i];
  for (int j = 0; j < JOINTS; j++) {
    double speed = qd[j], acceleration = qdd[j];
    for (int i = 0; i < j; i++) {
      speed += p->coupling[j][i] * qd[i];
      acceleration += p->coupling[j][i] * qdd[i];
    }
    tau[j] = load[j] + p->Ia[j] * acceleration + p->coulomb[j] * tanh(speed / p->width) +
             p->viscous[j] * speed + p->bias[j];
  }
}

void pass(const Parameters *p, long n, const double *inputs, double *outputs) {
  for (long k = 0; k < n; k++, inputs += 3 * JOINTS, outputs += JOINTS)
    torques(p, inputs, inputs + JOINTS, inputs + 2 * JOINTS, outputs);
}
