/* States that are bound to each other: after each step they return to where they are consistent, by
 * the shortest way (E. Eich, Convergence results for a coordinate projection method applied to
 * mechanical systems with algebraic constraints, 1993). */
#include "instance.h"
#include "linear.h"

#if FMIDENT_CONSTRAINED

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N = FMIDENT_NX, R = FMIDENT_CONSTRAINTS, MOST_ITERATIONS = 20 };

/* A way relative to the states, or to their nominal values: what no longer matters, and what start
 * values may be off. */
static const double close_enough = 1e-14;
static const double inconsistent = 1e-6;

static int report(Instance *m, double t, const char *what, int worst) {
  snprintf(m->trouble, sizeof m->trouble, "%s '%s' at %.17g", what, fmident_constraint_texts[worst], t);
  return 1;
}

static int project(Instance *m, double since, double *x, double *moved, int *worst) {
  const double t = m->now.t + since;
  double r[R], matrix[R * N], weights[N], normal[R * R], before = INFINITY;
  int pivots[R];
  *moved = 0.0;
  *worst = 0;
  for (int i = 0; i < N; ++i) weights[i] = fmax(fabs(x[i]), fabs(fmident_nominals[i]));
  for (int iteration = 0; iteration < MOST_ITERATIONS; ++iteration) {
    double step = 0.0, largest = 0.0;
    m->arg[0] = &t;
    m->arg[1] = x;
    m->arg[2] = fmident_inputs_at(m, since);
    m->arg[3] = m->p;
    m->arg[4] = m->c;
    m->res[0] = r;
    m->res[1] = matrix;
    if (fmident_constraints(m->arg, m->res, m->iw, m->work, 0)) {
      return report(m, t, "cannot evaluate", 0);
    }
    for (int i = 0; i < R; ++i) {
      double scale = 0.0;
      for (int j = 0; j < N; ++j) scale = fmax(scale, fabs(matrix[j * R + i] * weights[j]));
      if (!isfinite(r[i]) || !(scale > 0.0)) return report(m, t, "the states cannot satisfy", i);
      for (int j = 0; j < N; ++j) matrix[j * R + i] /= scale;
      r[i] /= scale;
      if (fabs(r[i]) > largest) {
        largest = fabs(r[i]);
        *worst = i;
      }
    }
    for (int i = 0; i < R; ++i) {
      for (int k = 0; k < R; ++k) {
        double sum = 0.0;
        for (int j = 0; j < N; ++j) {
          sum += matrix[j * R + i] * weights[j] * (matrix[j * R + k] * weights[j]);
        }
        normal[k * R + i] = sum;
      }
    }
    if (factorise(normal, pivots, R)) return report(m, t, "the states cannot satisfy", *worst);
    for (int i = 0; i < R; ++i) {
      if (!(fabs(normal[i * R + i]) > 1e-14)) return report(m, t, "the states cannot satisfy", *worst);
    }
    solve(normal, pivots, R, r, 1);
    for (int j = 0; j < N; ++j) {
      double sum = 0.0;
      for (int i = 0; i < R; ++i) sum += matrix[j * R + i] * r[i];
      sum *= weights[j] * weights[j];
      x[j] -= sum;
      step = fmax(step, fabs(sum) / weights[j]);
    }
    *moved += step;
    if (!isfinite(step)) break;
    if (step <= close_enough || (step >= 0.5 * before && step <= 1e-12)) return 0;
    before = step;
  }
  return report(m, t, "the states cannot satisfy", *worst);
}

int fmident_return(Instance *m, double since, double *x) {
  double moved;
  int worst;
  return project(m, since, x, &moved, &worst);
}

int fmident_check_start(Instance *m) {
  double moved;
  int worst;
  if (project(m, 0.0, m->x, &moved, &worst)) return 1;
  if (moved <= inconsistent) return 0;
  return report(m, m->now.t, "the start values contradict", worst);
}

#else
typedef int fmident_no_constraints; /* an empty translation unit is not valid C */
#endif
