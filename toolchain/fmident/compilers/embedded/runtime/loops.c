/* Algebraic loops: their unknowns are found by Newton's method whenever the equations are evaluated,
 * each loop after those that it needs.
 *
 * The step is damped until the correction that the same matrix gives gets smaller, which does not
 * depend on how equations and unknowns are scaled (P. Deuflhard, Newton methods for nonlinear
 * problems, 2004, section 3.3). Where that fails, full steps are tried, and then the solution is
 * followed from a problem that the guess solves.
 *
 * Each iteration begins with `m->guess`, the solution at the end of the last accepted step, so
 * that the result does not depend on what has been evaluated in between. */
#include "instance.h"
#include "linear.h"

#if FMIDENT_ITERATIONS

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { L = FMIDENT_LARGEST_LOOP, MOST_ITERATIONS = 60, ITERATIONS_WITHOUT_LOOKING = 3, MOST_ADVANCES = 1000, MOST_TURNS = 50, MOST_STARTS = 7 };

/* A step relative to the unknowns, after which one more leaves rounding only. */
static const double close_enough = 1e-7;

/* What may be left where nothing gets better: of what rounding makes of the unknowns, and relative to
 * these or their nominal values. */
static const double stalled_enough = 16.0;
static const double small_enough = 1e-8;

static const double least_damping = 1e-8;

/* Relative to the nominal value of an unknown: what is as good as zero. */
static const double negligible = 1e-20;

/* Of an advance and of a way, where the unknowns at the guess are 1. */
#define LONGEST_ADVANCE 1e3
#define FARTHEST 1e5
#define CLOSE_TO_A_KINK 1e-9
#define LEAST_ADVANCE 1e-13

/* A loop, and what is known of it where `z` is. */
typedef struct {
  Instance *m;
  const Loop *loop;
  double *z;       /* in c */
  int careful;     /* beside the guess: no step is longer than the unknowns are large */
  double share;    /* of the residual at the first guess, which is taken off */
  double first[L]; /* that residual */
  double g[L];
  double matrix[L * L];                             /* column by column */
  double factors[L * L], rows[L], columns[L]; /* of a matrix, and what it was scaled by */
  int pivots[L];
} Problem;

static int evaluate(Problem *p) {
  Instance *m = p->m;
  const int n = p->loop->size;
  m->res[0] = p->g;
  m->res[1] = p->matrix;
  if (p->loop->function(m->arg, m->res, m->iw, m->work, 0)) return 1;
  for (int i = 0; i < n; ++i) {
    p->g[i] -= p->share * p->first[i];
    if (!isfinite(p->g[i])) return 1;
  }
  for (int k = 0; k < n * n; ++k) {
    if (!isfinite(p->matrix[k])) return 1;
  }
  return 0;
}

/* Factors of the matrix, scaled by columns and then by rows: 1 if it is singular. */
static int factorised(Problem *p) {
  const int n = p->loop->size;
  double *a = p->factors;
  for (int j = 0; j < n; ++j) {
    double largest = 0.0;
    for (int i = 0; i < n; ++i) largest = fmax(largest, fabs(p->matrix[j * n + i]));
    if (!(largest > 0.0)) return 1;
    p->columns[j] = 1.0 / largest;
    for (int i = 0; i < n; ++i) a[j * n + i] = p->matrix[j * n + i] * p->columns[j];
  }
  for (int i = 0; i < n; ++i) {
    double largest = 0.0;
    for (int j = 0; j < n; ++j) largest = fmax(largest, fabs(a[j * n + i]));
    if (!(largest > 0.0)) return 1;
    p->rows[i] = 1.0 / largest;
    for (int j = 0; j < n; ++j) a[j * n + i] *= p->rows[i];
  }
  if (factorise(a, p->pivots, n)) return 1;
  for (int k = 0; k < n; ++k) {
    if (!(fabs(a[k * n + k]) > 4.0 * n * DBL_EPSILON)) return 1;
  }
  return 0;
}

static void solved(const Problem *p, double *b) {
  const int n = p->loop->size;
  for (int i = 0; i < n; ++i) b[i] *= p->rows[i];
  solve(p->factors, p->pivots, n, b, 1);
  for (int j = 0; j < n; ++j) b[j] *= p->columns[j];
}

/* Newton's correction by the factors that are there. */
static void correction(const Problem *p, double *step) {
  for (int i = 0; i < p->loop->size; ++i) step[i] = -p->g[i];
  solved(p, step);
}

