/* How sensitivities pass an event. Its instant t* follows the knowns p: where an indicator g becomes
 * zero by dt / dp = -(g_x S + g_p) / (g_t + g_x f), and as start and interval of a sample do. With R,
 * the states after an event of those before it, and f and f+, their derivatives before and after it,
 *
 *     S+ = R_x (S + f dt/dp) + R_t dt/dp + R_p - f+ dt/dp
 *
 * (Rozenvasser, General sensitivity equations of discontinuous systems, 1967; Hiskens and Pai,
 * Trajectory sensitivity analysis of hybrid systems, 2000). Discrete variables H are parts of R, and
 * are held from there: H+ = R_x (S + f dt/dp) + R_H H + R_t dt/dp + R_p. The last column of the
 * matrices goes along the trajectory, R_x f + R_t, so that all follows from one derivative of R. */
#include "sensitivities.h"

#if FMIDENT_EVENTS

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "integrator.h"

#define N ((int)FMIDENT_NX)
#define ND ((int)FMIDENT_ND)
#define NR ((int)FMIDENT_NR)

/* Arrays of no elements are not valid C. */
#define ROOM (FMIDENT_NX + 1)
#define ROOM_NR (FMIDENT_NR + 1)
#define ROOM_NS (FMIDENT_NS + 1)

enum { NO_CAUSE = -1 };

/* Smaller parts of the state derivatives are not a jump. */
static const double least_jump = 1e-9;

/* Shifts of one instant that differ by more than this part of them are not of one event. */
static const double least_disagreement = 1e-6;

/* Of the largest derivatives so far: what rounding may leave where they cancel each other. */
static const double least_noise = 1e-9;

/* Of a state: how far away the curvature of an indicator is looked at. */
static const double near = 1e-4;

static const double rounding = 8.0 * DBL_EPSILON;

static int is_off(const Sensitivities *s) { return s->count == 0 || s->lost[0]; }

static int derivatives_at(Instance *m, double since, const double *x, double *dx) {
#if FMIDENT_STATES
  const int failed = fmident_rhs_at(m, since, x, dx);
  m->trouble[0] = '\0';
  return failed;
#else
  (void)m, (void)since, (void)x, (void)dx;
  return 0;
#endif
}

static void doubt(Sensitivities *s, const char *format, ...) {
  va_list arguments;
  if (s->doubtful[0]) return;
  va_start(arguments, format);
  vsnprintf(s->doubtful, sizeof s->doubtful, format, arguments);
  va_end(arguments);
}

static void set_time_column(Sensitivities *s, const double *dx) {
  for (size_t i = 0; i < FMIDENT_NX; ++i) s->states[i * s->stride + s->count] = dx ? dx[i] : 0.0;
}

static void set_held_column(Sensitivities *s) {
  for (size_t i = 0; i < FMIDENT_ND; ++i) s->held[i * s->stride + s->count] = 0.0;
}

int fmident_indicators_now(Instance *m, double since, const double *x, const double *dx,
                           double *values, double *rates) {
  const double t = m->now.t + since;
  if (fmident_arguments(m, &t, x, fmident_inputs_at(m, since))) return 1;
  m->arg[5] = dx;
  m->arg[6] = m->du;
  m->res[0] = values;
  m->res[1] = rates;
  return fmident_indicators(m->arg, m->res, m->iw, m->work, 0);
}

static void coincide(Instance *m, double since) {
  doubt(m->sensitivities,
        "two events coincide at %.17g, and a parameter decides which of them is first: there is no "
        "derivative there",
        m->now.t + since);
}

/* What rounding may leave of the derivative of an indicator along a known, or along time and the
 * shift of an instant: derivatives of the states may cancel each other. */
static double noise_of(const Sensitivities *s, const double *gradient, size_t j, double shift) {
  double noise = 0.0;
  for (size_t i = 0; i < FMIDENT_NX; ++i) {
    const double *size = s->sizes + i * s->stride;
    noise += gradient[i] * fmax(size[j], size[s->count] * fabs(shift));
  }
  return least_noise * noise;
}

/* Which known, if any, decides on which side of its limit a relation is at an event; `row` is the
 * derivative of its indicator, `rate` that in time. */
static int find_decisive(Instance *m, double since, const double *x, int which, const double *row,
                         double rate) {
  const Sensitivities *s = m->sensitivities;
  double gradient[ROOM];
  fmident_gradient_of(m, since, x, which, gradient);
  for (size_t j = 0; j < s->count; ++j) {
    const double by_time = rate * s->shift[j];
    if (fabs(row[j] + by_time) > least_disagreement * (fabs(row[j]) + fabs(by_time)) +
                                     noise_of(s, gradient, j, s->shift[j])) {
      return (int)j;
    }
  }
  return -1;
}

