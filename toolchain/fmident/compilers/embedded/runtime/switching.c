/* Steps in which a condition of the model switches, such as the sign of a velocity. The
 * sensitivities are integrated up to that instant and on from there. Where the state derivatives
 * jump by df, they jump by -df dt/dp, where dt/dp is how the instant follows the parameter (the
 * saltation matrix: Leine and Nijmeijer, Dynamics and Bifurcations of Non-Smooth Mechanical
 * Systems, 2004, chapter 7). */
#include "integrator.h"
#include "sensitivities.h"

#if FMIDENT_STATES

#include <math.h>
#include <string.h>

#define N ((int)FMIDENT_NX)
#define MODES ((int)FMIDENT_MODES)
enum { MOST_SWITCHES = 100, HALVINGS = 60 };

/* Smaller parts of the state derivatives are not a jump. */
static const double least_jump = 1e-9;

/* What the indicator does over a step, and what its derivative says, may differ by this factor. */
static const double least_agreement = 0.05;

/* Of what an indicator is over a step: what it jumps over zero by, rather than passes through. */
static const double least_gap = 1e-6;

/* Of the sensitivities: by how much the order of switches must change them to matter. */
static const double least_disagreement = 1e-6;

static int evaluate(Instance *m, fmident_Function *function, double since, const double *x,
                    const double *modes, double *first, double *second) {
  const double t = m->now.t + since;
  if (fmident_arguments(m, &t, x, fmident_inputs_at(m, since))) return 1;
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
                        const double *su, const double *sp, const double *sh, double *change) {
  const double t = m->now.t + since;
  if (fmident_arguments(m, &t, x, fmident_inputs_at(m, since))) return 1;
  m->arg[5] = &time;
  m->arg[6] = sx;
  m->arg[7] = su;
  m->arg[8] = sp;
  m->arg[9] = sh;
  m->res[0] = change;
  return fmident_directional_switches(m->arg, m->res, m->iw, m->work, 0);
}

static double largest(const double *values) {
  double found = 0.0;
  for (int i = 0; i < N; ++i) found = fmax(found, fabs(values[i]));
  return found;
}

/* A condition switches to its new mode and, with it, those that follow it (or NULL);
 * `m->sensitivities->modes` has the others as they are. */
