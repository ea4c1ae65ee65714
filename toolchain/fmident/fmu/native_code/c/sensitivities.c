/* The variational equation over one step of the integrator.
 *
 * The sensitivities S = dx/dp satisfy S' = A(t)*S + B(t), A = df/dx and B = df/dp along CVODE's
 * trajectory, read from its dense output. As the equation is linear, the Radau IIA method of order 5
 * needs one factorisation for all columns (Hairer and Wanner, Solving Ordinary Differential
 * Equations II, section IV.8). Steps end where CVODE's do, and are divided where the sensitivities
 * change faster than the states.
 *
 * A and B are from the FMU itself or from differences, whose distances suit the model: they are
 * decreased until second differences are small. What the FMU says of its derivatives or dependencies
 * is compared with differences occasionally.
 *
 * Refused are indicators that come close to zero and turn back, so that an event is doubtful, and
 * derivatives of states that jump without an event announced by the FMU: an integrator passes these
 * with tiny steps, but the variational equation misses their contribution.
 *
 * Member 0 is an instance with the parameters of the run, the others have shifted parameters. */
#include <string.h>

#include "model_exchange.h"

/* Why it stopped. */
enum { CALL_FAILED = 1, NOT_FINITE, TOO_SMALL, LIES, TOUCHED, JUMPS, ROUGH, KINK };

/* Vectors of n states: where the equations are evaluated, and what they give; distances of
 * differences and their factors; largest derivatives, largest values, nominal values. */
enum { POINT, SHIFTED, RESULT, OTHER, AWAY, BEFORE, MIDDLE, AFTER, SWING, BASE, FACTORS, SIZES,
       NOMINALS, DENSE };

/* Matrices of a row for each parameter: sensitivities, the largest so far, what they are at least in
 * error estimates; their rates; from FORCES on df/dp of each slot. */
enum { NOW, LARGEST, FLOORS, RATES, FORCES };

/* Of df/dx and df/dp: three stages of a step, and its beginning; of df/dx also one to compare. */
enum { STAGES = 3, BEGINNING = 3, COMPARED = 4 };

enum { MOST_STEPS = 20000 }; /* within one step of the integrator */
enum { MOST_KINKS = 24 };    /* evaluations in a row in which a derivative has a kink in a state */

static const double shift = 6e-6; /* of central differences: the cube root of 2^-52 */
static const double longest_jump = 100.0; /* tolerances that a jump times the step is worth */
static const double large = 0.02; /* of the largest value so far: smaller jumps are not looked for */
static const double bent = 0.35;  /* of the change, from the mean to the middle; half at a jump */
static const double golden = 0.6180339887498949;

typedef struct Sensitivities {
  int64_t states, knowns, count, indicators;
  ModelExchange *main, *members;
  const int64_t *first; /* member of each parameter, and the end */
  const double *offsets, *weights; /* of each member */
  double *vectors, *columns, *matrices, *big, *small, *slopes, *zeros;
  const double *limits; /* of second differences relative to first ones, by parameter */
  const int64_t *colours, *pattern;
  void *dense_vector;
  int64_t directional;
  int64_t rates_known, tracked, followed; /* what is still valid of the step before */
  int64_t looks, unresolved;
  /* Outputs that are read for differences, and which of them are states. */
  int64_t width;
  void *getter;
  const uint32_t *references;
  int64_t reference_count;
  double *outputs;
  const int64_t *places;
  double *derivatives;
  int64_t why, which; /* and of which instance, parameter, state or indicator */
  double next_size, allowed, relative, at, limit, second_difference;
} Sensitivities;

static double *vector(Sensitivities *s, int which) { return s->vectors + which * s->states; }

static double *columns(Sensitivities *s, int64_t which) {
  return s->columns + which * s->knowns * s->states;
}

/* df/dx of a slot; column j begins at n*j. */
static double *jacobian_of(Sensitivities *s, int slot) {
  return s->matrices + slot * s->states * s->states;
}

static int stop(Sensitivities *s, int why, int64_t which) {
  s->why = why;
  s->which = which;
  return 1;
}

static bool failed(int status) { return status != 0 && status != 1; }

static double magnitude(Sensitivities *s, int64_t j) {
  return larger(vector(s, SIZES)[j], vector(s, NOMINALS)[j]);
}