static double nominal(const Problem *p, int i) {
  return fmident_loop_nominals[p->loop->first - fmident_loops[0].first + i];
}

/* The largest of a step, relative to the unknowns. */
static double relative(const Problem *p, const double *step) {
  double largest = 0.0;
  for (int i = 0; i < p->loop->size; ++i) {
    if (step[i] != 0.0) largest = fmax(largest, fabs(step[i]) / fmax(fabs(p->z[i]), negligible * nominal(p, i)));
  }
  return largest;
}

static double norm(const Problem *p, const double *weights, const double *step) {
  double sum = 0.0;
  for (int i = 0; i < p->loop->size; ++i) sum += step[i] * weights[i] * (step[i] * weights[i]);
  return sqrt(sum);
}

static void move(Problem *p, const double *from, const double *step, double part) {
  for (int i = 0; i < p->loop->size; ++i) p->z[i] = from[i] + part * step[i];
}

/* What rounding in the equations makes of the unknowns, by the fourth differences of the residual
 * along a step, which hardly has any where it is smooth (J. J. More and S. M. Wild, Estimating
 * computational noise, 2011). */
static double noise(Problem *p, const double *weights, const double *step) {
  static const double third[] = {-1.0, 3.0, -3.0, 1.0, 0.0}, fourth[] = {1.0, -4.0, 6.0, -4.0, 1.0};
  const int n = p->loop->size;
  double begin[L], g[L], cubic[L], one[L], other[L];
  memcpy(begin, p->z, sizeof(double) * (size_t)n);
  memcpy(g, p->g, sizeof g);
  for (int i = 0; i < n; ++i) {
    cubic[i] = third[0] * g[i];
    one[i] = fourth[0] * g[i];
  }
  for (int k = 1; k <= 4; ++k) {
    move(p, begin, step, 0.25 * k);
    if (evaluate(p)) memcpy(p->g, g, sizeof g);
    for (int i = 0; i < n; ++i) {
      cubic[i] += third[k] * p->g[i];
      one[i] += fourth[k] * p->g[i];
    }
  }
  move(p, begin, step, 0.0);
  memcpy(p->g, g, sizeof g);
  for (int i = 0; i < n; ++i) { /* by the square roots of 20 and 70 */
    one[i] = fmax(fabs(cubic[i]) / 4.47, fabs(one[i]) / 8.37);
    other[i] = i % 2 ? one[i] : -one[i];
  }
  solved(p, one);
  solved(p, other);
  return fmax(norm(p, weights, one), norm(p, weights, other));
}

typedef enum { FOUND, FAILED, NOT_YET } Finish;

/* The solution seems to be a step away, to rounding: unless there is a kink on the way, behind which
 * more is missing than the step was long. */
static Finish finish(Problem *p, const double *weights, double *step) {
  const double before = norm(p, weights, step);
  double after;
  move(p, p->z, step, 1.0);
  if (evaluate(p) || factorised(p)) return FAILED;
  correction(p, step);
  after = norm(p, weights, step);
  if (after < before) {
    move(p, p->z, step, 1.0);
    return FOUND;
  }
  if (p->loop->linear || relative(p, step) <= close_enough) return FOUND;
  return after <= small_enough && after <= stalled_enough * noise(p, weights, step) ? FOUND : NOT_YET;
}

/* Newton's method from `p->z`: 0 when it has found a solution, to rounding. The factors are those
 * of the matrix there, but for the last digits. With `full` steps no correction need get smaller:
 * that passes the kinks of equations that are linear between them. */
static int newton(Problem *p, int full) {
  const int n = p->loop->size;
  double step[L], next[L], weights[L], begin[L], damping = 1.0, before = INFINITY;
  if (evaluate(p)) return 1;
  for (int iteration = 0; iteration < MOST_ITERATIONS; ++iteration) {
    double length;
    int close;
    if (factorised(p)) return 1;
    correction(p, step);
    for (int i = 0; i < n; ++i) {
      if (!isfinite(step[i])) return 1;
      weights[i] = 1.0 / fmax(fabs(p->z[i]), nominal(p, i));
    }
    length = norm(p, weights, step);
    close = p->loop->linear || relative(p, step) <= close_enough;
    /* What rounding leaves of a step need not be small relative to an unknown. */
    if (!close && iteration >= ITERATIONS_WITHOUT_LOOKING && damping == 1.0 && length > 0.25 * before &&
        length <= small_enough) {
      close = length <= stalled_enough * noise(p, weights, step);
    }
    if (close) {
      const Finish found = finish(p, weights, step);
      if (found != NOT_YET) return found;
      before = length; /* the place has moved, and the equations are evaluated there */
      damping = 1.0;
      continue;
    }
    before = length;
    memcpy(begin, p->z, sizeof(double) * (size_t)n);
    damping = fmin(1.0, 4.0 * damping);
    if (p->careful && !full) damping = fmin(damping, 1.0 / length);
    for (;; damping *= 0.5) {
      if (damping < least_damping) return 1;
      move(p, begin, step, damping);
      if (evaluate(p)) continue;
      if (full) break;
      correction(p, next);
      if (norm(p, weights, next) <= (1.0 - 0.25 * damping) * length) break;
    }
  }
  return 1;
}

