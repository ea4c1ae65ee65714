/* Sensitivities of the states over one step that these have taken: the variational equation
 * S' = J(t, x) S + F(t, x). It is linear, and x is known by then, so that nothing is iterated, and
 * no step is refused for its sake: the states keep their bits. Where the step is too long for the
 * sensitivities, they take it in parts. */
#include "columns.h"
#include "integrator.h"
#include "sensitivities.h"

#if FMIDENT_STATES

#include <math.h>
#include <string.h>

#define N ((int)FMIDENT_NX)
enum { MOST_REJECTIONS = 25, MOST_PARTS = 10000 };

/* Of the tolerance: what one part may add to the error of the sensitivities, and what it may
 * where a step is refined, which takes many. */
static const double local_share = 1.0, share_where_refined = 0.05;
static const double smallest_local_tolerance = 1e-13;

static const double safety = 0.9, least_factor = 0.1, largest_factor = 5.0;

/* Explicit steps up to this size times the radius of the spectrum damp errors. */
static const double stable = 2.0;

/* What one implicit step costs in explicit ones: they are the better choice up to there. */
static double worth(void) {
  return (3.0 * (FMIDENT_COST_JACOBIAN + 3.0 * FMIDENT_COST_RHS) + 18.0 * N * N * N +
          18.0 * FMIDENT_LANES * N * N) /
         (18.0 * FMIDENT_COST_RHS + 40.0 * FMIDENT_LANES * N);
}

static int slope_at(Instance *m, double since, const double *x, const double *states,
                    double *slope) {
  if (!fmident_along(m, fmident_rhs_along, since, x, states, slope)) return 0;
  fmident_sensitivities_lose(m->sensitivities,
                             "the state derivatives could not be differentiated at %.17g",
                             m->now.t + since);
  return 1;
}

/* The slope where a part begins: that of the end of the part before, or a new one. */
static int slope_at_start(Instance *m, double since, const double *x) {
  Sensitivities *s = m->sensitivities;
  if (s->slope_known) return 0;
  if (slope_at(m, since, x, s->states, s->slope)) return 1;
  s->slope_known = 1;
  return 0;
}

static double tolerance_of(const Instance *m) {
  const double share = m->sensitivities->refines ? share_where_refined : local_share;
  return fmax(share * m->now.tolerance, smallest_local_tolerance);
}

/* In terms of the error that is allowed. */
static double error_of(const Instance *m, const double *errors, const double *next) {
  const Sensitivities *s = m->sensitivities;
  return fmident_worst(errors, next, s->sizes, s->floors, N * s->stride) / tolerance_of(m);
}

/* By the explicit pair. Returns the error in terms of what is allowed; above 1 it has changed
 * nothing. The states of its stages are those of the continuous extension, which are closer to the
 * solution than those of the pair itself. */
static double try_explicit(Instance *m, const Taken *taken, double begin, double end) {
  Sensitivities *s = m->sensitivities;
  const double size = (end - begin) * taken->size;
  const size_t length = N * s->stride;
  double *const slopes = s->stages, *const spare = slopes + EXPLICIT_STAGES * length;
  double *const at = spare + length, *const errors = slopes; /* the first is not needed any more */
  const double *k[EXPLICIT_STAGES + 1] = {s->slope}, *terms[EXPLICIT_STAGES + 1];
  double factors[EXPLICIT_STAGES + 1], x[N], error;
  int count;
  for (int stage = 1; stage <= EXPLICIT_STAGES; ++stage) {
    const int last = stage == EXPLICIT_STAGES;
    const double node = begin + (last ? 1.0 : explicit_nodes[stage]) * (end - begin);
    double *const states = stage == EXPLICIT_STAGES - 1 ? spare : at; /* kept for the radius */
    double *const slope = slopes + (size_t)(stage - 1) * length;
    count = 0;
    for (int j = 0; j < stage; ++j) {
      if (explicit_weights[stage][j] == 0.0) continue;
      terms[count] = k[j];
      factors[count++] = size * explicit_weights[stage][j];
    }
    fmident_combine(states, s->states, terms, factors, count, length);
    if (stage < EXPLICIT_STAGES) fmident_states_between(taken, node, x); /* the last two are one */
    if (slope_at(m, taken->path->t + node * taken->size, x, states, slope)) return 0.0;
    k[stage] = slope;
  }
  s->radius = fmident_column_radius(k[EXPLICIT_STAGES - 1], k[EXPLICIT_STAGES], spare, at,
                                    s->count, s->stride);
  count = 0;
  for (int j = 0; j <= EXPLICIT_STAGES; ++j) {
    if (explicit_errors[j] == 0.0) continue;
    terms[count] = k[j];
    factors[count++] = size * explicit_errors[j];
  }
  fmident_combine(errors, NULL, terms, factors, count, length);
  error = error_of(m, errors, at);
  if (!(error <= 1.0)) return error;
  fmident_advance(s->states, s->sizes, at, length);
  memcpy(s->slope, k[EXPLICIT_STAGES], length * sizeof(double));
  s->error_before = 0.0;
  return error;
}