static void copy(double *to, const double *from, int64_t count) {
  memcpy(to, from, (size_t)count * sizeof *to);
}

/* -------------------------------------------------------------------------- evaluation */

/* Writes the state derivatives of an instance. */
EXPORTED int fmident_slopes(Sensitivities *s, int64_t member, double t, const double *x,
                            double *result) {
  ModelExchange *const m = &s->members[member];
  if (s->states == 0) return 0;
  int status = place(m, t, x);
  if (status == 0) {
    status = CALL(OnVector, m->get_derivatives, m->run.component, result, (size_t)m->states);
  }
  if (failed(status)) return stop(s, CALL_FAILED, member);
  for (int64_t i = 0; i < s->states; ++i) {
    if (!isfinite(result[i])) return stop(s, NOT_FINITE, member);
  }
  return 0;
}

/* Writes the event indicators of an instance. */
EXPORTED int fmident_indicators_of(Sensitivities *s, int64_t member, double t, const double *x,
                                   double *result) {
  ModelExchange *const m = &s->members[member];
  int status = place(m, t, x);
  if (status == 0) {
    status = CALL(OnVector, m->get_indicators, m->run.component, result, (size_t)m->indicators);
  }
  return failed(status) ? stop(s, CALL_FAILED, member) : 0;
}

static int slopes_at(Sensitivities *s, double t, const double *x, int to) {
  return fmident_slopes(s, 0, t, x, vector(s, to));
}

typedef int (*GetDense)(void *, double, int, void *);

/* Writes the states at time t of the step that ends at `end` to POINT. */
static int point_at(Sensitivities *s, double t, double end) {
  ModelExchange *const m = s->main;
  const double *from = m->x;
  if (t != end) {
    const int status = CALL(GetDense, m->get_dense, m->memory, t, 0, s->dense_vector);
    if (status != 0) return stop(s, NOT_FINITE, 0);
    from = vector(s, DENSE);
  }
  copy(vector(s, POINT), from, s->states);
  return 0;
}

/* Writes the states, shifted along a column of the sensitivities, to SHIFTED. */
static void shift_states(Sensitivities *s, int64_t known, double amount) {
  const double *column = columns(s, NOW) + known * s->states, *x = s->main->x;
  double *shifted = vector(s, SHIFTED);
  for (int64_t i = 0; i < s->states; ++i) shifted[i] = x[i] + amount * column[i];
}

/* Returns the largest second difference relative to the first; 0 if it is only rounding. */
static double bend_of(Sensitivities *s, const double *low, const double *middle,
                      const double *high) {
  const double *swing = vector(s, SWING), *base = vector(s, BASE);
  double worst = 0.0;
  for (int64_t i = 0; i < s->states; ++i) {
    const double size = larger(swing[i], fabs(base[i]));
    const double bend = fabs(low[i] - 2.0 * middle[i] + high[i]);
    if (bend > 1e3 * 2.2e-16 * size) {
      worst = larger(worst, bend / larger(fabs(high[i] - low[i]), 1e-300));
    }
  }
  return worst;
}

/* ------------------------------------------------------------------------------- df/dx */

static int by_directions(Sensitivities *s, double t, double *matrix) {
  ModelExchange *const m = &s->members[0];
  const int64_t n = s->states;
  int status = place(m, t, vector(s, POINT));
  for (int64_t j = 0; status == 0 && j < n; ++j) status = direction(m, j, matrix + n * j);
  bool finite = true;
  for (int64_t k = 0; k < n * n; ++k) finite &= isfinite(matrix[k]) != 0;
  /* What does not work is as good as what is wrong. */
  return status != 0 || !finite ? stop(s, LIES, 0) : 0;
}

