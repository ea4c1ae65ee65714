/* Steps without history, explicit or implicit, whichever costs less; CVODE in place of the implicit
 * ones where the Jacobian is large. What they cost is counted in operations, not in seconds, so
 * that a simulation gives the same bits wherever it runs. */
#include "control.h"
#include "sensitivities.h"

#if FMIDENT_STATES

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct Integrator {
  Path path;
  Explicit explicit;
  double *room; /* of the path and the explicit steps */
  Rosenbrock *rosenbrock;
  Cvode *cvode;
  double tolerance; /* local */
  int cvode_runs;   /* it has a history that leads to now */
  int event;        /* a relation has switched where the last step ended */
#if FMIDENT_EVENTS
  double begin[N], begin_t, size, fraction; /* of the step that it has ended */
  int implicit;
#endif
};

Integrator *fmident_integrator_new(Instance *m) {
  Integrator *s = calloc(1, sizeof *s);
  if (!s) return NULL;
  s->room = fmident_path_room(&s->path, &s->explicit);
  if (use_rosenbrock) {
    s->rosenbrock = fmident_rosenbrock_new();
  } else if (FMIDENT_INTEGRATOR != INTEGRATOR_EXPLICIT) {
    s->cvode = fmident_cvode_new(m);
  }
  if (!s->room || (!s->rosenbrock && !s->cvode && FMIDENT_INTEGRATOR != INTEGRATOR_EXPLICIT)) {
    fmident_integrator_delete(s);
    return NULL;
  }
  return s;
}

void fmident_integrator_delete(Integrator *s) {
  if (!s) return;
  fmident_cvode_delete(s->cvode);
  free(s->rosenbrock);
  free(s->room);
  free(s);
}

static void copy(double *to, const double *from) { memcpy(to, from, N * sizeof *to); }

static int fail(Instance *m) {
  const Integrator *s = m->integrator;
  const char *message = s->cvode ? fmident_cvode_message(s->cvode) : "";
  const char *between = m->trouble[0] && message[0] ? "; CVODE: " : "";
  fmident_log(m, fmi2Error, "time %.17g: the integration stopped: %s%s%s", m->now.t, m->trouble,
              between, message);
  return 1;
}

static double weight(const Integrator *s, int i, double size) {
  return 1.0 / (s->tolerance * (size + fabs(fmident_nominals[i])));
}

static double length(const Integrator *s, const double *values, const double *sizes) {
  double sum = 0.0;
  for (int i = 0; i < N; ++i) {
    const double value = values[i] * weight(s, i, fabs(sizes[i]));
    sum += value * value;
  }
  return sqrt(sum / N);
}

/* A first step size from the size of the slope and how fast it changes (Hairer, Norsett and
 * Wanner, Solving ODEs I, section II.4). */
static double first_size(Instance *m, double span) {
  Integrator *s = m->integrator;
  Path *path = &s->path;
  const double d0 = length(s, path->x, path->x), d1 = length(s, path->slope, path->x);
  double size = d0 < 1e-5 || d1 < 1e-5 ? 1e-3 * span : fmin(0.01 * d0 / d1, span), d2, largest;
  for (int i = 0; i < N; ++i) path->next[i] = path->x[i] + size * path->slope[i];
  if (fmident_rhs_at(m, path->t + size, path->next, path->error)) return 1e-3 * size;
  for (int i = 0; i < N; ++i) path->error[i] -= path->slope[i];
  d2 = length(s, path->error, path->x) / size;
  largest = fmax(d1, d2);
  size = fmin(fmin(100.0 * size, largest > 0.0 ? pow(0.01 / largest, 0.2) : span), span);
  return size > 0.0 ? size : DBL_EPSILON * span;
}

static double error_of_step(const Integrator *s) {
  const Path *path = &s->path;
  double sum = 0.0;
  for (int i = 0; i < N; ++i) {
    const double error =
        path->error[i] * weight(s, i, fmax(fabs(path->x[i]), fabs(path->next[i])));
    sum += error * error;
  }
  return sqrt(sum / N);
}

static void look_ahead(Instance *m, double longest) {
  Control *c = &m->now.control;
  if (!looks_ahead(c)) return;
  decide(c, fmident_rosenbrock_radius(m, m->integrator->rosenbrock, &m->integrator->path), longest);
}

static int reject(Instance *m, int rejections, int failures, double size) {
  const double t = m->integrator->path.t;
  if (shorten(&m->now.control, rejections, failures, size, t, m->now.t)) return 0;
  if (!m->trouble[0]) {
    snprintf(m->trouble, sizeof m->trouble, "the step size became too small at %.17g",
             m->now.t + t);
  }
  return 1;
}