/* Whether an indicator passes through zero, rather than touching it or jumping over it. */
static void check_passing(Instance *m, double since, const double *x, const double *dx, int which,
                          double value, double rate) {
  Sensitivities *s = m->sensitivities;
  const double t = m->now.t + since, of_states = fmident_doubt_of(m, since, x, which);
  double width = fmax(fabs(t), 1.0), earlier[ROOM], slope[ROOM], values[ROOM_NR], rates[ROOM_NR];
  double bend = 0.0;
  for (int i = 0; i < N; ++i) {
    const double size = fmax(fabs(x[i]), fabs(fmident_nominals[i]));
    if (dx[i] != 0.0) width = fmin(width, near * size / fabs(dx[i]));
  }
  if (s->step > 0.0) width = fmin(width, 0.1 * s->step);
  width = fmax(width, 64.0 * DBL_EPSILON * fabs(t));
  for (int i = 0; i < N; ++i) earlier[i] = x[i] - width * dx[i];
  if (N > 0 && !derivatives_at(m, since - width, earlier, slope) &&
      !fmident_indicators_now(m, since - width, earlier, slope, values, rates)) {
    bend = fabs(rate - rates[which]) / width;
  }
  s->cause.doubt = fmax(s->cause.doubt, of_states / fabs(rate));
  if (!(rate != 0.0) || rate * rate < 2.0 * bend * of_states) {
    doubt(s,
          "'%s' only touches its limit at %.17g: whether it switches depends on the parameters, and "
          "there is no derivative",
          fmident_relations[which], t);
  } else if (!(fabs(value) <= fabs(rate) * (1e-7 * fmax(s->step, width) + 64.0 * DBL_EPSILON * fabs(t)) +
                                  of_states * 1e-3)) {
    doubt(s,
          "'%s' jumps over its limit at %.17g without an event: how its instant follows the "
          "parameters is not known",
          fmident_relations[which], t);
  }
}

/* The shift of the instant at which a relation switches. */
static void take_cause(Instance *m, double since, const double *x, int which, const double *row,
                       double rate) {
  Sensitivities *s = m->sensitivities;
  double gradient[ROOM];
  fmident_gradient_of(m, since, x, which, gradient);
  for (size_t j = 0; j < s->count; ++j) {
    s->shift[j] = -row[j] / rate;
    s->cause.noise = fmax(s->cause.noise, noise_of(s, gradient, j, s->shift[j]) / fabs(rate));
  }
  s->cause.which = which;
}

static void find_relations(Instance *m, double since, const double *x, const double *dx) {
  Sensitivities *s = m->sensitivities;
  double now[ROOM_NR], values[ROOM_NR], rates[ROOM_NR];
  int known = 0;
  if (NR == 0 || fmident_relations_now(m, since, x, now)) return;
  for (int i = 0; i < NR; ++i) {
    const double *row = s->rows + (size_t)i * s->stride;
    if (now[i] == m->held[i]) continue;
    if (!known) {
      if (fmident_indicators_now(m, since, x, dx, values, rates) ||
          fmident_lanes(m, fmident_indicators_along, since, x, NULL, s->states, s->rows)) {
        doubt(s, "the relations cannot be differentiated at %.17g", m->now.t + since);
        return;
      }
      known = 1;
    }
    check_passing(m, since, x, dx, i, values[i], rates[i]);
    if (s->cause.which == NO_CAUSE) {
      take_cause(m, since, x, i, row, rates[i]);
    } else if (find_decisive(m, since, x, i, row, rates[i]) >= 0) {
      coincide(m, since);
    }
  }
}