/* Writes derivatives with the states of a colour shifted up and down to RESULT and OTHER. */
static int both_sides(Sensitivities *s, double t, const int64_t *colours, int64_t colour) {
  const double *point = vector(s, POINT), *sizes = vector(s, SIZES), *factors = vector(s, FACTORS);
  double *away = vector(s, AWAY), *shifted = vector(s, SHIFTED);
  int status = 0;
  for (int64_t j = 0; j < s->states; ++j) {
    const double size =
        larger(larger(sizes[j], fabs(point[j])), 1e-3 * vector(s, NOMINALS)[j]);
    away[j] = larger(shift * factors[j], 1e-12) * size;
  }
  for (int sign = 1; sign >= -1 && status == 0; sign -= 2) {
    for (int64_t j = 0; j < s->states; ++j) {
      shifted[j] = point[j] + (colours[j] == colour ? sign * away[j] : 0.0);
    }
    status = slopes_at(s, t, shifted, sign > 0 ? RESULT : OTHER);
  }
  return status;
}

static void scale(Sensitivities *s, const int64_t *colours, int64_t colour, double factor) {
  double *factors = vector(s, FACTORS);
  for (int64_t j = 0; j < s->states; ++j) {
    if (colours[j] == colour) factors[j] = smaller(factors[j] * factor, 1.0);
  }
}

/* The same over a distance in which the derivatives are nearly linear. */
static int over_fitting_distance(Sensitivities *s, double t, const int64_t *colours,
                                 int64_t colour) {
  double last = INFINITY;
  for (int attempt = 0; attempt < 14; ++attempt) {
    const int status = both_sides(s, t, colours, colour);
    if (status != 0) return status;
    const double ratio = bend_of(s, vector(s, OTHER), vector(s, BASE), vector(s, RESULT));
    if (ratio <= s->limit) {
      if (attempt == 0) scale(s, colours, colour, 1.1);
      return 0;
    }
    if (ratio > 2.0 * last) { /* rounding: the distance before was better */
      scale(s, colours, colour, 1.0 / 0.3);
      return both_sides(s, t, colours, colour);
    }
    last = ratio;
    scale(s, colours, colour, 0.3);
  }
  s->unresolved += last > 0.1;
  return both_sides(s, t, colours, colour);
}

/* Central differences, by groups of states, around BASE; without a pattern it is full. */
static int by_differences(Sensitivities *s, double t, double *matrix, const int64_t *colours,
                          int64_t colour_count, const int64_t *pattern) {
  const int64_t n = s->states, unresolved = s->unresolved;
  const double *point = vector(s, POINT), *away = vector(s, AWAY);
  for (int64_t colour = 0; colour < colour_count; ++colour) {
    const int status = over_fitting_distance(s, t, colours, colour);
    if (status != 0) return status;
    for (int64_t j = 0; j < n; ++j) {
      if (colours[j] != colour) continue;
      const double inverse = 1.0 / ((point[j] + away[j]) - (point[j] - away[j]));
      for (int64_t i = 0; i < n; ++i) {
        const double change = (vector(s, RESULT)[i] - vector(s, OTHER)[i]) * inverse;
        matrix[n * j + i] = pattern == NULL || pattern[n * i + j] != 0 ? change : 0.0;
      }
    }
  }
  if (s->unresolved == unresolved) {
    s->unresolved = 0;
  } else if (s->unresolved > MOST_KINKS) {
    return stop(s, KINK, 0);
  }
  return 0;
}

/* Refuses a Jacobian that differs from differences of single columns in three digits. */
static int compare(Sensitivities *s, double t, const double *matrix) {
  const int64_t n = s->states, *single = s->colours + n;
  const double *away = vector(s, AWAY), *base = vector(s, BASE);
  double *const seen = jacobian_of(s, COMPARED);
  const int status = by_differences(s, t, seen, single, n, NULL);
  if (status != 0) return status;
  for (int64_t i = 0; i < n; ++i) {
    double largest = 0.0;
    for (int64_t j = 0; j < n; ++j) largest = larger(largest, fabs(seen[n * j + i]) * away[j]);
    const double noise = 1e-9 * shift * fabs(base[i]) + 1e-3 * largest;
    for (int64_t j = 0; j < n; ++j) {
      if (fabs(matrix[n * j + i] - seen[n * j + i]) * away[j] > noise) return stop(s, LIES, 0);
    }
  }
  return 0;
}

