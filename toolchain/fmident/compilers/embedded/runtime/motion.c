/* Whether sensitivities have missed something within a step of the states. Where the right-hand
 * side has a smooth but sharp bend, such as v/sqrt(v^2 + 1e-14), a step may pass all of it with
 * little error of the states, while the Jacobian is never seen to have been large.
 *
 * The derivative dx/dt of a trajectory obeys the same equation as the sensitivities,
 * d/dt f = J f + f_t + f_u u', and what it has to become is known: f at the end of the step. So it
 * is integrated as one more column. Where it has become anything else, the states take the step once
 * more in such small parts, for the sensitivities alone, that it does not. Within a bend, the end of
 * these parts and that of the step are not the same to the sensitivities: they follow the former until
 * they are. */
#include "columns.h"
#include "integrator.h"
#include "linear.h"
#include "sensitivities.h"

#if FMIDENT_STATES

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N ((int)FMIDENT_NX)
enum { MOST_PARTS = 5000 };

/* Of the tolerance: what is allowed in one step, and in one of many parts of a bend, relative to
 * the largest derivative so far. */
static const double local_share = 1.0, share_of_part = 0.01;

/* Where all is at rest, derivatives are nothing but rounding. So that is enough of them times the
 * step, in nominal values of the states: far less than a step may pass without notice. */
static const double least_part = 1e-6;

/* Fast parts decay, and with them what is wrong of the sensitivities; but not where they are fast
 * for a moment only, within a bend. There, the state derivatives change by more than this. */
static const double steady = 0.1;

/* And parts where they change by less than this are outside bends. */
static const double little = 0.01;

/* How exact the time is. */
static const double rounding = 16.0 * DBL_EPSILON;

/* The same step by parts: its path ends where the sensitivities are. */
struct Refined {
  Path path;
  Explicit explicit;
  double *room; /* of the path and the explicit steps */
  Rosenbrock *rosenbrock;
};

void fmident_refined_delete(struct Refined *refined) {
  if (!refined) return;
  free(refined->rosenbrock);
  free(refined->room);
  free(refined);
}

int fmident_motion_turn(Instance *m, double since, const double *x) {
  Sensitivities *s = m->sensitivities;
  const size_t column = s->count;
  int turns = 0;
  for (size_t i = 0; i < FMIDENT_NU; ++i) turns |= s->along_u[i * s->stride + column] != m->du[i];
  if (!turns) return 0;
  if (s->slope_known) { /* by what the slopes have changed */
    static const double sign[2] = {-1.0, 1.0};
    const double t = m->now.t + since;
    for (int after = 0; after < 2; ++after) {
      for (size_t i = 0; i < FMIDENT_NU; ++i) {
        m->seed_u[i] = after ? m->du[i] : s->along_u[i * s->stride + column];
      }
      if (fmident_arguments(m, &t, x, fmident_inputs_at(m, since))) return 1;
      m->arg[5] = m->seed_u;
      m->res[0] = m->seed_dx;
      if (fmident_time_derivative(m->arg, m->res, m->iw, m->work, 0)) return 1;
      for (int i = 0; i < N; ++i) {
        s->slope[(size_t)i * s->stride + column] += sign[after] * m->seed_dx[i];
      }
    }
  }
  for (size_t i = 0; i < FMIDENT_NU; ++i) s->along_u[i * s->stride + column] = m->du[i];
  return 0;
}

void fmident_motion_start(Sensitivities *s, const double *derivatives) {
  for (int i = 0; i < N; ++i) {
    const size_t k = (size_t)i * s->stride + s->count;
    s->states[k] = s->motion[i] = derivatives[i];
    s->sizes[k] = fmax(s->sizes[k], fabs(derivatives[i]));
  }
}

/* The state derivatives with the modes that are held. */
static int derivatives_at(Instance *m, double since, const double *x, double *derivatives) {
  const double t = m->now.t + since;
  if (fmident_arguments(m, &t, x, fmident_inputs_at(m, since))) return 1;
  m->arg[5] = m->sensitivities->modes;
  m->res[0] = derivatives;
  return fmident_switched_rhs(m->arg, m->res, m->iw, m->work, 0);
}

