/* Steps in which a condition of the model switches, such as the sign of a velocity. The
 * sensitivities are integrated up to that instant and on from there. Where the state derivatives
 * jump by df, they jump by -df dt/dp, where dt/dp is how the instant follows the parameter (the
 * saltation matrix: Leine and Nijmeijer, Dynamics and Bifurcations of Non-Smooth Mechanical
 * Systems, 2004, chapter 7). */
#include "integrator.h"
#include "sensitivities.h"

#if FMIDENT_NX > 0

#include <math.h>
#include <string.h>

enum { N = FMIDENT_NX, MODES = FMIDENT_MODES, MOST_SWITCHES = 100, HALVINGS = 60 };

/* Smaller parts of the state derivatives are not a jump. */
static const double least_jump = 1e-9;

/* What the indicator does over a step, and what its derivative says, may differ by this factor. */
static const double least_agreement = 0.05;

static int evaluate(Instance *m, fmident_Function *function, double since, const double *x,
                    const double *modes, double *first, double *second) {
  const double t = m->now.t + since;
  m->arg[0] = &t;
  m->arg[1] = x;
  m->arg[2] = fmident_inputs_at(m, since);
  m->arg[3] = m->p;
  m->arg[4] = m->c;
  m->arg[5] = modes;
  m->res[0] = first;
  m->res[1] = second;
  return function(m->arg, m->res, m->iw, m->work, 0);
}

static int same(const double *a, const double *b) {
  for (int i = 0; i < MODES; ++i) {
    if (a[i] != b[i]) return 0;
  }
  return 1;
}

/* The derivative of all indicators along a direction. */
static int change_along(Instance *m, double since, const double *x, double time, const double *sx,
                        const double *su, const double *sp, double *change) {
  const double t = m->now.t + since;
  m->arg[0] = &t;
  m->arg[1] = x;
  m->arg[2] = fmident_inputs_at(m, since);
  m->arg[3] = m->p;
  m->arg[4] = m->c;
  m->arg[5] = &time;
  m->arg[6] = sx;
  m->arg[7] = su;
  m->arg[8] = sp;
  m->res[0] = change;
  return fmident_directional_switches(m->arg, m->res, m->iw, m->work, 0);
}

static double largest(const double *values) {
  double found = 0.0;
  for (int i = 0; i < N; ++i) found = fmax(found, fabs(values[i]));
  return found;
}

/* One condition switches to a new mode; `m->sensitivities->modes` has the others as they are. */
static void jump(Instance *m, int which, double mode, double since, const double *x) {
  static const double nothing[FMIDENT_NU + FMIDENT_NP + 1] = {0.0};
  Sensitivities *s = m->sensitivities;
  double before[N], after[N], change[MODES > 0 ? MODES : 1], rate_before, rate_after, scale;
  int jumps = 0;
  if (evaluate(m, fmident_switched_rhs, since, x, s->modes, before, NULL)) goto lost;
  s->modes[which] = mode;
  if (evaluate(m, fmident_switched_rhs, since, x, s->modes, after, NULL)) goto lost;
  scale = fmax(largest(before), largest(after));
  for (int i = 0; i < N; ++i) {
    const double size = fmax(fabs(before[i]), fabs(after[i]));
    jumps |= fabs(after[i] - before[i]) > least_jump * fmax(size, least_jump * scale);
  }
  if (!jumps) return;
  if (change_along(m, since, x, 1.0, before, m->du, nothing, change)) goto lost;
  rate_before = change[which];
  if (change_along(m, since, x, 1.0, after, m->du, nothing, change)) goto lost;
  rate_after = change[which];
  if (!(rate_before * rate_after > 0.0) ||
      fabs(rate_after) < least_agreement * fabs(rate_before) * least_agreement) {
    fmident_sensitivities_lose(
        s,
        "the state derivatives jump at %.17g, and the solution does not pass through the jump but "
        "stays there or only touches it: it has no derivative there",
        m->now.t + since);
    return;
  }
  for (size_t j = 0; j < s->count; ++j) {
    const unsigned q = s->known[j] - FMIDENT_VR_P;
    double shift;
    for (int i = 0; i < N; ++i) m->seed_x[i] = s->states[(size_t)i * s->stride + j];
    memset(m->seed_p, 0, FMIDENT_NP * sizeof(double));
    if (q < FMIDENT_NP) m->seed_p[q] = 1.0;
    if (change_along(m, since, x, 0.0, m->seed_x, nothing, m->seed_p, change)) goto lost;
    shift = -change[which] / rate_before; /* of the instant, with the parameter */
    for (int i = 0; i < N; ++i) {
      s->states[(size_t)i * s->stride + j] -= (after[i] - before[i]) * shift;
    }
  }
  return;
lost:
  fmident_sensitivities_lose(s, "the conditions could not be differentiated at %.17g",
                             m->now.t + since);
}

/* The modes at a fraction of a step, and the states there. */
static int modes_at(Instance *m, const Taken *taken, double fraction, double *x, double *modes) {
  fmident_states_between(taken, fraction, x);
  return evaluate(m, fmident_switches, taken->path->t + fraction * taken->size, x, NULL,
                  m->sensitivities->indicators, modes);
}

/* Pass through one switch after the other, from the modes at the beginning to those at the end. */
static void pass(Instance *m, const Taken *taken) {
  Sensitivities *s = m->sensitivities;
  double x[N], found[MODES > 0 ? MODES : 1], begin = 0.0;
  for (int count = 0; count < MOST_SWITCHES && !same(s->modes, s->modes_after); ++count) {
    double low = begin, high = 1.0;
    memcpy(s->modes_between, s->modes_after, MODES * sizeof(double));
    for (int k = 0; k < HALVINGS && high - low > 1e-15; ++k) {
      const double middle = 0.5 * (low + high);
      if (modes_at(m, taken, middle, x, found)) break;
      if (same(found, s->modes)) {
        low = middle;
      } else {
        high = middle;
        memcpy(s->modes_between, found, sizeof found);
      }
    }
    if (high > begin) fmident_variational_part(m, taken, begin, high);
    fmident_states_between(taken, high, x);
    for (int i = 0; i < MODES && !s->lost[0]; ++i) {
      if (s->modes[i] != s->modes_between[i]) {
        jump(m, i, s->modes_between[i], taken->path->t + high * taken->size, x);
      }
    }
    s->slope_known = 0;
    begin = high;
    if (s->lost[0]) return;
  }
  if (!same(s->modes, s->modes_after)) {
    fmident_sensitivities_lose(s, "conditions switch again and again at %.17g",
                               m->now.t + taken->path->t);
  } else if (begin < 1.0) {
    fmident_variational_part(m, taken, begin, 1.0);
  }
}

int fmident_switching_step(Instance *m, const Taken *taken) {
  Sensitivities *s = m->sensitivities;
  const Path *path = taken->path;
  if (MODES == 0) return 0;
  if (!s->modes_known &&
      evaluate(m, fmident_switches, path->t, path->x, NULL, s->indicators, s->modes)) {
    return 0;
  }
  s->modes_known = 1;
  if (evaluate(m, fmident_switches, path->t + taken->size, path->next, NULL, s->indicators,
               s->modes_after)) {
    return 0;
  }
  if (same(s->modes, s->modes_after)) return 0;
  pass(m, taken);
  return 1;
}

#else
typedef int fmident_no_switching; /* an empty translation unit is not valid C */
#endif