/* Writes df/dx at the states in POINT; BASE has the derivatives there. */
static int jacobian(Sensitivities *s, double t, double *matrix) {
  int status;
  if (s->directional) {
    status = by_directions(s, t, matrix);
  } else {
    int64_t count = 0;
    for (int64_t j = 0; j < s->states; ++j) count = s->colours[j] >= count ? s->colours[j] + 1 : count;
    status = by_differences(s, t, matrix, s->colours, count, s->pattern);
    if (count == s->states) return status;
  }
  const int64_t looks = s->looks++;
  const bool due = (looks & (looks - 1)) == 0; /* 0, 1, 2, 4, 8, ... */
  return status == 0 && due ? compare(s, t, matrix) : status;
}

/* ------------------------------------------------------------------------------- df/dp */

/* Writes df/dp of one parameter; refuses differences that are too coarse. */
static int force(Sensitivities *s, double t, int64_t known, double *forces) {
  const int64_t n = s->states, begin = s->first[known], end = s->first[known + 1];
  double *rates = vector(s, RESULT), *low = vector(s, OTHER), *middle = vector(s, MIDDLE);
  for (int64_t i = 0; i < n; ++i) forces[i] = 0.0;
  copy(middle, vector(s, BASE), n);
  for (int64_t m = begin; m < end; ++m) {
    const int status = fmident_slopes(s, m, t, vector(s, POINT), rates);
    if (status != 0) return status;
    for (int64_t i = 0; i < n; ++i) forces[i] += s->weights[m] * rates[i];
    if (m == begin) {
      copy(low, rates, n);
    } else if (m < end - 1) {
      copy(middle, rates, n);
    }
  }
  const double worst = bend_of(s, low, middle, rates);
  if (!(worst > s->limits[known])) return 0;
  s->second_difference = worst;
  s->at = t;
  return stop(s, ROUGH, known);
}

/* Writes df/dx and df/dp at time t of the step that ends at `end` to a slot. */
static int linearise(Sensitivities *s, double t, double end, int slot) {
  double *const forces = columns(s, FORCES + slot);
  int status = point_at(s, t, end);
  if (status == 0) status = slopes_at(s, t, vector(s, POINT), BASE);
  if (status == 0) status = jacobian(s, t, jacobian_of(s, slot));
  for (int64_t j = 0; status == 0 && j < s->knowns; ++j) {
    status = force(s, t, j, forces + j * s->states);
  }
  return status;
}

/* ---------------------------------------------------------------------- what is refused */

static int slopes_along(Sensitivities *s, double t, double end, int to) {
  const int status = point_at(s, t, end);
  return status == 0 ? slopes_at(s, t, vector(s, POINT), to) : status;
}

/* Refuses a step in which the derivative of a state jumps. */
static int refuse_jumps(Sensitivities *s, double t, double end) {
  double *before = vector(s, BEFORE), *after = vector(s, AFTER), *swing = vector(s, SWING);
  bool middle_known = false;
  if (!s->followed) {
    if (slopes_along(s, t, end, BEFORE) != 0) return 1;
    s->followed = 1;
  }
  if (slopes_along(s, end, end, AFTER) != 0) return 1;
  for (int64_t i = 0; i < s->states; ++i) {
    swing[i] = larger(swing[i], larger(fabs(before[i]), fabs(after[i])));
    const double change = fabs(after[i] - before[i]);
    const double worth = longest_jump * s->relative * magnitude(s, i);
    if (change <= large * swing[i] || change * (end - t) > worth) continue;
    if (!middle_known && slopes_along(s, t + 0.5 * (end - t), end, MIDDLE) != 0) return 1;
    middle_known = true;
    if (fabs(vector(s, MIDDLE)[i] - 0.5 * (before[i] + after[i])) > bent * change) {
      s->at = end;
      return stop(s, JUMPS, i);
    }
  }
  copy(before, after, s->states);
  return 0;
}

/* Indicators and their rates before a step, those after it, and room for indicators. */
static double *zeros(Sensitivities *s, int row) { return s->zeros + row * s->indicators; }

/* Writes indicators at the states in POINT to a row, and their rates to the next one. */
static int with_rates(Sensitivities *s, double t, double brief, int row) {
  const double *point = vector(s, POINT);
  double *shifted = vector(s, SHIFTED), *values = zeros(s, row), *rates = zeros(s, row + 1);
  int status = slopes_at(s, t, point, RESULT);
  if (status == 0) status = fmident_indicators_of(s, 0, t, point, values);
  for (int64_t i = 0; i < s->states; ++i) shifted[i] = point[i] + brief * vector(s, RESULT)[i];
  if (status == 0) status = fmident_indicators_of(s, 0, t + brief, shifted, rates);
  for (int64_t k = 0; k < s->indicators; ++k) rates[k] = (rates[k] - values[k]) / brief;
  return status;
}

