/* Relations that come near to switching within a step and turn back: whether they switch depends on
 * the parameters, and so there is no derivative. */
#include "integrator.h"
#include "sensitivities.h"

#if FMIDENT_EVENTS

#include <math.h>
#include <string.h>

#define N ((int)FMIDENT_NX)
#define NR ((int)FMIDENT_NR)

/* Arrays of no elements are not valid C. */
#define ROOM (FMIDENT_NX + 1)
#define ROOM_NR (FMIDENT_NR + 1)

/* Of a state: by how much it is moved to see what follows. */
static const double moved = 1e-6;

static double size_of_state(const double *x, int i) {
  return fmax(fabs(x[i]), fabs(fmident_nominals[i]));
}

void fmident_gradient_of(Instance *m, double since, const double *x, int which, double *gradient) {
  double away[ROOM], dx[ROOM], values[ROOM_NR], rates[ROOM_NR], base;
  memset(dx, 0, sizeof dx);
  memset(gradient, 0, FMIDENT_NX * sizeof *gradient);
  memcpy(away, x, FMIDENT_NX * sizeof *away);
  if (fmident_indicators_now(m, since, x, dx, values, rates)) return;
  base = values[which];
  for (int i = 0; i < N; ++i) {
    away[i] = x[i] + moved * size_of_state(x, i);
    if (fmident_indicators_now(m, since, away, dx, values, rates)) return;
    gradient[i] = fabs(values[which] - base) / (moved * size_of_state(x, i));
    away[i] = x[i];
  }
}

double fmident_doubt_of(Instance *m, double since, const double *x, int which) {
  double gradient[ROOM], doubt = 0.0;
  fmident_gradient_of(m, since, x, which, gradient);
  for (int i = 0; i < N; ++i) doubt += gradient[i] * size_of_state(x, i);
  return doubt * m->now.tolerance;
}

#if FMIDENT_STATES

static const double golden = 0.6180339887498949;

/* The least distance from zero of an indicator within a step; the states there are `x`. Below zero
 * if it is on the other side. */
static double least(Instance *m, const Taken *taken, int which, double sign, double *fraction,
                    double *x) {
  double low = 0.0, high = 1.0, dx[ROOM], values[ROOM_NR], rates[ROOM_NR];
  double places[2] = {1.0 - golden, golden}, found[2] = {NAN, NAN};
  memset(dx, 0, sizeof dx);
  for (int k = 0; k < 60; ++k) {
    for (int side = 0; side < 2; ++side) {
      if (!isnan(found[side])) continue;
      fmident_states_between(taken, places[side], x);
      if (fmident_indicators_now(m, taken->path->t + places[side] * taken->size, x, dx, values, rates)) return NAN;
      found[side] = sign * values[which];
    }
    if (found[0] < found[1]) {
      high = places[1];
      places[1] = places[0];
      found[1] = found[0];
      places[0] = high - golden * (high - low);
      found[0] = NAN;
    } else {
      low = places[0];
      places[0] = places[1];
      found[0] = found[1];
      places[1] = low + golden * (high - low);
      found[1] = NAN;
    }
  }
  *fraction = 0.5 * (low + high);
  fmident_states_between(taken, *fraction, x);
  if (fmident_indicators_now(m, taken->path->t + *fraction * taken->size, x, dx, values, rates)) return NAN;
  return sign * values[which];
}

static void check(Instance *m, const Taken *taken, int which, const double *before,
                  const double *after) {
  double x[ROOM], fraction = 0.0;
  const double z0 = before[which], z1 = after[which];
  const double r0 = before[NR + which], r1 = after[NR + which];
  if (!(z0 * z1 > 0.0) || r0 * z0 >= 0.0 || r1 * z1 <= 0.0) return;
  if (fmin(fabs(z0), fabs(z1)) > fmax(fabs(r0), fabs(r1)) * taken->size) return;
  {
    const double lowest = least(m, taken, which, z0 > 0.0 ? 1.0 : -1.0, &fraction, x);
    const double since = taken->path->t + fraction * taken->size;
    const double doubt = fmident_doubt_of(m, since, x, which);
    const double most = fmax(fabs(z0), fabs(z1));
    if (lowest >= doubt || most - lowest <= 1e-3 * doubt) return;
    fmident_sensitivities_lose(m->sensitivities,
                               "'%s' comes nearer to its limit at %.17g than the error of the states, "
                               "and turns back: whether it switches depends on the parameters, and "
                               "there is no derivative",
                               fmident_relations[which], m->now.t + since);
  }
}

void fmident_refuse_touching(Instance *m, const Taken *taken) {
  Sensitivities *s = m->sensitivities;
  const Path *path = taken->path;
  double after[2 * ROOM_NR], dx[ROOM];
  const double end = path->t + taken->size;
  int failed = 0;
  if (NR == 0 || s->lost[0]) return;
  if (!s->tracks) {
    failed = fmident_indicators_now(m, path->t, path->x, path->slope, s->tracked, s->tracked + NR);
  }
  if (taken->explicit) {
    memcpy(dx, taken->explicit->k[EXPLICIT_STAGES], FMIDENT_NX * sizeof *dx);
  } else {
    failed |= fmident_rhs_at(m, end, path->next, dx);
    m->trouble[0] = '\0';
  }
  failed |= fmident_indicators_now(m, end, path->next, dx, after, after + NR);
  for (int which = 0; !failed && which < NR && !s->lost[0]; ++which) {
    check(m, taken, which, s->tracked, after);
  }
  memcpy(s->tracked, after, 2 * FMIDENT_NR * sizeof *after);
  s->tracks = !failed;
}

#endif

#else
typedef int fmident_no_touching; /* an empty translation unit is not valid C */
#endif