/* The sensitivities take the step that the states have taken. */
static void follow(Instance *m, double size, int implicit) {
  const Integrator *s = m->integrator;
  const Taken taken = {&s->path, size, implicit ? NULL : &s->explicit, s->rosenbrock};
  if (m->sensitivities->count == 0 || m->sensitivities->lost[0]) return;
  fmident_variational_step(m, &taken);
#if FMIDENT_EVENTS
  fmident_refuse_touching(m, &taken);
#endif
}

#if FMIDENT_EVENTS
enum { MOST_ATTEMPTS = 9 }; /* to find an event a moment later, up to a millionth of a step */

static void between(const void *step, double fraction, double *x) {
  const Taken *taken = step;
  if (fraction < 1.0) {
    fmident_states_between(taken, fraction, x);
  } else {
    copy(x, taken->path->next);
  }
}

/* End the step that was taken where a relation switches first: 1 if one does. */
static int end_at_event(Instance *m, double size, int implicit) {
  Integrator *s = m->integrator;
  Path *path = &s->path;
  const Taken taken = {path, size, implicit ? NULL : &s->explicit, s->rosenbrock};
  const double fraction = fmident_first_switch(m, path->t, size, between, &taken);
  double x[N];
  if (fraction > 1.0) return 0;
  memcpy(s->begin, path->x, sizeof s->begin);
  s->begin_t = path->t;
  s->size = size;
  s->fraction = fraction;
  s->implicit = implicit;
  if (m->sensitivities->count > 0 && !m->sensitivities->lost[0]) {
    fmident_variational_cut(m, &taken, fraction * size);
  }
  between(&taken, fraction, x);
  path->t += fraction * size;
  copy(path->x, x);
#if FMIDENT_CONSTRAINED
  if (fmident_return(m, path->t, path->x)) return 1;
#endif
  path->slope_known = path->linearised = 0;
  m->now.control.error_before = 0.0;
  s->event = 1;
  return 1;
}

/* A moment after a relation has switched, in the step that this has ended. */
static void go_later(Instance *m, int attempt) {
  Integrator *s = m->integrator;
  Path *path = &s->path;
  const Taken taken = {path, s->size, s->implicit ? NULL : &s->explicit, s->rosenbrock};
  const double fraction = fmin(1.0, s->fraction + ldexp(1.0, 2 * attempt - 36));
  double x[N];
  memcpy(path->x, s->begin, sizeof s->begin);
  path->t = s->begin_t;
  between(&taken, fraction, x);
  path->t += fraction * s->size;
  copy(path->x, x);
}

/* What happens where a path is. Where a relation has switched, that instant is known to rounding
 * only: what is barely true there, as the force on what sticks, may not be true any more with what
 * follows from it. Then the event happens a moment later. */
static int event(Instance *m, double span) {
  Integrator *s = m->integrator;
  const int switched = s->event;
  char first[sizeof m->trouble];
  s->event = 0;
  s->path.slope_known = s->path.linearised = 0;
  if (fmident_event_in_a_row(m, s->path.t, span)) return 1;
  if (switched) fmident_event_keep(m);
  if (!fmident_event(m, s->path.t, s->path.x, EVENT_OF_MODEL)) return 0;
  memcpy(first, m->trouble, sizeof first);
  for (int attempt = 0; switched && attempt < MOST_ATTEMPTS; ++attempt) {
    fmident_event_undo(m);
    go_later(m, attempt);
    m->trouble[0] = '\0';
    if (!fmident_event(m, s->path.t, s->path.x, EVENT_OF_MODEL)) return 0;
  }
  memcpy(m->trouble, first, sizeof first);
  return 1;
}
#endif

/* One step that is accepted, towards an end `span` after `now.t`; 0 if there is one. */
static int step(Instance *m, double span) {
  Integrator *s = m->integrator;
  Path *path = &s->path;
  Control *control = &m->now.control;
  int failures = 0, rejections = 0;
  s->cvode_runs = 0;
  for (;;) {
    const double left = span - path->t;
    const int implicit = control->implicit;
    const int last = is_last(control, left);
    const double size = size_of_step(control, left, last);
    double error, factor;
    control->cost += implicit ? cost_rosenbrock : cost_explicit;
    if (implicit ? fmident_rosenbrock_step(m, s->rosenbrock, path, size)
                 : fmident_explicit_step(m, &s->explicit, path, size)) {
      if (reject(m, ++rejections, ++failures, 0.25 * size)) return 1;
      continue;
    }
    m->trouble[0] = '\0';
    error = error_of_step(s);
    if (!(error <= 1.0)) {
      if (reject(m, ++rejections, failures, factor_of_rejected(error) * size)) return 1;
      continue;
    }
    if (!implicit && (FMIDENT_NH > 0 || m->sensitivities->count > 0)) {
      fmident_explicit_extend(&s->explicit, path, size);
    }
#if FMIDENT_EVENTS
    if (end_at_event(m, size, implicit)) return 0;
#endif
    follow(m, size, implicit);
    path->t = last ? span : path->t + size;
    copy(path->x, path->next);
#if FMIDENT_CONSTRAINED
    if (fmident_return(m, path->t, path->x)) return 1;
#endif
#if FMIDENT_ITERATIONS
    if (fmident_keep_loops(m, path->t, path->x)) return 1;
#endif
    path->slope_known = !implicit && !FMIDENT_CONSTRAINED;
    path->linearised = 0;
    if (path->slope_known) copy(path->slope, s->explicit.k[6]);
    if (control->error_before == 0.0) control->error_before = first_error;
    factor = factor_of_accepted(error, control->error_before);
    accept(control, size, error, factor, rejections, path->radius, span);
    return 0;
  }
}