/* Returns how far an indicator is from zero at a time of the step, or NaN. */
static double height(Sensitivities *s, double t, double end, int64_t which) {
  if (point_at(s, t, end) != 0) return NAN;
  if (fmident_indicators_of(s, 0, t, vector(s, POINT), zeros(s, 4)) != 0) return NAN;
  return fabs(zeros(s, 4)[which]);
}

/* Returns when in a step an indicator is closest to zero, by a golden-section search. */
static double lowest(Sensitivities *s, double t, double end, int64_t which) {
  double low = t, high = end;
  double left = high - golden * (high - low), right = low + golden * (high - low);
  double at_left = height(s, left, end, which), at_right = height(s, right, end, which);
  for (int k = 0; k < 48; ++k) {
    if (at_left < at_right) {
      high = right, right = left, at_right = at_left;
      left = high - golden * (high - low);
      at_left = height(s, left, end, which);
    } else {
      low = left, left = right, at_left = at_right;
      right = low + golden * (high - low);
      at_right = height(s, right, end, which);
    }
  }
  return 0.5 * (low + high);
}

/* Returns the change of an indicator within the permitted error of the states in POINT. */
EXPORTED double fmident_doubt(Sensitivities *s, double t, int64_t which) {
  const double *point = vector(s, POINT);
  double *shifted = vector(s, SHIFTED), *room = zeros(s, 4), total = 0.0;
  if (fmident_indicators_of(s, 0, t, point, room) != 0) return NAN;
  const double base = room[which];
  for (int64_t j = 0; j < s->states; ++j) {
    copy(shifted, point, s->states);
    shifted[j] += 1e-6 * magnitude(s, j);
    if (fmident_indicators_of(s, 0, t, shifted, room) != 0) return NAN;
    total += fabs(room[which] - base) / 1e-6;
  }
  return total * s->relative;
}

/* Refuses a step in which an indicator turns back within the integrator's error of zero. */
static int refuse_touches(Sensitivities *s, double t, double end) {
  const double brief = 1e-4 * (end - t);
  if (s->indicators == 0) return 0;
  if (!s->tracked) {
    if (point_at(s, t, end) != 0 || with_rates(s, t, brief, 0) != 0) return 1;
    s->tracked = 1;
  }
  if (point_at(s, end, end) != 0 || with_rates(s, end, brief, 2) != 0) return 1;
  for (int64_t k = 0; k < s->indicators; ++k) {
    const double z0 = zeros(s, 0)[k], r0 = zeros(s, 1)[k];
    const double z1 = zeros(s, 2)[k], r1 = zeros(s, 3)[k];
    if (z0 * z1 <= 0.0 || r0 * z0 >= 0.0 || r1 * z1 <= 0.0) continue;
    if (smaller(fabs(z0), fabs(z1)) > larger(fabs(r0), fabs(r1)) * (end - t)) {
      continue; /* it cannot come near to zero */
    }
    const double at = lowest(s, t, end, k), least = height(s, at, end, k);
    const double doubt = fmident_doubt(s, at, k), most = larger(fabs(z0), fabs(z1));
    if (!isfinite(doubt) || !isfinite(least)) return 1;
    if (least < doubt && most - least > 1e-3 * doubt) {
      s->at = at;
      return stop(s, TOUCHED, k);
    }
  }
  copy(zeros(s, 0), zeros(s, 2), 2 * s->indicators);
  return 0;
}

/* ------------------------------------------------------------------------- integration */

/* Solves linear equations by elimination. Beside the matrix, `rows` has right-hand sides, which
 * become solutions. Returns success. */
