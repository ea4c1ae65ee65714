/* Lazy evaluation of the model's functions and the checks of their results. */
#include "instance.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const Sizes fmident_sizes = {
    .nx = FMIDENT_NX, .nu = FMIDENT_NU, .ny = FMIDENT_NY, .np = FMIDENT_NP, .nc = FMIDENT_NC,
    .nw = FMIDENT_NW, .na = FMIDENT_NA, .nh = FMIDENT_NH, .nr = FMIDENT_NR, .ns = FMIDENT_NS,
    .nd = FMIDENT_ND, .ndv = FMIDENT_NDV, .nz = FMIDENT_NZ, .nk = FMIDENT_NK, .modes = FMIDENT_MODES,
    .jacobian_elements = FMIDENT_JACOBIAN_ELEMENTS,
    .calculated_elements = FMIDENT_CALCULATED_ELEMENTS,
    .switched_elements = FMIDENT_SWITCHED_ELEMENTS,
    .sz_arg = FMIDENT_SZ_ARG, .sz_res = FMIDENT_SZ_RES, .sz_iw = FMIDENT_SZ_IW, .sz_w = FMIDENT_SZ_W,
    .cost_rhs = FMIDENT_COST_RHS, .cost_jacobian = FMIDENT_COST_JACOBIAN};

/* Call a function of (t, x, u, p, c); `asserts` may be NULL. */
static int call(Instance *m, fmident_Function *function, double t, const double *x,
                const double *u, double *result, double *asserts) {
  if (fmident_arguments(m, &t, x, u)) return 1;
  m->res[0] = result;
  m->res[1] = asserts;
  return function(m->arg, m->res, m->iw, m->work, 0);
}

static int call_now(Instance *m, fmident_Function *function, double *result, double *asserts) {
  m->trouble[0] = '\0';
  return call(m, function, m->now.t, m->x, m->u, result, asserts);
}

static int failed(const Instance *m, const char *what) {
  if (m->trouble[0]) {
    fmident_log(m, fmi2Error, "time %.17g: %s", m->now.t, m->trouble);
    return 1;
  }
  fmident_log(m, fmi2Error, "time %.17g: the %s could not be evaluated", m->now.t, what);
  return 1;
}

int fmident_check_finite(const Instance *m, const double *values, size_t count,
                         unsigned first_reference) {
  for (size_t i = 0; i < count; ++i) {
    if (!isfinite(values[i])) {
      fmident_log(m, fmi2Error, "time %.17g: variable '%s' is %s", m->now.t,
                  fmident_names[first_reference + i],
                  isnan(values[i]) ? "not a number" : "infinite");
      return 1;
    }
  }
  return 0;
}

static int ensure_calculated(Instance *m) {
#if FMIDENT_NC > 0
  m->arg[0] = m->p;
  m->res[0] = m->c;
  if (fmident_calculated_parameters(m->arg, m->res, m->iw, m->work, 0)) {
    return failed(m, "calculated parameters");
  }
#endif
#if FMIDENT_EVENTS
  memcpy(m->c + FMIDENT_NC, m->held, FMIDENT_NH * sizeof(double));
#endif
  m->loops_known = 0;
  m->now.valid |= VALID_C;
  return 0;
}

int fmident_initial_x(Instance *m) {
#if FMIDENT_STATES
  double t = m->now.t;
  m->trouble[0] = '\0';
#if FMIDENT_ITERATIONS
  if (fmident_solve_initial_loops(m, t)) return failed(m, "initial states");
#endif
  m->arg[0] = &t;
  m->arg[1] = m->u;
  m->arg[2] = m->p;
  m->arg[3] = m->c;
  m->res[0] = m->x;
  if (fmident_initial_states(m->arg, m->res, m->iw, m->work, 0)) {
    return failed(m, "initial states");
  }
  for (size_t i = 0; i < FMIDENT_NX; ++i) {
    if (m->x_set[i]) m->x[i] = m->x_start[i];
  }
  return fmident_check_finite(m, m->x, FMIDENT_NX, FMIDENT_VR_X);
#else
  (void)m;
  return 0;
#endif
}

static int ensure_states(Instance *m) {
#if FMIDENT_ITERATIONS
  if (fmident_start_loops(m)) return failed(m, "start values");
#endif
#if FMIDENT_EVENTS
  if (fmident_events_start(m)) return 1;
#else
  if (fmident_initial_x(m)) return 1;
#endif
  m->now.valid |= VALID_X;
  return 0;
}

