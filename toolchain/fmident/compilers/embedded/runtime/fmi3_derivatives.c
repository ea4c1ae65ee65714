/* FMI 3.0: directional derivatives, and adjoint ones by reverse differentiation. Time is a known,
 * too. */
#include "fmi3_layer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of states, outputs and state derivatives: derivatives in time, or weights. */
typedef struct {
  double *x, *y, *dx;
} Directions;

typedef struct {
  unsigned *of, *to; /* elements of unknowns and knowns */
  size_t n_of, n_to;
  double *block; /* what the rows are in */
  Directions time, weights;
} Request;

static void release(Request *r) {
  free(r->of);
  free(r->to);
  free(r->block);
}

static double *take(double **next, size_t count) {
  double *const found = *next;
  *next += count;
  return found;
}

/* 0, or the reason is logged; to be released in both cases. */
static int make_request(const Instance *m, const char *name, Request *r,
                        const fmi3ValueReference unknowns[], size_t n_unknowns, size_t n_of,
                        const fmi3ValueReference knowns[], size_t n_knowns, size_t n_to) {
  double *next;
  memset(r, 0, sizeof *r);
  r->n_of = n_of;
  r->n_to = n_to;
  r->of = fmident_elements_of(m, name, unknowns, n_unknowns, n_of);
  if (!r->of) return 1;
  r->to = fmident_elements_of(m, name, knowns, n_knowns, n_to);
  if (!r->to) return 1;
  next = r->block = calloc(4 * FMIDENT_NX + 2 * FMIDENT_NY + 1, sizeof *r->block);
  if (!next) {
    fmident_log(m, fmi2Error, "%s: out of memory", name);
    return 1;
  }
  r->time.x = take(&next, FMIDENT_NX);
  r->time.y = take(&next, FMIDENT_NY);
  r->time.dx = take(&next, FMIDENT_NX);
  r->weights.x = take(&next, FMIDENT_NX);
  r->weights.y = take(&next, FMIDENT_NY);
  r->weights.dx = take(&next, FMIDENT_NX);
  return 0;
}

static int not_offered(const Instance *m, const char *function, unsigned reference,
                       const char *role) {
  fmident_log(m, fmi2Error, "%s: '%s' cannot be %s", function,
              fmident_name_of(reference), role);
  return 1;
}

/* The place of an unknown in a row; NULL where there is none. */
static double *place_in(Directions row, unsigned reference) {
  if (reference - FMIDENT_VR_Y < FMIDENT_NY) return row.y + (reference - FMIDENT_VR_Y);
  if (reference - FMIDENT_VR_DX < FMIDENT_NX) return row.dx + (reference - FMIDENT_VR_DX);
  if (reference - FMIDENT_VR_X < FMIDENT_NX) return row.x + (reference - FMIDENT_VR_X);
  return NULL;
}

/* Discrete variables do not change until the next event. */
static int is_discrete(unsigned reference) { return reference - FMIDENT_VR_D < FMIDENT_NDV; }

static int check_unknowns(const Instance *m, const char *function, const Request *r) {
  for (size_t k = 0; k < r->n_of; ++k) {
    if (!place_in(r->time, r->of[k]) && !is_discrete(r->of[k])) {
      return not_offered(m, function, r->of[k],
                         "an unknown here: use outputs, state derivatives or states");
    }
  }
  return 0;
}

static int is_known(const Instance *m, unsigned r) {
  const int initializing = m->now.state == STATE_INITIALIZATION;
  if (r == FMIDENT_VR_TIME || r - FMIDENT_VR_U < FMIDENT_NU || r - FMIDENT_VR_P < FMIDENT_NP) return 1;
  return r - FMIDENT_VR_X < FMIDENT_NX &&
         (!initializing || fmident_state_settable[r - FMIDENT_VR_X]);
}

static int check_knowns(const Instance *m, const char *function, const Request *r) {
  for (size_t k = 0; k < r->n_to; ++k) {
    if (!is_known(m, r->to[k])) {
      return not_offered(m, function, r->to[k],
                         "a known here: use inputs, parameters, states or time");
    }
  }
  return 0;
}