static bool solve(double *rows, int64_t n, int64_t width) {
  for (int64_t k = 0; k < n; ++k) {
    int64_t best = k;
    for (int64_t i = k + 1; i < n; ++i) {
      if (fabs(rows[i * width + k]) > fabs(rows[best * width + k])) best = i;
    }
    for (int64_t j = k; best != k && j < width; ++j) {
      const double other = rows[k * width + j];
      rows[k * width + j] = rows[best * width + j];
      rows[best * width + j] = other;
    }
    if (rows[k * width + k] == 0.0) return false;
    const double inverse = 1.0 / rows[k * width + k];
    for (int64_t i = k + 1; i < n; ++i) {
      const double factor = rows[i * width + k] * inverse;
      if (factor == 0.0) continue;
      for (int64_t j = k + 1; j < width; ++j) rows[i * width + j] -= factor * rows[k * width + j];
    }
  }
  for (int64_t k = n - 1; k >= 0; --k) {
    const double inverse = 1.0 / rows[k * width + k];
    for (int64_t j = n; j < width; ++j) rows[k * width + j] *= inverse;
    for (int64_t i = 0; i < k; ++i) {
      const double factor = rows[i * width + k];
      if (factor == 0.0) continue;
      for (int64_t j = n; j < width; ++j) rows[i * width + j] -= factor * rows[k * width + j];
    }
  }
  return true;
}

/* Writes A*S + B of a slot at the present sensitivities. */
static void rates_of(Sensitivities *s, int slot, double *rates) {
  const int64_t n = s->states;
  const double *now = columns(s, NOW), *matrix = jacobian_of(s, slot);
  const double *forces = columns(s, FORCES + slot);
  for (int64_t k = 0; k < s->knowns; ++k) {
    for (int64_t i = 0; i < n; ++i) {
      double total = forces[n * k + i];
      for (int64_t j = 0; j < n; ++j) total += matrix[n * j + i] * now[n * k + j];
      rates[n * k + i] = total;
    }
  }
}

#define ROOT 2.449489742783178 /* of 6 */
static const double nodes[STAGES] = {(4.0 - ROOT) / 10.0, (4.0 + ROOT) / 10.0, 1.0};
static const double weights[STAGES][STAGES] = {
    {(88.0 - 7.0 * ROOT) / 360.0, (296.0 - 169.0 * ROOT) / 1800.0, (-2.0 + 3.0 * ROOT) / 225.0},
    {(296.0 + 169.0 * ROOT) / 1800.0, (88.0 + 7.0 * ROOT) / 360.0, (-2.0 - 3.0 * ROOT) / 225.0},
    {(16.0 - ROOT) / 36.0, (16.0 + ROOT) / 36.0, 1.0 / 9.0}};
/* Of the embedded formula of order 3. */
static const double embedded[STAGES] = {(-13.0 - 7.0 * ROOT) / 3.0, (-13.0 + 7.0 * ROOT) / 3.0,
                                        -1.0 / 3.0};
static const double diagonal = 3.637834252744496;

/* The changes of the sensitivities at a stage: its rows of the solved equations. */
static const double *changes(const Sensitivities *s, int stage, int64_t i) {
  const int64_t order = STAGES * s->states;
  return s->big + (stage * s->states + i) * (order + s->knowns) + order;
}

/* Returns the estimated error of a step in terms of the tolerance. */
static double error_of(Sensitivities *s, double size) {
  const int64_t n = s->states, knowns = s->knowns, width = n + knowns;
  const double *matrix = jacobian_of(s, 2), *rates = columns(s, RATES), *now = columns(s, NOW);
  const double *largest = columns(s, LARGEST), *floors = columns(s, FLOORS);
  const double e1 = embedded[0] / size, e2 = embedded[1] / size, e3 = embedded[2] / size;
  double worst = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    double *const row = s->small + i * width;
    const double *z1 = changes(s, 0, i), *z2 = changes(s, 1, i), *z3 = changes(s, 2, i);
    for (int64_t j = 0; j < n; ++j) row[j] = -matrix[n * j + i];
    row[i] += diagonal / size;
    for (int64_t k = 0; k < knowns; ++k) {
      row[n + k] = rates[n * k + i] + e1 * z1[k] + e2 * z2[k] + e3 * z3[k];
    }
  }
  if (!solve(s->small, n, width)) return 1e10;
  for (int64_t k = 0; k < knowns; ++k) {
    for (int64_t i = 0; i < n; ++i) {
      const double error = fabs(s->small[i * width + n + k]), before = now[n * k + i];
      if (!isfinite(error)) return 1e10;
      const double after = before + changes(s, 2, i)[k];
      const double size_of = larger(larger(largest[n * k + i], fabs(after)),
                                    larger(floors[n * k + i], fabs(before)));
      worst = larger(worst, error / (s->allowed * size_of));
    }
  }
  return worst;
}