static void jump(Instance *m, int which, const int *follows, double since, const double *x) {
  Sensitivities *s = m->sensitivities;
  double nothing[FMIDENT_NU + FMIDENT_NP + FMIDENT_NH + 1], held[FMIDENT_NH + 1];
  double before[N], after[N], change[MODES + 1], rate_before, rate_after, scale;
  int jumps = 0;
  memset(nothing, 0, sizeof nothing);
  memset(held, 0, sizeof held);
  if (evaluate(m, fmident_switched_rhs, since, x, s->modes, before, NULL)) goto lost;
  s->modes[which] = s->modes_between[which];
  for (int i = 0; follows && i < MODES; ++i) {
    if (follows[i]) s->modes[i] = s->modes_between[i];
  }
  if (evaluate(m, fmident_switched_rhs, since, x, s->modes, after, NULL)) goto lost;
  scale = fmax(largest(before), largest(after));
  for (int i = 0; i < N; ++i) {
    const double size = fmax(fabs(before[i]), fabs(after[i]));
    jumps |= fabs(after[i] - before[i]) > least_jump * fmax(size, least_jump * scale);
  }
  if (!jumps) return;
  if (change_along(m, since, x, 1.0, before, m->du, nothing, nothing, change)) goto lost;
  rate_before = change[which];
  if (change_along(m, since, x, 1.0, after, m->du, nothing, nothing, change)) goto lost;
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
    for (size_t i = 0; i < FMIDENT_ND; ++i) held[HELD_D + i] = s->held[i * s->stride + j];
    if (change_along(m, since, x, 0.0, m->seed_x, nothing, m->seed_p, held, change)) goto lost;
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

/* Which conditions follow others that switch at the same instant: their indicators do not pass
 * through zero but jump over it, as that of x < w does where w jumps. Returns how many there are. */
static int find_followers(Instance *m, const Taken *taken, double low, double high, int *follows) {
  const Sensitivities *s = m->sensitivities;
  const double places[4] = {0.0, 1.0, low, high};
  double x[N], modes[MODES + 1], sizes[2][MODES + 1];
  int count = 0, leaders = 0;
  memset(sizes, 0, sizeof sizes);
  for (int k = 0; k < 4; ++k) {
    if (modes_at(m, taken, places[k], x, modes)) return 0;
    for (int i = 0; i < MODES; ++i) {
      sizes[k / 2][i] = fmax(sizes[k / 2][i], fabs(s->indicators[i]));
    }
  }
  for (int i = 0; i < MODES; ++i) {
    const int switches = s->modes[i] != s->modes_between[i];
    follows[i] = switches && sizes[1][i] > least_gap * sizes[0][i];
    count += follows[i];
    leaders += switches && !follows[i];
  }
  return leaders > 0 ? count : 0;
}

/* All conditions that switch at one instant. Where several do by themselves, a parameter may move
 * one before the other; there is a derivative only if their order does not matter. */
static void jump_all(Instance *m, const Taken *taken, double low, double high) {
  Sensitivities *s = m->sensitivities;
  const size_t length = N * s->stride;
  const double since = taken->path->t + high * taken->size;
  double x[N], modes[MODES + 1], *start = s->stages, *first = start + length;
  int follows[MODES + 1], leaders[MODES + 1], count = 0, some = 0;
  for (int i = 0; i < MODES; ++i) {
    if (s->modes[i] != s->modes_between[i]) leaders[count++] = i;
  }
  if (count > 1) {
    some = find_followers(m, taken, low, high, follows);
    count = 0;
    for (int i = 0; i < MODES; ++i) {
      if (s->modes[i] != s->modes_between[i] && !(some && follows[i])) leaders[count++] = i;
    }
  }
  fmident_states_between(taken, high, x);
  memcpy(modes, s->modes, MODES * sizeof *modes);
  memcpy(start, s->states, length * sizeof *start);
  for (int i = 0; i < count && !s->lost[0]; ++i) {
    jump(m, leaders[i], some && i == 0 ? follows : NULL, since, x);
  }
  if (count < 2 || s->lost[0]) return;
  memcpy(first, s->states, length * sizeof *first);
  memcpy(s->states, start, length * sizeof *start);
  memcpy(s->modes, modes, MODES * sizeof *modes);
  for (int i = count; i-- > 0 && !s->lost[0];) {
    jump(m, leaders[i], some && i == count - 1 ? follows : NULL, since, x);
  }
  for (size_t k = 0; k < length && !s->lost[0]; ++k) {
    const double size = fmax(s->sizes[k], fmax(fabs(first[k]), fabs(start[k])));
    if (fabs(s->states[k] - first[k]) <= least_disagreement * size) continue;
    fmident_sensitivities_lose(s,
                               "several conditions switch at %.17g, and a parameter decides which "
                               "of them is first: there is no derivative there",
                               m->now.t + since);
  }
  memcpy(s->states, first, length * sizeof *first);
}

/* The motion that the sensitivities are compared with begins anew behind a switch. */
static int start_motion(Instance *m, double since, const double *x) {
  double derivatives[N];
  if (evaluate(m, fmident_switched_rhs, since, x, m->sensitivities->modes, derivatives, NULL)) {
    return 1;
  }
  fmident_motion_start(m->sensitivities, derivatives);
  return 0;
}

/* Up to a switch; whether nothing was missed. */
static int reach(Instance *m, const Taken *taken, double begin, double end) {
  const double since = taken->path->t + end * taken->size, size = (end - begin) * taken->size;
  double x[N], derivatives[N];
  if (!(end > begin)) return 1;
  fmident_variational_part(m, taken, begin, end);
  if (m->sensitivities->lost[0]) return 1;
  fmident_states_between(taken, end, x);
  return !evaluate(m, fmident_switched_rhs, since, x, m->sensitivities->modes, derivatives,
                   NULL) &&
         fmident_motion_agrees(m, since, x, derivatives, size, taken->explicit != NULL);
}

/* Pass through one switch after the other, from the modes at the beginning to those at the end. */
static Switching pass(Instance *m, const Taken *taken) {
  Sensitivities *s = m->sensitivities;
  double x[N], found[MODES + 1], begin = 0.0;
  if (start_motion(m, taken->path->t, taken->path->x)) return MISSED;
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
        memcpy(s->modes_between, found, FMIDENT_MODES * sizeof *found);
      }
    }
    if (!reach(m, taken, begin, high)) return MISSED;
    if (!s->lost[0]) jump_all(m, taken, low, high);
    s->slope_known = 0;
    begin = high;
    if (s->lost[0]) return PASSED;
    fmident_states_between(taken, begin, x);
    if (start_motion(m, taken->path->t + begin * taken->size, x)) return MISSED;
  }
  if (!same(s->modes, s->modes_after)) {
    fmident_sensitivities_lose(s, "conditions switch again and again at %.17g",
                               m->now.t + taken->path->t);
  } else if (begin < 1.0) {
    fmident_variational_part(m, taken, begin, 1.0);
  }
  return PASSED;
}

Switching fmident_switching_step(Instance *m, const Taken *taken) {
  Sensitivities *s = m->sensitivities;
  const Path *path = taken->path;
  if (MODES == 0) return NOTHING_SWITCHES;
  if (!s->modes_known &&
      evaluate(m, fmident_switches, path->t, path->x, NULL, s->indicators, s->modes)) {
    return NOTHING_SWITCHES;
  }
  s->modes_known = 1;
  if (evaluate(m, fmident_switches, path->t + taken->size, path->next, NULL, s->indicators,
               s->modes_after)) {
    return NOTHING_SWITCHES;
  }
  return same(s->modes, s->modes_after) ? NOTHING_SWITCHES : pass(m, taken);
}

#else
typedef int fmident_no_switching; /* an empty translation unit is not valid C */
#endif