/* The arguments of a model's function, now: 0, or the reason is logged. */
static int prepare(Instance *m, double *t) {
  *t = m->now.t;
  if (fmident_ensure(m, VALID_X)) return 1;
#if FMIDENT_EVENTS
  if (fmident_prepare_reading(m)) return 1;
#endif
  if (!fmident_arguments(m, t, m->x, m->u)) return 0;
  fmident_log(m, fmi2Error, "time %.17g: %s", *t, m->trouble);
  return 1;
}

static int evaluate_along_time(Instance *m, Directions row) {
  double t;
  if (prepare(m, &t)) return 1;
  m->res[0] = row.x;
  m->res[1] = row.y;
  m->res[2] = row.dx;
  return (m->now.state == STATE_INITIALIZATION ? fmident_along_time_initial : fmident_along_time)(
      m->arg, m->res, m->iw, m->work, 0);
}

static int check_finite(const Instance *m, const char *function, const unsigned *references,
                        const double *values, size_t n) {
  for (size_t k = 0; k < n; ++k) {
    if (isfinite(values[k])) continue;
    fmident_log(m, fmi2Error, "%s: time %.17g: a derivative that '%s' takes part in is not finite",
                function, m->now.t,
                fmident_name_of(references[k]));
    return 1;
  }
  return 0;
}

/* ---------------------------------------------------------------------------- directional */

/* Time is taken out of the knowns: the number of others, which are moved to the front with their
 * seeds. */
static size_t without_time(Request *r, const double *seed, double *others, double *along) {
  size_t n = 0;
  for (size_t k = 0; k < r->n_to; ++k) {
    if (r->to[k] == FMIDENT_VR_TIME) {
      *along += seed[k];
    } else {
      r->to[n] = r->to[k];
      others[n++] = seed[k];
    }
  }
  return n;
}

static fmi3Status directional(Instance *m, const char *name, Request *r, const double *seed,
                              double *result) {
  double *others = malloc((r->n_to + 1) * sizeof *others);
  double along = 0.0;
  fmi2Status status = fmi2Error;
  if (!others) {
    fmident_log(m, fmi2Error, "%s: out of memory", name);
    return fmi3Error;
  }
  if (!check_unknowns(m, name, r) && !check_knowns(m, name, r)) {
    const size_t n = without_time(r, seed, others, &along);
    status = fmi2GetDirectionalDerivative(m, r->of, r->n_of, r->to, n, others, result);
  }
  free(others);
  if (status != fmi2OK || along == 0.0) return (fmi3Status)status;
  if (evaluate_along_time(m, r->time)) return fmi3Error;
  for (size_t k = 0; k < r->n_of; ++k) {
    if (!is_discrete(r->of[k])) result[k] += along * *place_in(r->time, r->of[k]);
  }
  return check_finite(m, name, r->of, result, r->n_of) ? fmi3Error : fmi3OK;
}

fmi3Status fmi3GetDirectionalDerivative(fmi3Instance instance, const fmi3ValueReference unknowns[],
                                        size_t n_unknowns, const fmi3ValueReference knowns[],
                                        size_t n_knowns, const fmi3Float64 seed[], size_t n_seed,
                                        fmi3Float64 sensitivity[], size_t n_sensitivity) {
  static const char name[] = "fmi3GetDirectionalDerivative";
  Instance *m = instance;
  Request request;
  fmi3Status status = fmi3Error;
  if (fmident_refused(m, name, STATE_INITIALIZATION | STATE_RUNNING)) return fmi3Error;
  if (!make_request(m, name, &request, unknowns, n_unknowns, n_sensitivity, knowns, n_knowns, n_seed)) {
    status = directional(m, name, &request, seed, sensitivity);
  }
  release(&request);
  return status;
}

/* -------------------------------------------------------------------------------- adjoint */