/* Computes the stages from their A and B. Returns the error in terms of the tolerance. */
static double solve_stages(Sensitivities *s, double size) {
  const int64_t n = s->states, knowns = s->knowns, order = STAGES * n, width = order + knowns;
  for (int stage = 0; stage < STAGES; ++stage) {
    const double *matrix = jacobian_of(s, stage);
    for (int64_t i = 0; i < n; ++i) {
      for (int r = 0; r < STAGES; ++r) {
        const double factor = -size * weights[r][stage];
        double *const row = s->big + (r * n + i) * width + stage * n;
        for (int64_t j = 0; j < n; ++j) row[j] = factor * matrix[n * j + i];
      }
      s->big[(stage * n + i) * width + stage * n + i] += 1.0;
    }
    rates_of(s, stage, s->slopes + stage * knowns * n);
  }
  for (int r = 0; r < STAGES; ++r) {
    const double a = size * weights[r][0], b = size * weights[r][1], c = size * weights[r][2];
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t k = 0; k < knowns; ++k) {
        const double *slopes = s->slopes + k * n + i;
        s->big[(r * n + i) * width + order + k] =
            a * slopes[0] + b * slopes[knowns * n] + c * slopes[2 * knowns * n];
      }
    }
  }
  return solve(s->big, order, width) ? error_of(s, size) : 1e10;
}

/* Tries a step of Radau IIA. Returns the error in terms of the tolerance, or -1. */
static double try_step(Sensitivities *s, double t, double size, double end) {
  if (!s->rates_known) {
    if (linearise(s, t, end, BEGINNING) != 0) return -1.0;
    rates_of(s, BEGINNING, columns(s, RATES));
    s->rates_known = 1;
  }
  for (int stage = 0; stage < STAGES; ++stage) {
    double at = t + size * nodes[stage];
    if (stage == 2 && end - at <= 1e-12 * size) at = end;
    if (linearise(s, at, end, stage) != 0) return -1.0;
  }
  return solve_stages(s, size);
}

/* Integrates the sensitivities over a step of the integrator. */
static int integrate(Sensitivities *s, double t, double end) {
  const int64_t n = s->states;
  double *now = columns(s, NOW), *largest = columns(s, LARGEST);
  int steps = 0;
  while (t < end) {
    const double rest = end - t;
    double size = s->next_size >= 0.9 * rest ? rest : s->next_size;
    if (2.0 * size > rest && rest > size) size = 0.5 * rest;
    const double error = try_step(s, t, size, end);
    if (error < 0.0) return 1;
    ++steps;
    const double factor = smaller(8.0, 0.9 / pow(larger(error, 1e-12), 0.25));
    if (error > 1.0) {
      s->next_size = size * larger(0.1, factor);
      if (steps > MOST_STEPS || t + s->next_size <= t) return stop(s, TOO_SMALL, 0);
      continue;
    }
    for (int64_t k = 0; k < s->knowns; ++k) {
      for (int64_t i = 0; i < n; ++i) {
        now[n * k + i] += changes(s, 2, i)[k];
        largest[n * k + i] = larger(largest[n * k + i], fabs(now[n * k + i]));
      }
    }
    rates_of(s, 2, columns(s, RATES));
    /* A step that only ends where CVODE's does says little of the next one's size. */
    const double before = size == rest ? s->next_size : 0.0;
    s->next_size = larger(size * larger(factor, 0.2), before);
    t = size == rest ? end : t + size;
  }
  return 0;
}

/* Reports a completed step to all instances, each with its own states. */
static int complete(Sensitivities *s, double t) {
  int64_t known = 0;
  for (int64_t k = 0; k < s->count; ++k) {
    ModelExchange *const m = &s->members[k];
    int32_t event = 0, ends = 0;
    while (known + 1 < s->knowns && s->first[known + 1] <= k) ++known;
    shift_states(s, known, s->offsets[k]);
    int status = place(m, t, vector(s, SHIFTED));
    if (status == 0) status = CALL(Completed, m->completed, m->run.component, 1, &event, &ends);
    if (failed(status)) return stop(s, CALL_FAILED, k);
  }
  return 0;
}