/* What rounding leaves of the state derivatives: by how much they change with the last digits of the
 * states. */
static int add_rounding(Instance *m, double since, const double *x, const double *derivatives,
                        double *allowed) {
  double near[N], found[N];
  for (int side = 0; side < 2; ++side) {
    for (int i = 0; i < N; ++i) near[i] = x[i] * (1.0 + ((i + side) % 2 ? 4.0 : -4.0) * DBL_EPSILON);
    if (derivatives_at(m, since, near, found)) return 1;
    for (int i = 0; i < N; ++i) allowed[i] += 16.0 * fabs(found[i] - derivatives[i]);
  }
  return 0;
}

/* What of the differences remains where fast parts decay, and what rounding may have to do with
 * it; `allowed` grows by that. */
static int discount(Instance *m, double since, const double *x, const double *derivatives,
                    double size, int decays, double *differences, double *allowed) {
  Sensitivities *s = m->sensitivities;
  const Elements *places = &fmident_switched_elements;
  const double t = m->now.t + since;
  double *matrix = s->stages, in_time[N];
  if (fmident_elements_at(m, since, x) || fmident_time_derivative_at(m, since, x, in_time)) return 1;
  memset(matrix, 0, (size_t)N * FMIDENT_NX * sizeof *matrix);
  for (int column = 0; column < N; ++column) {
    for (int e = places->starts[column]; e < places->starts[column + 1]; ++e) {
      matrix[places->rows[e] + N * column] -= size * s->elements[e];
    }
  }
  for (int i = 0; i < N; ++i) {
    matrix[i + N * i] += 1.0;
    allowed[i] += rounding * fabs(t * in_time[i]);
  }
  if (add_rounding(m, since, x, derivatives, allowed)) return 1;
  if (!decays) return 0;
  if (factorise(matrix, s->pivots, N)) return 1;
  solve(matrix, s->pivots, N, differences, 1);
  return 0;
}

int fmident_motion_agrees(Instance *m, double since, const double *x, const double *derivatives,
                          double size, int is_explicit) {
  const Sensitivities *s = m->sensitivities;
  double differences[N], allowed[N], tolerance;
  double change = 0.0; /* of the state derivatives, over their largest so far */
  int agree = 1;
  for (int i = 0; i < N; ++i) {
    const double largest = s->sizes[(size_t)i * s->stride + s->count];
    const double own = fabs(derivatives[i] - s->motion[i]);
    if (own > change * largest) change = own / largest;
  }
  tolerance = (s->refines && change > little ? share_of_part : local_share) * m->now.tolerance;
  tolerance = fmax(tolerance, 1e-13);
  for (int i = 0; i < N; ++i) {
    const size_t k = (size_t)i * s->stride + s->count;
    differences[i] = s->states[k] - derivatives[i];
    allowed[i] = tolerance * fmax(s->sizes[k], least_part * fabs(fmident_nominals[i]) / s->step);
    agree &= fabs(differences[i]) <= allowed[i];
  }
  if (agree) return 1;
  if (discount(m, since, x, derivatives, size, change <= steady && !is_explicit, differences, allowed)) {
    return 0;
  }
  for (int i = 0; i < N; ++i) {
    if (!(fabs(differences[i]) <= allowed[i])) return 0;
  }
  return 1;
}

static void keep(Sensitivities *s, double *modes) {
  const size_t length = N * s->stride;
  memcpy(s->before, s->states, length * sizeof *s->before);
  memcpy(s->before + length, s->sizes, length * sizeof *s->before);
  memcpy(modes, s->modes, FMIDENT_MODES * sizeof *modes);
}

static void restore(Sensitivities *s, const double *modes) {
  const size_t length = N * s->stride;
  memcpy(s->states, s->before, length * sizeof *s->before);
  memcpy(s->sizes, s->before + length, length * sizeof *s->before);
  memcpy(s->modes, modes, FMIDENT_MODES * sizeof *modes);
  s->slope_known = 0;
}