/* Those that are due, whose instants follow the knowns as start and interval do. */
static void find_samples(Instance *m, double since, const double *x) {
  Sensitivities *s = m->sensitivities;
  const double t = m->now.t + since;
  double pairs[2 * ROOM_NS];
  int known = 0;
  if (FMIDENT_NS == 0 || fmident_sample_pairs(m, pairs)) return;
  for (size_t k = 0; k < FMIDENT_NS; ++k) {
    const double *start = s->rows + 2 * k * s->stride, *interval = start + s->stride;
    double tick = m->ticks[k];
    if (!fmident_is_due(pairs + 2 * k, tick, t)) continue;
    if (!known && fmident_lanes(m, fmident_samples_along, since, x, NULL, s->states, s->rows)) {
      doubt(s, "the samples cannot be differentiated at %.17g", t);
      return;
    }
    known = 1;
    while (fmident_is_due(pairs + 2 * k, tick + 1.0, t)) tick += 1.0;
    for (size_t j = 0; j < s->count; ++j) {
      const double shift = start[j] + tick * interval[j];
      if (s->cause.which == NO_CAUSE) {
        s->shift[j] = shift;
      } else if (fabs(shift - s->shift[j]) > least_disagreement * (fabs(shift) + fabs(s->shift[j]))) {
        coincide(m, since);
      }
    }
    if (s->cause.which == NO_CAUSE) s->cause.which = NR + (int)k;
  }
}

/* Another relation that is nearer to its limit than the error of the states: it may be first. */
static void check_others(Instance *m, double since, const double *x, const double *dx) {
  Sensitivities *s = m->sensitivities;
  double now[ROOM_NR], values[ROOM_NR], rates[ROOM_NR];
  int known = 0;
  if (NR == 0 || fmident_relations_now(m, since, x, now) ||
      fmident_indicators_now(m, since, x, dx, values, rates)) {
    return;
  }
  for (int i = 0; i < NR && !s->doubtful[0]; ++i) {
    const double *row = s->rows + (size_t)i * s->stride;
    if (now[i] != m->held[i] || !(fabs(values[i]) <= fmident_doubt_of(m, since, x, i))) continue;
    if (!known && fmident_lanes(m, fmident_indicators_along, since, x, NULL, s->states, s->rows)) {
      return;
    }
    known = 1;
    if (find_decisive(m, since, x, i, row, rates[i]) < 0) continue;
    doubt(s,
          "'%s' is at its limit to the error of the states at the event at %.17g, and a parameter "
          "decides which is first: there is no derivative there",
          fmident_relations[i], m->now.t + since);
  }
}

static int moves(const Sensitivities *s) {
  for (size_t j = 0; j < s->count; ++j) {
    if (s->shift[j] != 0.0) return 1;
  }
  return 0;
}

void fmident_saltation_begin(Instance *m, double since, const double *x, EventKind kind) {
  Sensitivities *s = m->sensitivities;
  const double t = m->now.t + since;
  const Crossing nothing = {t, t, 0.0, 0.0, NO_CAUSE};
  double dx[ROOM];
  if (is_off(s)) return;
  s->doubtful[0] = '\0';
  s->cause = nothing;
  s->kind = kind;
  memset(s->shift, 0, s->stride * sizeof *s->shift);
  memcpy(s->held_before, s->held, ND * s->stride * sizeof *s->held);
  set_time_column(s, NULL);
  set_held_column(s);
  for (size_t i = 0; i < FMIDENT_NU; ++i) s->along_u[i * s->stride + s->count] = m->du[i];
  if (kind == EVENT_OF_MODEL) {
    if (derivatives_at(m, since, x, dx)) {
      fmident_sensitivities_lose(s, "the state derivatives before the event at %.17g are not known",
                                 t);
      return;
    }
    set_time_column(s, dx);
    find_samples(m, since, x);
    find_relations(m, since, x, dx);
    check_others(m, since, x, dx);
    if (s->cause.which == NO_CAUSE) doubt(s, "what causes the event at %.17g is not known", t);
    return;
  }
  find_samples(m, since, x);
  if (moves(s)) {
    fmident_sensitivities_lose(s,
                               "a sample whose instant depends on a parameter is due at %.17g, where "
                               "the simulation begins or an input jumps: there is no derivative",
                               t);
  }
  memset(s->shift, 0, s->stride * sizeof *s->shift);
  s->cause.which = NO_CAUSE;
}

/* d is found where all that it follows from is there already, by repetition. */
static int differentiate(Instance *m, double since, const double *x) {
  Sensitivities *s = m->sensitivities;
  const size_t size = ND * s->stride * sizeof *s->held;
  for (int pass = 0; pass < ND + 2; ++pass) {
    if (fmident_lanes(m, fmident_update_along, since, x, m->before, s->states, s->rows)) break;
    if (memcmp(s->held, s->rows, size) == 0) return 0;
    memcpy(s->held, s->rows, size);
  }
  fmident_sensitivities_lose(s, "what happens at %.17g cannot be differentiated", m->now.t + since);
  return 1;
}