/* Advances sensitivities and shifted instances to the integrator's time. */
int sensitivities_step(Sensitivities *s, double begin, double end) {
  ModelExchange *const main = s->main;
  for (int64_t k = 0; k < s->count; ++k) s->members[k].run.row = main->run.row;
  const bool brief = end - begin <= 1e-14 * larger(fabs(begin), fabs(end));
  if (s->states > 0 && main->memory != NULL && !brief) {
    double *const sizes = vector(s, SIZES);
    for (int64_t i = 0; i < s->states; ++i) sizes[i] = larger(sizes[i], fabs(main->x[i]));
    if (integrate(s, begin, end) != 0) return 1;
    if (refuse_jumps(s, begin, end) != 0 || refuse_touches(s, begin, end) != 0) return 1;
  }
  return main->completed != NULL ? complete(s, end) : 0;
}

/* Reads the outputs of an instance at the states in SHIFTED. */
static int read_outputs(Sensitivities *s, int64_t member, double t) {
  ModelExchange *const m = &s->members[member];
  int status = place(m, t, vector(s, SHIFTED));
  if (status == 0 && m->run.version == 3) {
    status = CALL(Move3, s->getter, m->run.component, s->references, (size_t)s->reference_count,
                  s->outputs, (size_t)s->width);
  } else if (status == 0) {
    status = CALL(Move2, s->getter, m->run.component, s->references, (size_t)s->reference_count,
                  s->outputs);
  }
  return failed(status) ? stop(s, CALL_FAILED, member) : 0;
}

static void add_outputs(const Sensitivities *s, double weight, double *target) {
  for (int64_t c = 0; c < s->width; ++c) target[c] += weight * s->outputs[c];
}

/* Writes the derivatives of the outputs with respect to one parameter. If shifted states are too far
 * away, parameter and states are differentiated separately. */
static int differentiate_outputs(Sensitivities *s, double t, int64_t known, double *target) {
  const int64_t n = s->states, begin = s->first[known], end = s->first[known + 1];
  const double *now = columns(s, NOW) + n * known;
  const double *sizes = vector(s, SIZES), *nominals = vector(s, NOMINALS);
  double far = 0.0, reach = 0.0; /* largest relative change of a state, for a unit of it */
  for (int64_t c = 0; c < s->width; ++c) target[c] = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    far = larger(far, fabs(now[i]) / (sizes[i] > 0.0 ? sizes[i] : nominals[i]));
  }
  for (int64_t m = begin; m < end; ++m) reach = larger(reach, fabs(s->offsets[m]));
  const bool separate = far * reach > 3e-5;
  for (int64_t m = begin; m < end; ++m) {
    shift_states(s, known, separate ? 0.0 : s->offsets[m]);
    if (read_outputs(s, m, t) != 0) return 1;
    add_outputs(s, s->weights[m], target);
  }
  for (int sign = 1; separate && sign >= -1; sign -= 2) {
    const double amount = shift / far;
    shift_states(s, known, sign * amount);
    if (read_outputs(s, 0, t) != 0) return 1;
    add_outputs(s, 0.5 * sign / amount, target);
  }
  for (int64_t c = 0; c < s->width; ++c) {
    if (s->places[c] >= 0) target[c] = now[s->places[c]];
  }
  return 0;
}

/* Writes the derivatives of the outputs at an instant to a row. */
int sensitivities_record(Sensitivities *s, double t, int64_t row) {
  double *target = s->derivatives + row * s->knowns * s->width;
  for (int64_t k = 0; s->width > 0 && k < s->knowns; ++k, target += s->width) {
    if (differentiate_outputs(s, t, k, target) != 0) return 1;
  }
  return 0;
}

EXPORTED int fmident_record_sensitivities(Sensitivities *s, double t, int64_t row) {
  return sensitivities_record(s, t, row);
}

EXPORTED int64_t fmident_size_of_sensitivities(void) { return sizeof(Sensitivities); }