/* Take a step; whether all agrees at its end, or there are no sensitivities any more. */
static int take(Instance *m, const Taken *taken) {
  Sensitivities *s = m->sensitivities;
  const Path *path = taken->path;
  const double end = path->t + taken->size;
  double found[N];
  const double *start = path->slope, *derivatives = found;
  if (s->modes_ahead) {
    if (derivatives_at(m, path->t, path->x, found)) return 0;
    start = found;
  }
  fmident_motion_start(s, start);
  if (fmident_motion_turn(m, path->t, path->x)) s->slope_known = 0;
  switch (fmident_switching_step(m, taken)) {
    case NOTHING_SWITCHES: fmident_variational_part(m, taken, 0.0, 1.0); break;
    case PASSED: break;
    case MISSED: return 0;
  }
  if (s->lost[0]) return 1;
  if (taken->explicit && !s->modes_ahead) {
    derivatives = taken->explicit->k[EXPLICIT_STAGES];
  } else if (derivatives_at(m, end, path->next, found)) {
    return 0;
  }
  return fmident_motion_agrees(m, end, path->next, derivatives, taken->size,
                               taken->explicit != NULL);
}

/* The states take a part of their step once more. */
static int repeat(Instance *m, struct Refined *r, double size, int is_explicit) {
  if (!is_explicit) return fmident_rosenbrock_step(m, r->rosenbrock, &r->path, size);
  if (fmident_explicit_step(m, &r->explicit, &r->path, size)) return 1;
  fmident_explicit_extend(&r->explicit, &r->path, size);
  return 0;
}

static int go_on(Instance *m, struct Refined *r, double to, int is_explicit) {
  Path *path = &r->path;
  path->t = to;
  path->linearised = 0;
  memcpy(path->x, path->next, FMIDENT_NX * sizeof(double));
  if (is_explicit) {
    memcpy(path->slope, r->explicit.k[EXPLICIT_STAGES], FMIDENT_NX * sizeof(double));
    return 0;
  }
  return fmident_rhs_at(m, path->t, path->x, path->slope);
}

static struct Refined *new_refined(Sensitivities *s) {
  struct Refined *r = calloc(1, sizeof *r);
  if (r) r->rosenbrock = fmident_rosenbrock_new();
  if (r) r->room = fmident_path_room(&r->path, &r->explicit);
  if (r && r->rosenbrock && r->room) return r;
  fmident_refined_delete(r);
  fmident_sensitivities_lose(s, "there is no memory for them");
  return NULL;
}

static void begin_with(Path *to, const Path *from) {
  const size_t bytes = FMIDENT_NX * sizeof(double);
  to->radius = from->radius;
  to->slope_known = from->slope_known;
  memcpy(to->x, from->x, bytes);
  memcpy(to->slope, from->slope, bytes);
  memcpy(to->next, from->next, bytes);
  memcpy(to->error, from->error, bytes);
}

/* Whether two places are the same to the sensitivities: so is the Jacobian there. Where it is large,
 * the state derivatives may differ by more than the tolerance though the states hardly do. */
static int same_jacobian(Instance *m, double since, const double *x, const double *other) {
  Sensitivities *s = m->sensitivities;
  const Elements *places = &fmident_switched_elements;
  double *before = s->stages, rows[N], changes[N];
  if (fmident_elements_at(m, since, x)) return 0;
  memcpy(before, s->elements, FMIDENT_SWITCHED_ELEMENTS * sizeof *before);
  if (fmident_elements_at(m, since, other)) return 0;
  for (int i = 0; i < N; ++i) rows[i] = changes[i] = 0.0;
  for (int column = 0; column < N; ++column) {
    const double nominal = fabs(fmident_nominals[column]);
    for (int e = places->starts[column]; e < places->starts[column + 1]; ++e) {
      const int i = places->rows[e];
      rows[i] = fmax(rows[i], fabs(s->elements[e]) * nominal);
      changes[i] = fmax(changes[i], fabs(s->elements[e] - before[e]) * nominal);
    }
  }
  for (int i = 0; i < N; ++i) {
    if (!(changes[i] <= m->now.tolerance * rows[i])) return 0;
  }
  return 1;
}

