/* Mechanisms.Robots.Tripod with its default values, by Runge-Kutta steps of fixed length, four
   parameter sets at a time. For statistics over hundreds of searches; study.py compares it
   with the FMU before it uses it. */
#include <math.h>

typedef double V __attribute__((vector_size(32)));

typedef struct { V tool_mass, stiffness, damping_ratio, coulomb, viscous; } Parameters;

static const double RADIUS = 0.3, ROD = 0.5, G = 9.81, CARRIAGE = 1.0, INERTIA = 80e-6;
static const double GEAR = 100.0, FRICTION_WIDTH = 0.5, LIMIT = 2.0, LIMIT_WIDTH = 2e-4;
static const double POSITION_GAIN = 30.0, SPEED_GAIN = 0.056, INTEGRAL_TIME = 0.03;
static const double FORWARD_MASS = 2.8, FORWARD_FORCE = 14.715, START = -0.4002943;
static const double DX[3] = {1.0, -0.5, -0.5};
static const double DY[3] = {0.0, 0.8660254037844386, -0.8660254037844386};
enum { STATES = 15, INPUTS = 9, LANES = 4 };

static inline V root(V x) { for (int l = 0; l < LANES; l++) x[l] = sqrt(x[l]); return x; }
static inline V smooth_sign(V x) {
  for (int l = 0; l < LANES; l++) x[l] = exp(2.0 * x[l]);
  return 1.0 - 2.0 / (x + 1.0);
}
static inline V limited(V u) {
  const double w2 = LIMIT_WIDTH * LIMIT_WIDTH;
  return 0.5 * (root((u + LIMIT) * (u + LIMIT) + w2) - root((u - LIMIT) * (u - LIMIT) + w2));
}

/* States: tool position and velocity, then angle, speed and integral of the three drives.
   Inputs: reference positions, speeds, accelerations of the rails. */
static void derivatives(const V *x, const double *u, const Parameters *p, V *f, V *torque) {
  const double me = INERTIA * GEAR * GEAR;
  const V damping = 2.0 * p->damping_ratio * root(p->stiffness * (me * CARRIAGE / (me + CARRIAGE)));
  const V *q = x, *v = x + 3, *angle = x + 6, *speed = x + 9, *integral = x + 12;
  const V zero = {0.0, 0.0, 0.0, 0.0};
  V m00 = p->tool_mass, m01 = zero, m02 = zero, m11 = p->tool_mass, m12 = zero, m22 = p->tool_mass;
  V f0 = zero, f1 = zero, f2 = -p->tool_mass * G;
  for (int i = 0; i < 3; i++) {
    const V x_off = q[0] - RADIUS * DX[i], y_off = q[1] - RADIUS * DY[i];
    const V h = root(ROD * ROD - x_off * x_off - y_off * y_off);
    const V a = -x_off / h, b = -y_off / h, rate = a * v[0] + b * v[1];
    const V stretch = q[2] + h - angle[i] / GEAR, stretch_rate = v[2] + rate - speed[i] / GEAR;
    const V bias = -(v[0] * v[0] + v[1] * v[1] + rate * rate) / h;
    const V gear = -p->stiffness * stretch - damping * stretch_rate;
    const V carriage = gear - CARRIAGE * (bias + G);
    const V error = GEAR * u[3 + i] + POSITION_GAIN * (GEAR * u[i] - angle[i]) - speed[i];
    const V wanted = SPEED_GAIN * (error + integral[i] / INTEGRAL_TIME) +
                     (FORWARD_MASS * u[6 + i] + FORWARD_FORCE) / GEAR;
    torque[i] = limited(wanted);
    f[6 + i] = speed[i];
    f[9 + i] = (torque[i] - p->coulomb * smooth_sign(speed[i] / FRICTION_WIDTH) -
                p->viscous * speed[i] - gear / GEAR) / INERTIA;
    f[12 + i] = error + (torque[i] - wanted) / SPEED_GAIN;
    m00 += CARRIAGE * a * a; m01 += CARRIAGE * a * b; m02 += CARRIAGE * a;
    m11 += CARRIAGE * b * b; m12 += CARRIAGE * b; m22 += CARRIAGE;
    f0 += a * carriage; f1 += b * carriage; f2 += carriage;
  }
  const V c00 = m11 * m22 - m12 * m12, c01 = m02 * m12 - m01 * m22, c02 = m01 * m12 - m02 * m11;
  const V c11 = m00 * m22 - m02 * m02, c12 = m01 * m02 - m00 * m12, c22 = m00 * m11 - m01 * m01;
  const V det = m00 * c00 + m01 * c01 + m02 * c02;
  f[0] = v[0]; f[1] = v[1]; f[2] = v[2];
  f[3] = (c00 * f0 + c01 * f1 + c02 * f2) / det;
  f[4] = (c01 * f0 + c11 * f1 + c12 * f2) / det;
  f[5] = (c02 * f0 + c12 * f1 + c22 * f2) / det;
}

static void step(V *x, const double *a, const double *b, double from, double to, double h,
                 const Parameters *p) {
  V k1[STATES], k2[STATES], k3[STATES], k4[STATES], y[STATES], torque[3];
  double u[INPUTS], middle[INPUTS];
  for (int m = 0; m < INPUTS; m++) u[m] = a[m] + from * (b[m] - a[m]);
  derivatives(x, u, p, k1, torque);
  for (int m = 0; m < INPUTS; m++) middle[m] = a[m] + 0.5 * (from + to) * (b[m] - a[m]);
  for (int m = 0; m < STATES; m++) y[m] = x[m] + 0.5 * h * k1[m];
  derivatives(y, middle, p, k2, torque);
  for (int m = 0; m < STATES; m++) y[m] = x[m] + 0.5 * h * k2[m];
  derivatives(y, middle, p, k3, torque);
  for (int m = 0; m < INPUTS; m++) u[m] = a[m] + to * (b[m] - a[m]);
  for (int m = 0; m < STATES; m++) y[m] = x[m] + h * k3[m];
  derivatives(y, u, p, k4, torque);
  for (int m = 0; m < STATES; m++) x[m] += h / 6.0 * (k1[m] + 2.0 * (k2[m] + k3[m]) + k4[m]);
}

/* parameters: (count, 5); inputs: (instants, 9), linear between; torques: (count, instants, 3). */
void tripod(int count, int instants, double sample, int steps, const double *parameters,
            const double *inputs, double *torques) {
  for (int first = 0; first < count; first += LANES) {
    Parameters p;
    V x[STATES] = {{0.0}}, f[STATES], torque[3];
    for (int m = 0; m < 5; m++)
      for (int l = 0; l < LANES; l++)
        ((V *)&p)[m][l] = parameters[5 * (first + l < count ? first + l : count - 1) + m];
    for (int l = 0; l < LANES; l++) x[2][l] = START;
    for (int i = 0; i < instants; i++) {
      const double *now = inputs + INPUTS * i;
      if (i > 0)
        for (int s = 0; s < steps; s++)
          step(x, now - INPUTS, now, (double)s / steps, (s + 1.0) / steps, sample / steps, &p);
      derivatives(x, now, &p, f, torque);
      for (int l = 0; l < LANES && first + l < count; l++)
        for (int m = 0; m < 3; m++)
          torques[((long)(first + l) * instants + i) * 3 + m] = torque[m][l];
    }
  }
}