void fmident_saltation_round(Instance *m, double since, const double *x) {
  Sensitivities *s = m->sensitivities;
  if (is_off(s) || differentiate(m, since, x)) return;
  memcpy(s->states, s->rows + ND * s->stride, N * s->stride * sizeof *s->states);
  memcpy(s->held_before, s->held, ND * s->stride * sizeof *s->held);
}

void fmident_saltation_start(Instance *m, const double *x) {
  Sensitivities *s = m->sensitivities;
  const size_t matrix = N * s->stride, held = ND * s->stride;
  s->lost[0] = '\0';
  fmident_sensitivities_restart(s);
  memset(s->states, 0, matrix * sizeof *s->states);
  memset(s->held, 0, held * sizeof *s->held);
  memset(s->held_before, 0, held * sizeof *s->held);
  memset(s->along_u, 0, FMIDENT_NU * s->stride * sizeof *s->along_u);
  for (int pass = 0; pass < ND + N + 3; ++pass) {
    int same;
    if (fmident_lanes(m, fmident_starts_along, 0.0, x, NULL, s->states, s->rows)) break;
    set_held_column(s);
    for (size_t i = 0; i < FMIDENT_NX; ++i) {
      double *row = s->rows + i * s->stride;
      row[s->count] = 0.0;
      if (!fmident_state_settable[i]) continue;
      for (size_t j = 0; j < s->count; ++j) row[j] = s->known[j] == FMIDENT_VR_X + i;
    }
    for (size_t i = 0; i < FMIDENT_ND; ++i) s->rows[matrix + i * s->stride + s->count] = 0.0;
    same = memcmp(s->states, s->rows, matrix * sizeof *s->states) == 0 &&
           memcmp(s->held_before, s->rows + matrix, held * sizeof *s->held) == 0;
    memcpy(s->states, s->rows, matrix * sizeof *s->states);
    memcpy(s->held_before, s->rows + matrix, held * sizeof *s->held);
    if (fmident_lanes(m, fmident_update_along, 0.0, x, m->before, s->states, s->rows)) break;
    for (size_t i = 0; i < FMIDENT_NX + FMIDENT_ND; ++i) s->rows[i * s->stride + s->count] = 0.0;
    same &= memcmp(s->held, s->rows, held * sizeof *s->held) == 0;
    memcpy(s->held, s->rows, held * sizeof *s->held);
    if (!same) continue;
    memcpy(s->states, s->rows + held, matrix * sizeof *s->states); /* what initial() sets anew */
    for (size_t k = 0; k < matrix; ++k) s->sizes[k] = fabs(s->states[k]);
    return;
  }
  fmident_sensitivities_lose(s, "the values at the start cannot be differentiated");
}

/* Whether states or state derivatives jump with the instant: what it follows then counts. */
static int find_jumps(const Sensitivities *s, const double *after, double *jumps) {
  double scale = 0.0;
  int any = 0;
  for (size_t i = 0; i < FMIDENT_NX; ++i) {
    scale = fmax(scale, fmax(fabs(s->states[i * s->stride + s->count]), fabs(after[i])));
  }
  for (size_t i = 0; i < FMIDENT_NX; ++i) {
    const double before = s->states[i * s->stride + s->count];
    const double size = fmax(fabs(before), fabs(after[i]));
    jumps[i] = before - after[i];
    if (fabs(jumps[i]) > least_jump * fmax(size, least_jump * scale)) {
      any = 1;
    } else {
      jumps[i] = 0.0;
    }
  }
  for (size_t i = 0; i < FMIDENT_ND; ++i) any |= s->held[i * s->stride + s->count] != 0.0;
  return any;
}

/* Two events nearer to each other than the error of the states makes sure which is first. */
static void check_order(Instance *m) {
  Sensitivities *s = m->sensitivities;
  const Crossing *last = &s->crossing, *now = &s->cause;
  double most = 0.0, apart = 0.0;
  if (now->t - last->t > last->doubt + now->doubt || now->which == last->which) return;
  for (size_t j = 0; j < s->count; ++j) {
    most = fmax(most, fmax(fabs(s->shift[j]), fabs(s->last_shift[j])));
    apart = fmax(apart, fabs(s->shift[j] - s->last_shift[j]));
  }
  if (apart <= least_disagreement * most + last->noise + now->noise) return;
  fmident_sensitivities_lose(s,
                             "two events follow each other at %.17g within the error of the states, "
                             "and a parameter decides which of them is first",
                             now->t);
}