int fmident_ensure(Instance *m, int valid) {
  const int missing = (valid | VALID_C | VALID_X) & ~m->now.valid;
  if (!missing) return 0;
  if ((missing & VALID_C) && ensure_calculated(m)) return 1;
  if (valid == VALID_C) return 0;
  if ((missing & VALID_X) && ensure_states(m)) return 1;
#if FMIDENT_STATES
  if (missing & VALID_DX) {
    if (call_now(m, fmident_rhs, m->dx, m->a)) return failed(m, "state derivatives");
    m->now.valid |= VALID_DX | VALID_A;
  }
#endif
#if FMIDENT_NY > 0
  if (missing & VALID_Y) {
    if (call_now(m, fmident_outputs, m->y, m->a)) return failed(m, "outputs");
    m->now.valid |= VALID_Y | VALID_A;
  }
#endif
#if FMIDENT_NW > 0
  if ((missing & VALID_W) && call_now(m, fmident_locals, m->w, NULL)) {
    return failed(m, "local variables");
  }
#endif
#if FMIDENT_NA > 0
  if ((missing & ~m->now.valid & VALID_A) && call_now(m, fmident_asserts, m->a, NULL)) {
    return failed(m, "assertions");
  }
#endif
  m->now.valid |= missing;
  return 0;
}

int fmident_check_asserts(Instance *m) {
  int violated = 0;
#if FMIDENT_NA > 0
  if (fmident_ensure(m, VALID_A)) return 1;
  for (size_t i = 0; i < FMIDENT_NA; ++i) {
    if (m->a[i] > 0.0) continue; /* written so that NaN is a violation */
    if (fmident_assert_is_error[i]) {
      violated = 1;
    } else if (!m->warned[i]) {
      m->warned[i] = 1;
      fmident_log(m, fmi2Warning, "time %.17g: assertion violated: %s", m->now.t,
                  fmident_assert_messages[i]);
    }
  }
  /* Errors last, so that the last message is the reason of the failure. */
  for (size_t i = 0; violated && i < FMIDENT_NA; ++i) {
    if (!(m->a[i] > 0.0) && fmident_assert_is_error[i]) {
      fmident_log(m, fmi2Error, "time %.17g: assertion violated: %s", m->now.t,
                  fmident_assert_messages[i]);
    }
  }
#else
  (void)m;
#endif
  return violated;
}

const double *fmident_inputs_at(Instance *m, double since) {
  if (!m->interpolating) return m->u;
  for (size_t i = 0; i < FMIDENT_NU; ++i) m->u_at[i] = m->u[i] + m->du[i] * since;
  return m->u_at;
}

#if FMIDENT_STATES
int fmident_rhs_at(Instance *m, double since, const double *x, double *dx) {
  const double t = m->now.t + since;
  const double *u = fmident_inputs_at(m, since);
  m->now.valid &= ~VALID_A;
  m->trouble[0] = '\0';
  if (call(m, fmident_rhs, t, x, u, dx, m->a)) {
    if (m->trouble[0]) return 1;
    snprintf(m->trouble, sizeof m->trouble, "the state derivatives cannot be evaluated at %.17g",
             t);
    return 1;
  }
  /* Assertions first: where one is violated, what is not a number is its consequence. */
#if FMIDENT_NA > 0
  for (size_t i = 0; i < FMIDENT_NA; ++i) {
    if (!(m->a[i] > 0.0) && fmident_assert_is_error[i]) {
      snprintf(m->trouble, sizeof m->trouble, "assertion violated at %.17g: %s", t,
               fmident_assert_messages[i]);
      return 1;
    }
  }
#endif
  for (size_t i = 0; i < FMIDENT_NX; ++i) {
    if (!isfinite(dx[i])) {
      snprintf(m->trouble, sizeof m->trouble, "'%s' is %s at %.17g",
               fmident_names[FMIDENT_VR_DX + i], isnan(dx[i]) ? "not a number" : "infinite", t);
      return 1;
    }
  }
  return 0;
}

int fmident_jacobian_at(Instance *m, double since, const double *x, double *jacobian) {
  const double t = m->now.t + since;
  double *elements = m->jacobian;
  if (call(m, fmident_jacobian, t, x, fmident_inputs_at(m, since), elements, NULL)) return 1;
  memset(jacobian, 0, sizeof *jacobian * FMIDENT_NX * FMIDENT_NX);
  for (size_t k = 0; k < FMIDENT_JACOBIAN_ELEMENTS; ++k) {
    const int place = fmident_jacobian_places[k];
    if (!isfinite(elements[k])) {
      snprintf(m->trouble, sizeof m->trouble,
               "the derivative of '%s' with respect to '%s' is not finite at %.17g",
               fmident_names[FMIDENT_VR_DX + place % FMIDENT_NX],
               fmident_names[FMIDENT_VR_X + place / FMIDENT_NX], t);
      return 1;
    }
    jacobian[place] = elements[k];
  }
  return 0;
}

int fmident_time_derivative_at(Instance *m, double since, const double *x, double *derivative) {
  const double t = m->now.t + since;
  m->arg[5] = m->du;
  if (call(m, fmident_time_derivative, t, x, fmident_inputs_at(m, since), derivative, NULL)) return 1;
  for (size_t i = 0; i < FMIDENT_NX; ++i) {
    if (!isfinite(derivative[i])) {
      snprintf(m->trouble, sizeof m->trouble,
               "the derivative of '%s' in time is not finite at %.17g", fmident_names[FMIDENT_VR_DX + i], t);
      return 1;
    }
  }
  return 0;
}
#endif
