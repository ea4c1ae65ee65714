/* A step of the explicit pair of orders 5 and 4 by Dormand and Prince (1980), for right-hand sides
 * that are not stiff: measured inputs bend at every sample, which multistep formulas pay for. */
#include "integrator.h"

#if FMIDENT_STATES

#include <math.h>
#include <stdlib.h>

#define EACH for (int i = 0; i < FMIDENT_NX; ++i)

double *fmident_path_room(Path *path, Explicit *e) {
  double *const room = calloc(16 * FMIDENT_NX, sizeof *room), *next = room;
  if (!room) return NULL;
#define TAKE(field) (field = next, next += FMIDENT_NX)
  TAKE(path->x), TAKE(path->slope), TAKE(path->next), TAKE(path->error);
  for (int k = 0; k < 7; ++k) TAKE(e->k[k]);
  TAKE(e->at);
  for (int k = 0; k < 4; ++k) TAKE(e->extension[k]);
#undef TAKE
  return room;
}

int fmident_explicit_step(Instance *m, Explicit *e, Path *s, double size) {
  const double t = s->t, *x = s->x, *k1 = s->slope;
  double *k2 = e->k[1], *k3 = e->k[2], *k4 = e->k[3], *k5 = e->k[4], *k6 = e->k[5], *k7 = e->k[6];
  double *next = s->next;
  double slopes = 0.0, states = 0.0;
#define A(stage, slope) explicit_weights[stage][slope]
#define T(stage) (t + explicit_nodes[stage] * size)
  EACH e->at[i] = x[i] + size * (A(1, 0) * k1[i]);
  if (fmident_rhs_at(m, T(1), e->at, k2)) return 1;
  EACH e->at[i] = x[i] + size * (A(2, 0) * k1[i] + A(2, 1) * k2[i]);
  if (fmident_rhs_at(m, T(2), e->at, k3)) return 1;
  EACH e->at[i] = x[i] + size * (A(3, 0) * k1[i] + A(3, 1) * k2[i] + A(3, 2) * k3[i]);
  if (fmident_rhs_at(m, T(3), e->at, k4)) return 1;
  EACH e->at[i] = x[i] + size * (A(4, 0) * k1[i] + A(4, 1) * k2[i] + A(4, 2) * k3[i] +
                                 A(4, 3) * k4[i]);
  if (fmident_rhs_at(m, T(4), e->at, k5)) return 1;
  EACH e->at[i] = x[i] + size * (A(5, 0) * k1[i] + A(5, 1) * k2[i] + A(5, 2) * k3[i] +
                                 A(5, 3) * k4[i] + A(5, 4) * k5[i]);
  if (fmident_rhs_at(m, T(5), e->at, k6)) return 1;
  EACH next[i] = x[i] + size * (A(6, 0) * k1[i] + A(6, 2) * k3[i] + A(6, 3) * k4[i] +
                                A(6, 4) * k5[i] + A(6, 5) * k6[i]);
  if (fmident_rhs_at(m, T(5), next, k7)) return 1;
  EACH s->error[i] = size * (explicit_errors[0] * k1[i] + explicit_errors[2] * k3[i] +
                             explicit_errors[3] * k4[i] + explicit_errors[4] * k5[i] +
                             explicit_errors[5] * k6[i] + explicit_errors[6] * k7[i]);
  /* The last two stages are at the same time: what their slopes differ by is the Jacobian times
   * what they differ by (Hairer and Wanner, Solving ODEs II, section IV.2). */
  EACH {
    const double scale = 1.0 / fabs(fmident_nominals[i]);
    const double dk = (k7[i] - k6[i]) * scale, dx = (next[i] - e->at[i]) * scale;
    slopes += dk * dk;
    states += dx * dx;
  }
  s->radius = states > 0.0 ? sqrt(slopes / states) : 0.0;
  return 0;
}

/* The continuous extension of order 4 (Hairer, Norsett and Wanner, Solving ODEs I, section II.6). */
void fmident_explicit_extend(Explicit *e, const Path *s, double size) {
  static const double d[7] = {-12715105075.0 / 11282082432, 0.0,
                              87487479700.0 / 32700410799,  -10690763975.0 / 1880347072,
                              701980252875.0 / 199316789632, -1453857185.0 / 822651844,
                              69997945.0 / 29380423};
  EACH {
    const double change = s->next[i] - s->x[i], begin = size * s->slope[i] - change;
    e->extension[0][i] = change;
    e->extension[1][i] = begin;
    e->extension[2][i] = change - size * e->k[6][i] - begin;
    e->extension[3][i] = size * (d[0] * s->slope[i] + d[2] * e->k[2][i] + d[3] * e->k[3][i] +
                                 d[4] * e->k[4][i] + d[5] * e->k[5][i] + d[6] * e->k[6][i]);
  }
}

void fmident_explicit_between(const Explicit *e, const Path *s, double fraction, double *x) {
  const double rest = 1.0 - fraction;
  EACH {
    x[i] = s->x[i] +
           fraction * (e->extension[0][i] +
                       rest * (e->extension[1][i] +
                               fraction * (e->extension[2][i] + rest * e->extension[3][i])));
  }
}

#else
typedef int fmident_no_explicit; /* an empty translation unit is not valid C */
#endif