/* A way in n + 1 dimensions: unknowns, scaled, and the share of the residual at the guess that has
 * been taken away. */
typedef struct {
  Problem *p;
  double scales[L];
  double end; /* what the last dimension is there, of the size of the way that the unknowns have */
  double factors[(L + 1) * (L + 1)];
  int pivots[L + 1];
} Way;

static void set_place(Way *way, const double *place) {
  Problem *p = way->p;
  for (int i = 0; i < p->loop->size; ++i) p->z[i] = place[i] * way->scales[i];
  p->share = 1.0 - place[p->loop->size] / way->end;
}

/* Factors of the derivatives along the way, with a direction as the last row. */
static int bordered(Way *way, const double *direction) {
  const Problem *p = way->p;
  const int n = p->loop->size, all = n + 1;
  double *a = way->factors;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) a[j * all + i] = p->matrix[j * n + i] * way->scales[j];
    a[n * all + i] = p->first[i] / way->end;
  }
  for (int j = 0; j < all; ++j) a[j * all + n] = direction[j];
  return factorise(a, way->pivots, all);
}

static int tangent(Way *way, double *direction) {
  const int all = way->p->loop->size + 1;
  double next[L + 1] = {0.0}, sum = 0.0;
  if (bordered(way, direction)) return 1;
  next[all - 1] = 1.0;
  solve(way->factors, way->pivots, all, next, 1);
  for (int i = 0; i < all; ++i) sum += next[i] * next[i];
  if (!isfinite(sum) || !(sum > 0.0)) return 1;
  for (int i = 0; i < all; ++i) direction[i] = next[i] / sqrt(sum);
  return 0;
}

/* From beside the way onto it, across the direction. */
static int return_to(Way *way, const double *direction, double *place, double distance) {
  const Problem *p = way->p;
  const int n = p->loop->size;
  double moved = 0.0;
  for (int iteration = 0; iteration < 12; ++iteration) {
    double step[L + 1] = {0.0}, size = 0.0, largest = 0.0;
    set_place(way, place);
    if (evaluate(way->p) || bordered(way, direction)) return 1;
    for (int i = 0; i < n; ++i) step[i] = -p->g[i];
    solve(way->factors, way->pivots, n + 1, step, 1);
    for (int i = 0; i <= n; ++i) {
      if (!isfinite(step[i])) return 1;
      place[i] += step[i];
      size = fmax(size, fabs(step[i]));
      largest = fmax(largest, fabs(place[i]));
    }
    moved += size;
    if (moved > 0.1 * distance) return 1; /* it may be another part of the way */
    if (size <= 1e-4 * distance + 16.0 * DBL_EPSILON * largest) {
      set_place(way, place);
      return evaluate(way->p);
    }
  }
  return 1;
}

/* The sign of the determinant of the matrix that the factors are of. */
static int orientation(const Problem *p) {
  const int n = p->loop->size;
  int sign = 1;
  for (int k = 0; k < n; ++k) {
    if ((p->factors[k * n + k] < 0.0) != (p->pivots[k] != k)) sign = -sign;
  }
  return sign;
}

/* A way that goes on in another direction, as at a kink: the share grows or shrinks with the sign of
 * the determinant. The place moves beyond the kink, beside the way. */
