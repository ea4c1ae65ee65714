/* Steps of several simulations side by side: the operations of explicit.c and rosenbrock.c, in their
 * order, on vectors. */
#ifndef FMIDENT_LANE_STEPS_H
#define FMIDENT_LANE_STEPS_H

#include "control.h"
#include "instance.h"
#include "registers.h"
#include "model_batch.h"
#include "rosenbrock.h"

#define AT_LEAST_ONE(n) ((n) > 0 ? (n) : 1)

/* One element for each lane. */
typedef struct {
  vec now; /* time of the communication point that the lane has passed */
  vec t;   /* since then */
  vec x[AT_LEAST_ONE(FMIDENT_NX)], slope[AT_LEAST_ONE(FMIDENT_NX)];
  vec u[AT_LEAST_ONE(FMIDENT_NU)], du[AT_LEAST_ONE(FMIDENT_NU)];
  vec p[AT_LEAST_ONE(FMIDENT_NP)], c[AT_LEAST_ONE(FMIDENT_NC)];
  vec prepared[FMIDENT_PREPARED];
  /* Results of functions. */
  vec dx[AT_LEAST_ONE(FMIDENT_NX)], y[AT_LEAST_ONE(FMIDENT_NY)], w[AT_LEAST_ONE(FMIDENT_NW)];
  vec a[AT_LEAST_ONE(FMIDENT_NA)];
  /* Of a step. */
  vec next[AT_LEAST_ONE(FMIDENT_NX)], at[AT_LEAST_ONE(FMIDENT_NX)];
  vec estimate[AT_LEAST_ONE(FMIDENT_NX)];
  vec stages[8][AT_LEAST_ONE(FMIDENT_NX)];
  vec time, u_at[AT_LEAST_ONE(FMIDENT_NU)];
  mask moving; /* some input has a slope that is not zero */
} Lanes;

static inline void inputs_of_lanes(Lanes *l, vec since) {
  const mask moving = l->moving;
  for (int i = 0; i < FMIDENT_NU; ++i) {
    l->u_at[i] = SELECT(moving, l->u[i] + l->du[i] * since, l->u[i]);
  }
}

typedef void LaneFunction(const double *const *arg, double *const *res);

/* Call a function of (t, x, u, p, c), with the inputs as they are in `u_at`. */
static inline void call_lanes(Lanes *l, LaneFunction *function, vec time, const vec *x,
                              vec *result, vec *more) {
  const double *arg[] = {(double *)&l->time, (const double *)x, (double *)l->u_at,
                         (double *)l->p, (double *)l->c, (double *)l->prepared};
  double *res[] = {(double *)result, (double *)more};
  l->time = time;
  function(arg, res);
}

static inline mask not_finite(vec value) { return ~(value - value == 0.0); }

/* Where an assertion does not hold; `level`: only those that are errors. */
static inline mask violated(const Lanes *l, int errors_only) {
  mask bad = {0};
  for (int i = 0; i < FMIDENT_NA; ++i) {
    if (fmident_assert_is_error[i] || !errors_only) bad |= ~(l->a[i] > 0.0);
  }
  return bad;
}

#if FMIDENT_STATES

/* Return where the state derivatives cannot be used. */
static mask rhs_of_lanes(Lanes *l, vec since, const vec *x, vec *dx) {
  mask bad;
  inputs_of_lanes(l, since);
  call_lanes(l, fmident_rhs_lanes, l->now + since, x, dx, l->a);
  bad = violated(l, 1);
  for (int i = 0; i < N; ++i) bad |= not_finite(dx[i]);
  return bad;
}

#define EACH for (int i = 0; i < N; ++i)