static void refine(Instance *m, const Taken *taken) {
  Sensitivities *s = m->sensitivities;
  struct Refined *r = s->refined ? s->refined : (s->refined = new_refined(s));
  const int is_explicit = taken->explicit != NULL;
  const double end = taken->path->t + taken->size;
  double size = s->apart ? taken->size : 0.5 * taken->size, found[N];
  double modes[FMIDENT_MODES + 1];
  int grows = 1;
  if (!r) return;
  if (!s->apart) begin_with(&r->path, taken->path);
  s->refines = 1;
  r->path.t = taken->path->t;
  r->path.linearised = 0;
  for (int count = 0; r->path.t < end; ++count) {
    const double left = end - r->path.t, t = m->now.t + r->path.t;
    const int last = size * (1.0 + 1e-7) >= left;
    const Taken part = {&r->path, last ? left : size, is_explicit ? &r->explicit : NULL,
                        r->rosenbrock};
    keep(s, modes);
    if (count < MOST_PARTS && !repeat(m, r, part.size, is_explicit) && take(m, &part)) {
      if (s->lost[0]) break;
      if (go_on(m, r, last ? end : r->path.t + part.size, is_explicit)) break;
      if (grows) size *= 2.0;
      grows = 1;
      continue;
    }
    restore(s, modes);
    size = 0.25 * part.size;
    grows = 0;
    if (count < MOST_PARTS && size > 8.0 * DBL_EPSILON * fabs(t) && r->path.t + size > r->path.t) {
      continue;
    }
    if (!s->refines) break;
    s->refines = 0; /* the parts cannot be as exact as that */
    size = 0.01 * taken->size;
    count = 0;
  }
  m->trouble[0] = '\0';
  s->refines = s->slope_known = 0;
  s->part = 0.0;
  s->modes_ahead = 1;
  if (r->path.t >= end) {
    s->apart = derivatives_at(m, end, taken->path->next, found) ||
               (!fmident_motion_agrees(m, end, taken->path->next, found, taken->size, is_explicit) &&
                !same_jacobian(m, end, r->path.x, taken->path->next));
    return;
  }
  fmident_sensitivities_lose(s, /* unless there is a reason already */
                             "the state derivatives bend too sharply at %.17g: their own derivative "
                             "in time does not say how they change",
                             m->now.t + r->path.t);
}

#if FMIDENT_EVENTS
void fmident_variational_cut(Instance *m, const Taken *taken, double size) {
  Sensitivities *s = m->sensitivities;
  const int is_explicit = taken->explicit != NULL;
  struct Refined *r = s->cut ? s->cut : (s->cut = new_refined(s));
  if (!r) return;
  if (!(size > rounding * fabs(m->now.t + taken->path->t))) return; /* nothing changes */
  begin_with(&r->path, taken->path);
  r->path.t = taken->path->t;
  r->path.linearised = 0;
  if (repeat(m, r, size, is_explicit)) {
    fmident_sensitivities_lose(s, "the states cannot be followed to the event at %.17g",
                               m->now.t + taken->path->t + size);
  } else {
    const Taken part = {&r->path, size, is_explicit ? &r->explicit : NULL, r->rosenbrock};
    fmident_variational_step(m, &part);
    fmident_refuse_touching(m, &part);
  }
  m->trouble[0] = '\0';
}
#endif

void fmident_variational_step(Instance *m, const Taken *taken) {
  Sensitivities *s = m->sensitivities;
  double modes[FMIDENT_MODES + 1];
  s->step = taken->size;
  if (!s->apart) {
    keep(s, modes);
    if (take(m, taken)) {
      s->modes_ahead = 0;
      return;
    }
    restore(s, modes);
  }
  refine(m, taken);
}

#else
typedef int fmident_no_motion; /* an empty translation unit is not valid C */
#endif