/* A relation that is exactly at its limit after an event, and not for all values of a known. */
static void check_limits(Instance *m, double since, const double *x, const double *dx) {
  Sensitivities *s = m->sensitivities;
  double values[ROOM_NR], rates[ROOM_NR];
  int known = 0, decisive;
  if (NR == 0 || fmident_indicators_now(m, since, x, dx, values, rates)) return;
  for (int i = 0; i < NR; ++i) {
    const double *row = s->rows + (size_t)i * s->stride;
    if (values[i] != 0.0) continue;
    if (!known && fmident_lanes(m, fmident_indicators_along, since, x, NULL, s->states, s->rows)) {
      return;
    }
    known = 1;
    decisive = find_decisive(m, since, x, i, row, rates[i]);
    if (decisive < 0) continue;
    fmident_sensitivities_lose(s,
                               "'%s' is exactly at its limit at %.17g, and '%s' decides on which "
                               "side: there is no derivative",
                               fmident_relations[i], m->now.t + since,
                               fmident_names[s->known[decisive]]);
    return;
  }
}

void fmident_saltation_end(Instance *m, double since, const double *x) {
  Sensitivities *s = m->sensitivities;
  const double t = m->now.t + since;
  double after[ROOM], jumps[ROOM];
  if (is_off(s)) return;
  memset(after, 0, sizeof after);
  if (derivatives_at(m, since, x, after)) {
    fmident_sensitivities_lose(s, "the state derivatives behind the event at %.17g are not known", t);
    return;
  }
  if (s->kind == EVENT_OF_MODEL && find_jumps(s, after, jumps)) {
    if (s->doubtful[0]) {
      fmident_sensitivities_lose(s, "%s", s->doubtful);
      return;
    }
    for (size_t j = 0; j < s->count; ++j) {
      for (size_t i = 0; i < FMIDENT_NX; ++i) s->states[i * s->stride + j] += jumps[i] * s->shift[j];
      for (size_t i = 0; i < FMIDENT_ND; ++i) {
        double *row = s->held + i * s->stride;
        row[j] += row[s->count] * s->shift[j];
      }
    }
    check_order(m);
    if (moves(s)) s->crossing.at = t;
    s->cause.at = s->crossing.at;
    s->crossing = s->cause;
    memcpy(s->last_shift, s->shift, s->stride * sizeof *s->shift);
  }
  set_held_column(s);
  if (!s->doubtful[0]) {
    if (moves(s)) s->crossing.at = t;
    set_time_column(s, after);
    check_limits(m, since, x, after);
  }
  set_time_column(s, NULL);
  for (size_t k = 0; k < N * s->stride; ++k) s->sizes[k] = fmax(s->sizes[k], fabs(s->states[k]));
  fmident_sensitivities_restart(s);
}

const char *fmident_saltation_here(const Instance *m) {
  const double t = m->now.t, at = m->sensitivities->crossing.at;
  if (!(fabs(t - at) <= rounding * fabs(t))) return NULL;
  return "an event whose instant depends on a parameter is exactly at this communication point: "
         "there is no derivative here";
}

void fmident_saltation_input(Instance *m) {
  Sensitivities *s = m->sensitivities;
  int turns = (m->change & CHANGE_JUMP) != 0;
  if (is_off(s) || !fmident_saltation_here(m)) return;
  for (size_t i = 0; i < FMIDENT_NU; ++i) turns |= s->along_u[i * s->stride + s->count] != m->du[i];
  if (!turns) return;
  fmident_sensitivities_lose(s,
                             "an input jumps or bends at %.17g, where there is an event whose instant "
                             "depends on a parameter: there is no derivative",
                             m->now.t);
}

void fmident_saltation_keep(Instance *m, int back) {
  Sensitivities *s = m->sensitivities;
  double *at = s->trial;
  if (s->count == 0) return;
#define KEEP(values, size)                                                              \
  (back ? memcpy(values, at, (size) * sizeof(double)) : memcpy(at, values, (size) * sizeof(double)), \
   at += (size))
  KEEP(s->states, N * s->stride);
  KEEP(s->sizes, N * s->stride);
  KEEP(s->held, ND * s->stride);
  KEEP(s->last_shift, s->stride);
#undef KEEP
  if (back) {
    struct Sensitivities *kept = s->kept;
    *s = *kept;
    s->slope_known = s->modes_known = s->tracks = 0; /* their places may have been written to */
  } else {
    *s->kept = *s;
  }
}

#else
typedef int fmident_no_saltation; /* an empty translation unit is not valid C */
#endif