static mask explicit_lanes(Lanes *l, vec size) {
  const vec t = l->t, *x = l->x, *k1 = l->slope;
  vec *k2 = l->stages[1], *k3 = l->stages[2], *k4 = l->stages[3], *k5 = l->stages[4];
  vec *k6 = l->stages[5], *k7 = l->stages[6], *at = l->at, *next = l->next;
  mask bad;
#define A(stage, slope) explicit_weights[stage][slope]
#define T(stage) (t + explicit_nodes[stage] * size)
  EACH at[i] = x[i] + size * (A(1, 0) * k1[i]);
  bad = rhs_of_lanes(l, T(1), at, k2);
  EACH at[i] = x[i] + size * (A(2, 0) * k1[i] + A(2, 1) * k2[i]);
  bad |= rhs_of_lanes(l, T(2), at, k3);
  EACH at[i] = x[i] + size * (A(3, 0) * k1[i] + A(3, 1) * k2[i] + A(3, 2) * k3[i]);
  bad |= rhs_of_lanes(l, T(3), at, k4);
  EACH at[i] = x[i] + size * (A(4, 0) * k1[i] + A(4, 1) * k2[i] + A(4, 2) * k3[i] +
                              A(4, 3) * k4[i]);
  bad |= rhs_of_lanes(l, T(4), at, k5);
  EACH at[i] = x[i] + size * (A(5, 0) * k1[i] + A(5, 1) * k2[i] + A(5, 2) * k3[i] +
                              A(5, 3) * k4[i] + A(5, 4) * k5[i]);
  bad |= rhs_of_lanes(l, T(5), at, k6);
  EACH next[i] = x[i] + size * (A(6, 0) * k1[i] + A(6, 2) * k3[i] + A(6, 3) * k4[i] +
                                A(6, 4) * k5[i] + A(6, 5) * k6[i]);
  bad |= rhs_of_lanes(l, T(5), next, k7);
  EACH l->estimate[i] = size * (explicit_errors[0] * k1[i] + explicit_errors[2] * k3[i] +
                                explicit_errors[3] * k4[i] + explicit_errors[4] * k5[i] +
                                explicit_errors[5] * k6[i] + explicit_errors[6] * k7[i]);
#undef A
#undef T
  return bad;
}

/* What implicit steps need beside the lanes. */
typedef struct {
  vec elements[AT_LEAST_ONE(FMIDENT_JACOBIAN_ELEMENTS)];
  vec jacobian[N * N], matrix[N * N];
  mask pivots[N];
  int moves[N]; /* whether a lane has a pivot elsewhere */
  vec in_time[N];
  vec radius;
} Linear;

static void linearise_lanes(Lanes *l, Linear *r) {
  const double *arg[7] = {(double *)&l->time, (double *)l->x, (double *)l->u_at, (double *)l->p,
                          (double *)l->c, (double *)l->prepared};
  double *res[] = {(double *)r->elements}, *rates[] = {(double *)r->in_time};
  mask bad = {0};
  vec sum = {0.0}, squares = {0.0};
  l->time = l->now + l->t;
  inputs_of_lanes(l, l->t);
  fmident_jacobian_lanes(arg, res);
  arg[5] = (double *)l->du;
  arg[6] = (double *)l->prepared;
  fmident_time_derivative_lanes(arg, rates);
  memset(r->jacobian, 0, sizeof r->jacobian);
  for (int k = 0; k < FMIDENT_JACOBIAN_ELEMENTS; ++k) {
    bad |= not_finite(r->elements[k]);
    r->jacobian[fmident_jacobian_places[k]] = r->elements[k];
  }
  EACH bad |= not_finite(r->in_time[i]);
  if (any(bad)) {
    for (int k = 0; k < N * N; ++k) r->jacobian[k] = WHERE(~bad, r->jacobian[k]);
    EACH r->in_time[i] = WHERE(~bad, r->in_time[i]);
  }
  for (int j = 0; j < N; ++j) {
    sum += r->jacobian[j + N * j];
    for (int i = 0; i < N; ++i) squares += r->jacobian[i + N * j] * r->jacobian[j + N * i];
  }
  sum = MAGNITUDE(sum);
  squares = ROOT(MAGNITUDE(squares));
  r->radius = SELECT((squares > sum) | (sum != sum), squares, sum);
}