static int turn(Way *way, double *place, double *direction, double distance) {
  Problem *p = way->p;
  const int n = p->loop->size;
  double next[L + 1], sum = 1.0;
  int before;
  set_place(way, place);
  if (evaluate(p) || factorised(p)) return 1;
  before = orientation(p);
  for (int i = 0; i <= n; ++i) place[i] += distance * direction[i];
  set_place(way, place);
  if (evaluate(p) || factorised(p)) return 1;
  for (int i = 0; i < n; ++i) next[i] = -p->first[i];
  solved(p, next);
  for (int i = 0; i < n; ++i) {
    next[i] /= way->scales[i];
    sum += next[i] * next[i];
  }
  if (!isfinite(sum)) return 1;
  next[n] = 1.0;
  sum = sqrt(sum) * (before == orientation(p) ? 1.0 : -1.0) * (direction[n] < 0.0 ? -1.0 : 1.0);
  for (int i = 0; i <= n; ++i) direction[i] = next[i] / sum;
  return 0;
}

/* Follow the solutions of g(z) = (1 - s) g(z0) from s = 0, by their arc length, so that the way may
 * turn (E. L. Allgower and K. Georg, Introduction to numerical continuation methods, 2003, chapter 2),
 * until s = 1. With a `sense` of -1 the way begins towards smaller s: it may lead there, too. */
static int follow(Problem *p, double sense) {
  const int n = p->loop->size;
  double place[L + 1] = {0.0}, direction[L + 1] = {0.0}, length, least, size = 0.0;
  Way way = {.p = p};
  int turns = 0;
  p->share = 0.0;
  if (evaluate(p)) return 1;
  memcpy(p->first, p->g, sizeof(double) * (size_t)n);
  for (int i = 0; i < n; ++i) {
    way.scales[i] = fmax(fabs(p->z[i]), nominal(p, i));
    place[i] = p->z[i] / way.scales[i];
  }
  direction[n] = way.end = 1.0;
  if (tangent(&way, direction)) return 1;
  for (int i = 0; i < n; ++i) size = fmax(size, fabs(direction[i] / direction[n]));
  way.end = fmin(fmax(size, 1e-12), 1.0);
  least = fmax(CLOSE_TO_A_KINK * way.end, LEAST_ADVANCE);
  for (int i = 0; i < n; ++i) direction[i] = 0.0;
  direction[n] = sense;
  if (tangent(&way, direction)) return 1;
  length = 0.0625 * way.end;
  for (int count = 0; count < MOST_ADVANCES; ++count) {
    double next[L + 1], before[L + 1];
    int failed;
    for (int i = 0; i <= n; ++i) next[i] = place[i] + length * direction[i];
    memcpy(before, direction, sizeof before);
    failed = return_to(&way, direction, next, length) || tangent(&way, direction);
    if (!failed && next[n] >= way.end) {
      const double part = (way.end - place[n]) / (next[n] - place[n]);
      for (int i = 0; i < n; ++i) p->z[i] = (place[i] + part * (next[i] - place[i])) * way.scales[i];
      p->share = 0.0;
      if (!newton(p, 0)) return 0;
      failed = 1; /* there is a kink before it */
    }
    if (failed) {
      memcpy(direction, before, sizeof before);
      length *= 0.25;
      if (length > least) continue;
      if (++turns > MOST_TURNS || turn(&way, place, direction, 16.0 * length)) return 1;
      length = 1e3 * least;
      continue;
    }
    for (int i = 0; i <= n; ++i) {
      if (!(fabs(next[i]) < FARTHEST)) return 1;
    }
    memcpy(place, next, sizeof place);
    length = fmin(2.0 * length, LONGEST_ADVANCE);
  }
  return 1;
}

/* Away from a guess where the matrix may happen to be singular, or whose branch has ended: on either
 * side in turn, farther each time. */
static void move_away(Problem *p, const double *guess, int start) {
  const double far = start == 0 ? 0.0 : ldexp(start % 2 ? 1.0 : -1.0, 3 * ((start - 1) / 2) - 6);
  for (int i = 0; i < p->loop->size; ++i) {
    const double size = fmax(fabs(guess[i]), nominal(p, i));
    p->z[i] = guess[i] + far * size * (1.0 + 0.25 * (double)(i % 3));
  }
}

static int solve_loop(Instance *m, const Loop *loop) {
  Problem p = {.m = m, .loop = loop, .z = m->c + loop->first};
  const double *guess = m->guess + (loop->first - fmident_loops[0].first);
  for (int start = 0; start < MOST_STARTS; ++start) {
    for (int way = 0; way < (start ? 2 : 4); ++way) {
      move_away(&p, guess, start);
      p.careful = start > 0;
      p.share = 0.0;
      memset(p.first, 0, sizeof p.first);
      if (way < 2 ? newton(&p, way) : follow(&p, way == 2 ? 1.0 : -1.0)) continue;
      for (int j = 0; j < loop->size; ++j) {
        double *column = m->c + loop->inverse + j * loop->size;
        memset(column, 0, sizeof(double) * (size_t)loop->size);
        column[j] = 1.0;
        solved(&p, column);
      }
      return 0;
    }
  }
  return 1;
}