/* In initialization mode the states that are calculated follow inputs and parameters. */
static int add_initial_states(Instance *m) {
#if FMIDENT_STATES
  double *const inputs = calloc(FMIDENT_NU + FMIDENT_NP + 1, sizeof(double));
  double *const parameters = inputs + FMIDENT_NU;
  double t = m->now.t;
  int failed = !inputs;
  for (size_t i = 0; !failed && i < FMIDENT_NX; ++i) {
    if (fmident_state_settable[i]) m->seed_x[i] = 0.0; /* it is a known itself */
  }
  if (!failed) {
    m->arg[0] = &t;
    m->arg[1] = m->u;
    m->arg[2] = m->p;
    m->arg[3] = m->c;
    m->arg[4] = m->seed_x;
    m->res[0] = inputs;
    m->res[1] = parameters;
    failed = fmident_adjoint_initial(m->arg, m->res, m->iw, m->work, 0);
  }
  for (size_t i = 0; !failed && i < FMIDENT_NU; ++i) m->seed_u[i] += inputs[i];
  for (size_t i = 0; !failed && i < FMIDENT_NP; ++i) m->seed_p[i] += parameters[i];
  free(inputs);
  return failed;
#else
  (void)m;
  return 0;
#endif
}

static double times(const Request *r) {
  double sum = 0.0;
  for (size_t i = 0; i < FMIDENT_NX; ++i) {
    sum += r->weights.x[i] * r->time.x[i] + r->weights.dx[i] * r->time.dx[i];
  }
  for (size_t i = 0; i < FMIDENT_NY; ++i) sum += r->weights.y[i] * r->time.y[i];
  return sum;
}

static fmi3Status adjoint(Instance *m, const char *name, const Request *r, const double *seed,
                          double *result) {
  double t, along = 0.0;
  int timed = 0;
  if (check_unknowns(m, name, r) || check_knowns(m, name, r)) return fmi3Error;
  for (size_t k = 0; k < r->n_of; ++k) {
    if (!is_discrete(r->of[k])) *place_in(r->weights, r->of[k]) += seed[k];
  }
  for (size_t k = 0; k < r->n_to; ++k) timed |= r->to[k] == FMIDENT_VR_TIME;
  if (timed) {
    if (evaluate_along_time(m, r->time)) return fmi3Error;
    along = times(r);
  }
  if (prepare(m, &t)) return fmi3Error;
  m->arg[5] = r->weights.y;
  m->arg[6] = r->weights.dx;
  m->res[0] = m->seed_x;
  m->res[1] = m->seed_u;
  m->res[2] = m->seed_p;
  if (fmident_adjoint(m->arg, m->res, m->iw, m->work, 0)) return fmi3Error;
  for (size_t i = 0; i < FMIDENT_NX; ++i) r->weights.x[i] = m->seed_x[i] += r->weights.x[i];
  if (m->now.state == STATE_INITIALIZATION && add_initial_states(m)) return fmi3Error;
  for (size_t k = 0; k < r->n_to; ++k) {
    const unsigned q = r->to[k];
    result[k] = q == FMIDENT_VR_TIME            ? along
                : q - FMIDENT_VR_U < FMIDENT_NU ? m->seed_u[q - FMIDENT_VR_U]
                : q - FMIDENT_VR_P < FMIDENT_NP ? m->seed_p[q - FMIDENT_VR_P]
                                                : r->weights.x[q - FMIDENT_VR_X];
  }
  return check_finite(m, name, r->to, result, r->n_to) ? fmi3Error : fmi3OK;
}

fmi3Status fmi3GetAdjointDerivative(fmi3Instance instance, const fmi3ValueReference unknowns[],
                                    size_t n_unknowns, const fmi3ValueReference knowns[],
                                    size_t n_knowns, const fmi3Float64 seed[], size_t n_seed,
                                    fmi3Float64 sensitivity[], size_t n_sensitivity) {
  static const char name[] = "fmi3GetAdjointDerivative";
  Instance *m = instance;
  Request request;
  fmi3Status status = fmi3Error;
  if (fmident_refused(m, name, STATE_INITIALIZATION | STATE_RUNNING)) return fmi3Error;
  if (!make_request(m, name, &request, unknowns, n_unknowns, n_seed, knowns, n_knowns, n_sensitivity)) {
    status = adjoint(m, name, &request, seed, sensitivity);
  }
  release(&request);
  return status;
}