/* As `factorise` of linear.h; returns where the matrix is singular. */
static mask factorise_lanes(Linear *r) {
  vec *A = r->matrix;
  mask singular = {0};
  for (int k = 0; k < N; ++k) {
    mask pivot = (mask){0} + k;
    vec largest = MAGNITUDE(A[k + N * k]);
    for (int i = k + 1; i < N; ++i) {
      const vec value = MAGNITUDE(A[i + N * k]);
      const mask larger = value > largest;
      largest = SELECT(larger, value, largest);
      pivot = (larger & i) | (~larger & pivot);
    }
    singular |= ~(largest > 0.0);
    r->pivots[k] = pivot;
    r->moves[k] = any(pivot != k);
    for (int i = k + 1; r->moves[k] && i < N; ++i) {
      const mask here = pivot == i;
      if (!any(here)) continue;
      for (int j = 0; j < N; ++j) {
        const vec upper = A[k + N * j], lower = A[i + N * j];
        A[k + N * j] = SELECT(here, lower, upper);
        A[i + N * j] = SELECT(here, upper, lower);
      }
    }
    {
      const vec below = A[k + N * k], y = reciprocal(below);
      for (int i = k + 1; i < N; ++i) A[i + N * k] = quotient(A[i + N * k], below, y);
    }
    for (int j = k + 1; j < N; ++j) {
      const vec factor = A[k + N * j];
      const mask zero = factor == 0.0;
      if (!any(~zero)) continue;
      for (int i = k + 1; i < N; ++i) {
        const vec before = A[i + N * j];
        A[i + N * j] = SELECT(zero, before, before - A[i + N * k] * factor);
      }
    }
  }
  return singular;
}

static inline void eliminate(vec *b, vec factor, vec value) {
  const mask zero = factor == 0.0;
  if (any(~zero)) *b = SELECT(zero, *b, *b - factor * value);
}

static void solve_lanes(const Linear *r, vec *b) {
  const vec *A = r->matrix;
  for (int k = 0; k < N; ++k) {
    for (int i = k + 1; r->moves[k] && i < N; ++i) {
      const mask here = r->pivots[k] == i;
      const vec upper = b[k], lower = b[i];
      b[k] = SELECT(here, lower, upper);
      b[i] = SELECT(here, upper, lower);
    }
  }
  for (int k = 0; k < N; ++k) {
    for (int i = k + 1; i < N; ++i) eliminate(&b[i], A[i + N * k], b[k]);
  }
  for (int k = N - 1; k >= 0; --k) {
    b[k] /= A[k + N * k];
    for (int i = 0; i < k; ++i) eliminate(&b[i], A[i + N * k], b[k]);
  }
}

static mask rosenbrock_lanes(Lanes *l, Linear *r, vec size) {
  const vec per_size = 1.0 / size, diagonal = per_size / rosenbrock_gamma;
  mask bad;
  linearise_lanes(l, r);
  for (int i = 0; i < N * N; ++i) r->matrix[i] = -r->jacobian[i];
  EACH r->matrix[i + N * i] += diagonal;
  bad = factorise_lanes(r);
  EACH l->at[i] = l->x[i];
  for (int stage = 0; stage < ROSENBROCK_STAGES; ++stage) {
    vec *u = l->stages[stage];
    const vec *slope = l->slope;
    if (stage > 5) {
      EACH l->at[i] += l->stages[stage - 1][i];
    } else if (stage > 0) {
      EACH {
        vec sum = l->x[i];
        for (int j = 0; j < stage; ++j) sum += rosenbrock_weights[stage][j] * l->stages[j][i];
        l->at[i] = sum;
      }
    }
    if (stage > 0) {
      bad |= rhs_of_lanes(l, l->t + rosenbrock_nodes[stage] * size, l->at, l->dx);
      slope = l->dx;
    }
    EACH {
      vec sum = {0.0};
      for (int j = 0; j < stage; ++j) sum += rosenbrock_couplings[stage][j] * l->stages[j][i];
      u[i] = slope[i] + per_size * sum + size * rosenbrock_in_time[stage] * r->in_time[i];
    }
    solve_lanes(r, u);
  }
  EACH {
    l->estimate[i] = l->stages[ROSENBROCK_STAGES - 1][i];
    l->next[i] = l->at[i] + l->estimate[i];
  }
  return bad;
}

/* As `error_of_step` of integrator.c. */
static vec error_of_lanes(const Lanes *l, double tolerance) {
  vec sum = {0.0};
  EACH {
    const vec before = MAGNITUDE(l->x[i]), after = MAGNITUDE(l->next[i]);
    const vec size = SELECT(after > before, after, before);
    const vec error =
        l->estimate[i] * (1.0 / (tolerance * (size + fabs(fmident_nominals[i]))));
    sum += error * error;
  }
  return ROOT(sum / (double)N);
}
#endif

#endif