/* Radau IIA of order 5 (Hairer and Wanner, Solving ODEs II, sections IV.5 and IV.8): its three
 * stages are one system of linear equations, the last of them is the end of the step. */
enum { NODES = 3 };
#define ROOT 2.4494897427831781 /* of 6 */
static const double nodes[NODES] = {(4.0 - ROOT) / 10, (4.0 + ROOT) / 10, 1.0};
static const double weights[NODES][NODES] = {
    {(88 - 7 * ROOT) / 360, (296 - 169 * ROOT) / 1800, (-2 + 3 * ROOT) / 225},
    {(296 + 169 * ROOT) / 1800, (88 + 7 * ROOT) / 360, (-2 - 3 * ROOT) / 225},
    {(16 - ROOT) / 36, (16 + ROOT) / 36, 1.0 / 9}};
/* Of the embedded formula of order 3. */
static const double diagonal = 3.6378342527444957;
static const double embedded[NODES] = {-(13 + 7 * ROOT) / 3, (-13 + 7 * ROOT) / 3, -1.0 / 3};

/* From a part of a matrix with `rows` rows; equations of two states stand `apart`. */
static void subtract_jacobian(const Sensitivities *s, double factor, double *to, size_t rows,
                              int apart) {
  const Elements *places = &fmident_switched_elements;
  for (int column = 0; column < N; ++column) {
    for (int e = places->starts[column]; e < places->starts[column + 1]; ++e) {
      to[(size_t)(apart * places->rows[e]) + rows * (size_t)(apart * column)] -=
          factor * s->elements[e];
    }
  }
}

static double singular(Instance *m, double since) {
  fmident_sensitivities_lose(m->sensitivities,
                             "the matrix of an implicit step is singular at %.17g",
                             m->now.t + since);
  return 0.0;
}