/* Why there is no solution: at the guess, the equation that is violated most; or that all hold, but do not determine it. */
static void explain(Instance *m, const Loop *loop, double t) {
  Problem p = {.m = m, .loop = loop, .z = m->c + loop->first};
  const int offset = loop->first - fmident_loops[0].first;
  int worst = 0, length, undefined;
  memcpy(p.z, m->guess + offset, sizeof(double) * (size_t)loop->size);
  undefined = evaluate(&p);
  for (int i = 1; i < loop->size && !undefined; ++i) {
    if (fabs(p.g[i]) > fabs(p.g[worst])) worst = i;
  }
  const int holds = !undefined && p.g[worst] == 0.0;
  length = snprintf(m->trouble, sizeof m->trouble, "no %ssolution of an algebraic loop is found at %.17g for",
                    holds ? "regular " : "", t);
  for (int i = 0; i < loop->size && length < (int)sizeof m->trouble / 2; ++i) {
    length += snprintf(m->trouble + length, sizeof m->trouble - (size_t)length, "%s '%s' (last %g)",
                       i ? "," : "", fmident_loop_unknowns[offset + i], p.z[i]);
  }
  if (length >= (int)sizeof m->trouble) return;
  const size_t left = sizeof m->trouble - (size_t)length;
  if (undefined || holds) {
    snprintf(m->trouble + length, left, ": its equations %s",
             holds ? "hold there, but their Jacobian cannot be inverted" : "cannot be evaluated there");
    return;
  }
  snprintf(m->trouble + length, left, ": the sides of '%s' differ by %g there; give 'start' near the solution",
           fmident_loop_equations[offset + worst], p.g[worst]);
}

static int solve_all(Instance *m, int begin, int end, double t, const double *x, const double *u) {
  m->arg[0] = &t;
  m->arg[1] = x;
  m->arg[2] = u;
  m->arg[3] = m->p;
  m->arg[4] = m->c;
  for (int k = begin; k < end; ++k) {
    const Loop *loop = &fmident_loops[k];
    if (!solve_loop(m, loop)) continue;
    explain(m, loop, t);
    for (int i = 0; i < loop->size; ++i) m->c[loop->first + i] = NAN;
    return 1;
  }
  return 0;
}

int fmident_solve_loops(Instance *m, double t, const double *x, const double *u) {
  int same = m->loops_known && m->loops_at[0] == t;
  for (int i = 0; same && i < FMIDENT_NX; ++i) same = m->loops_at[1 + i] == x[i];
  for (int i = 0; same && i < FMIDENT_NU; ++i) same = m->loops_at[1 + FMIDENT_NX + i] == u[i];
  if (same) return 0;
  m->loops_known = 0;
  if (solve_all(m, 0, FMIDENT_RUNNING_LOOPS, t, x, u)) return 1;
  m->loops_known = 1;
  m->loops_at[0] = t;
  for (int i = 0; i < FMIDENT_NX; ++i) m->loops_at[1 + i] = x[i];
  for (int i = 0; i < FMIDENT_NU; ++i) m->loops_at[1 + FMIDENT_NX + i] = u[i];
  return 0;
}

int fmident_solve_initial_loops(Instance *m, double t) {
  return solve_all(m, FMIDENT_RUNNING_LOOPS, FMIDENT_LOOPS, t, m->x, m->u);
}

int fmident_start_loops(Instance *m) {
  m->arg[0] = m->p;
  m->arg[1] = m->c;
  m->res[0] = m->guess;
  m->loops_known = 0;
  return fmident_loop_starts(m->arg, m->res, m->iw, m->work, 0);
}

int fmident_keep_loops(Instance *m, double since, const double *x) {
  const double t = m->now.t + since;
  int running = 0;
  if (fmident_arguments(m, &t, x, fmident_inputs_at(m, since))) return 1;
  for (int k = 0; k < FMIDENT_RUNNING_LOOPS; ++k) running += fmident_loops[k].size;
  memcpy(m->guess, m->c + fmident_loops[0].first, sizeof(double) * (size_t)running);
  m->loops_known = 0;
  return 0;
}

#else
typedef int fmident_no_loops; /* an empty translation unit is not valid C */
#endif
