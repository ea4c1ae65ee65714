/* A step of the explicit pair of orders 5 and 4 by Dormand and Prince (1980), for right-hand sides
 * that are not stiff: measured inputs bend at every sample, which multistep formulas pay for. */
#include "integrator.h"

#if FMIDENT_NX > 0

#include <math.h>

#define EACH for (int i = 0; i < FMIDENT_NX; ++i)

int fmident_explicit_step(Instance *m, Explicit *e, Path *s, double size) {
  const double t = s->t, *x = s->x, *k1 = s->slope;
  double *k2 = e->k[1], *k3 = e->k[2], *k4 = e->k[3], *k5 = e->k[4], *k6 = e->k[5], *k7 = e->k[6];
  double *at = e->at, *next = s->next;
  double slopes = 0.0, states = 0.0;
  EACH at[i] = x[i] + size * (1.0 / 5 * k1[i]);
  if (fmident_rhs_at(m, t + 1.0 / 5 * size, at, k2)) return 1;
  EACH at[i] = x[i] + size * (3.0 / 40 * k1[i] + 9.0 / 40 * k2[i]);
  if (fmident_rhs_at(m, t + 3.0 / 10 * size, at, k3)) return 1;
  EACH at[i] = x[i] + size * (44.0 / 45 * k1[i] - 56.0 / 15 * k2[i] + 32.0 / 9 * k3[i]);
  if (fmident_rhs_at(m, t + 4.0 / 5 * size, at, k4)) return 1;
  EACH at[i] = x[i] + size * (19372.0 / 6561 * k1[i] - 25360.0 / 2187 * k2[i] +
                              64448.0 / 6561 * k3[i] - 212.0 / 729 * k4[i]);
  if (fmident_rhs_at(m, t + 8.0 / 9 * size, at, k5)) return 1;
  EACH at[i] = x[i] + size * (9017.0 / 3168 * k1[i] - 355.0 / 33 * k2[i] + 46732.0 / 5247 * k3[i] +
                              49.0 / 176 * k4[i] - 5103.0 / 18656 * k5[i]);
  if (fmident_rhs_at(m, t + size, at, k6)) return 1;
  EACH next[i] = x[i] + size * (35.0 / 384 * k1[i] + 500.0 / 1113 * k3[i] + 125.0 / 192 * k4[i] -
                                2187.0 / 6784 * k5[i] + 11.0 / 84 * k6[i]);
  if (fmident_rhs_at(m, t + size, next, k7)) return 1;
  EACH s->error[i] = size * (71.0 / 57600 * k1[i] - 71.0 / 16695 * k3[i] + 71.0 / 1920 * k4[i] -
                             17253.0 / 339200 * k5[i] + 22.0 / 525 * k6[i] - 1.0 / 40 * k7[i]);
  /* The last two stages are at the same time: what their slopes differ by is the Jacobian times
   * what they differ by (Hairer and Wanner, Solving ODEs II, section IV.2). */
  EACH {
    const double scale = 1.0 / fabs(fmident_nominals[i]);
    const double dk = (k7[i] - k6[i]) * scale, dx = (next[i] - at[i]) * scale;
    slopes += dk * dk;
    states += dx * dx;
  }
  s->radius = states > 0.0 ? sqrt(slopes / states) : 0.0;
  return 0;
}

#else
typedef int fmident_no_explicit; /* an empty translation unit is not valid C */
#endif