/* A step of a few rounding errors of the time, which CVODE refuses. */
static void tiny_step(Instance *m, double size) {
  Path *path = &m->integrator->path;
  for (int i = 0; i < N; ++i) m->x[i] = path->x[i] + size * path->slope[i];
  m->change = CHANGE_RESTART;
}

static int slope_at_start(Instance *m) {
  Path *path = &m->integrator->path;
  if (path->slope_known) return 0;
  if (fmident_rhs_at(m, path->t, path->x, path->slope)) return 1;
  path->slope_known = 1;
  return 0;
}

/* The rest of the way to a communication point. */
static int advance_cvode(Instance *m, double span, double t_end) {
  Integrator *s = m->integrator;
  Path *path = &s->path;
  double *cost = &m->now.control.cost;
  Outcome outcome;
  int anew = !s->cvode_runs;
  if (m->sensitivities->count > 0) {
    fmident_sensitivities_lose(m->sensitivities,
                               "CVODE integrates the states from %.17g on, which does not follow "
                               "the parameters",
                               m->now.t + path->t);
  }
  s->cvode_runs = 0;
  if (anew && fmident_cvode_restart(m, s->cvode, m->now.t + path->t, path->x)) return 1;
  outcome = fmident_cvode_advance(m, s->cvode, t_end, cost);
  if (outcome == FAILED && !anew) { /* the history may be of no use any more */
    m->trouble[0] = '\0';
    if (fmident_cvode_restart(m, s->cvode, m->now.t + path->t, path->x)) return 1;
    outcome = fmident_cvode_advance(m, s->cvode, t_end, cost);
  }
  path->slope_known = 0;
  if (outcome == FAILED) return 1;
  if (outcome == TOO_CLOSE) {
    if (slope_at_start(m)) return 1;
    tiny_step(m, span - path->t);
    path->slope_known = 0;
    return 0;
  }
  s->cvode_runs = 1;
  m->now.control.span += span - path->t;
  choose(&m->now.control, span - path->t, INFINITY, span);
  return 0;
}

int fmident_integrate(Instance *m, double t_end) {
  Integrator *s = m->integrator;
  Path *path = &s->path;
  Control *control = &m->now.control;
  const int change = m->change;
  const double span = t_end - m->now.t;
  m->trouble[0] = '\0';
  m->change = CHANGE_RESTART; /* until this step has succeeded */
  s->tolerance = fmax(local_share * m->now.tolerance, smallest_local_tolerance);
  path->t = 0.0;
  path->linearised = 0;
  copy(path->x, m->x);
  if (change & RESTART_ON) {
    path->slope_known = s->cvode_runs = 0;
    if (m->sensitivities->count > 0) fmident_sensitivities_restart(m->sensitivities);
  }
  if (FMIDENT_INTEGRATOR >= INTEGRATOR_ROSENBROCK) control->implicit = 1;
  s->event = 0;
  for (int count = 0;; ++count) {
    double target = span;
#if FMIDENT_EVENTS
    const double next = fmident_next_sample(m, span);
    if (s->event || path->t >= next) {
      if (event(m, span)) return fail(m);
      continue;
    }
    if (next < target) target = next;
#endif
    if (!(path->t < span)) break;
    if (control->implicit && !use_rosenbrock) {
      m->change = CHANGE_NONE;
      return advance_cvode(m, span, t_end) ? (m->change = CHANGE_RESTART, fail(m)) : 0;
    }
    if (count >= MAXIMUM_STEPS) {
      snprintf(m->trouble, sizeof m->trouble,
               "more than %d steps were taken; %s", MAXIMUM_STEPS,
               control->implicit ? "does the right-hand side jump?"
                                 : "does the right-hand side jump, or is it stiff? explicit "
                                   "integrators are not for stiff ones");
      return fail(m);
    }
    if (slope_at_start(m)) return fail(m);
    if (control->size == 0.0) control->size = first_size(m, target - path->t);
    look_ahead(m, span);
    if (step(m, target)) return fail(m);
  }
  copy(m->x, path->x);
  m->change = CHANGE_NONE;
  return 0;
}

#else
typedef int fmident_no_integrator; /* an empty translation unit is not valid C */
#endif