/* The same; where it `must`, it takes what there is. */
static double try_implicit(Instance *m, const Taken *taken, double begin, double end, int must) {
  Sensitivities *s = m->sensitivities;
  const size_t length = N * s->stride;
  const int order = NODES * N;
  const double t = taken->path->t, size = (end - begin) * taken->size;
  double *changes = s->stages, *slope = changes + NODES * length, *errors = slope + length;
  double *matrix = errors + length, *x = matrix + order * order, *next = changes + 2 * length;
  const double *terms[NODES];
  double factors[NODES], error, likely;
  /* Of a large system, the equations of a state stand together: where the Jacobian is a band, so is
   * this matrix. */
  const int large = order > SMALL_MATRIX, apart = large ? NODES : 1, next_stage = large ? 1 : N;
  int *const rows = s->pivots + order;
  memset(matrix, 0, (size_t)order * (size_t)order * sizeof *matrix);
  for (int i = 0; i < order; ++i) {
    matrix[(size_t)i * (size_t)(order + 1)] = 1.0;
    rows[i] = i % NODES * N + i / NODES;
  }
  for (int node = 0; node < NODES; ++node) {
    const double at = begin + nodes[node] * (end - begin), since = t + at * taken->size;
    const double *const term = slope;
    fmident_states_between(taken, at, x);
    if (slope_at(m, since, x, s->states, slope)) return 0.0;
    if (fmident_elements_at(m, since, x)) return singular(m, since);
    for (int stage = 0; stage < NODES; ++stage) {
      const double weight = size * weights[stage][node];
      double *change = changes + (size_t)stage * length;
      fmident_combine(change, node > 0 ? change : NULL, &term, &weight, 1, length);
      subtract_jacobian(s, weight, matrix + next_stage * (stage + order * node), (size_t)order,
                        apart);
    }
  }
  if (fmident_factorise(matrix, s->pivots, order)) return singular(m, t);
  fmident_solve(matrix, s->pivots, order, large ? rows : NULL, changes, s->stride);
  for (int node = 0; node < NODES; ++node) {
    terms[node] = changes + (size_t)node * length;
    factors[node] = embedded[node] / size;
  }
  fmident_combine(errors, s->slope, terms, factors, NODES, length);
  memset(matrix, 0, N * N * sizeof *matrix);
  for (int i = 0; i < N; ++i) matrix[i + N * i] = diagonal / size;
  subtract_jacobian(s, 1.0, matrix, FMIDENT_NX, 1);
  if (fmident_factorise(matrix, s->pivots, N)) return singular(m, t);
  fmident_solve(matrix, s->pivots, N, NULL, errors, s->stride);
  /* The slope at the end: that with the sensitivities at the beginning, and what these change. */
  fmident_add_product(slope, s->elements, &fmident_switched_elements, next, s->stride);
  terms[0] = s->states;
  factors[0] = 1.0;
  fmident_combine(next, next, terms, factors, 1, length);
  error = likely = error_of(m, errors, next);
  /* The formula itself is of order 5: its error is smaller by far where the sensitivities are
   * smooth, and they are as long as the estimate does not grow all of a sudden. */
  if (error <= 30.0 * s->error_before) likely = pow(error * tolerance_of(m), 1.5) / tolerance_of(m);
  if (likely > 1.0 && !must) return likely;
  s->error_before = error;
  s->radius = fmident_sensitivities_radius(s);
  fmident_advance(s->states, s->sizes, next, length);
  memcpy(s->slope, slope, length * sizeof(double));
  return likely;
}

void fmident_variational_part(Instance *m, const Taken *taken, double begin, double end) {
  Sensitivities *s = m->sensitivities;
  int rejections = 0, parts = 0;
  while (begin < end && !s->lost[0]) {
    const double left = (end - begin) * taken->size;
    const double wanted = s->part > 0.0 && s->part < left ? s->part : left;
    const int must = rejections >= MOST_REJECTIONS;
    const int is_explicit =
        taken->explicit && !must && wanted * s->radius < stable * fmax(worth(), 1.0);
    const double part = is_explicit ? fmin(wanted, stable / s->radius) : wanted;
    const int last = part * (1.0 + 1e-7) >= left;
    const double size = last ? left : 2.0 * part > left ? 0.5 * left : part;
    const double to = last ? end : begin + size / taken->size;
    double error, factor, x[N];
    if (!s->slope_known) fmident_states_between(taken, begin, x);
    if (slope_at_start(m, taken->path->t + begin * taken->size, x)) return;
    error = is_explicit ? try_explicit(m, taken, begin, to)
                        : try_implicit(m, taken, begin, to, must);
    factor = error < 1e-4 ? largest_factor : safety * pow(error, is_explicit ? -0.2 : -0.25);
    factor = fmin(largest_factor, factor > least_factor ? factor : least_factor);
    if (must && !(error <= 1e300)) {
      fmident_sensitivities_lose(s, "a derivative is not finite near %.17g",
                                 m->now.t + taken->path->t + begin * taken->size);
      return;
    }
    if (++parts > MOST_PARTS) {
      fmident_sensitivities_lose(s, "the sensitivities need more than %d steps near %.17g",
                                 MOST_PARTS,
                                 m->now.t + taken->path->t + begin * taken->size);
      return;
    }
    if (error <= 1.0 || must) {
      begin = to;
      rejections = 0;
      /* A part that an end has cut says little of a longer one. */
      if (size * factor > s->part || size > 0.9 * wanted) s->part = size * factor;
    } else {
      s->part = size * fmin(factor, 0.5);
      ++rejections;
    }
  }
}

void fmident_states_between(const Taken *taken, double fraction, double *x) {
  if (taken->explicit) {
    fmident_explicit_between(taken->explicit, taken->path, fraction, x);
  } else {
    fmident_rosenbrock_between(taken->rosenbrock, taken->path, fraction, x);
  }
}

#else
typedef int fmident_no_variational; /* an empty translation unit is not valid C */
#endif
