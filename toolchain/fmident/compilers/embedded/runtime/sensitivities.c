/* What is known of an instance's sensitivities, and how outputs follow by the chain rule. */
#include "sensitivities.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integrator.h"

#define N ((int)FMIDENT_NX)

#define LARGER(a, b) ((a) > (b) ? (a) : (b))

/* The states are known to their tolerance times their size or nominal value. So that is enough of
 * a sensitivity times the size of the known, or this part of it, since it is the local one. */
static const double least_part = 0.01;

Sensitivities *fmident_sensitivities_new(void) { return calloc(1, sizeof(Sensitivities)); }

static void release(Sensitivities *s) {
  free(s->known);
  free(s->block);
  free(s->pivots);
#if FMIDENT_STATES
  fmident_refined_delete(s->refined);
  fmident_refined_delete(s->cut);
#endif
  free(s->kept);
  memset(s, 0, sizeof *s);
}

void fmident_sensitivities_delete(Sensitivities *s) {
  if (!s) return;
  release(s);
  free(s);
}

int fmident_sensitivities_resize(Sensitivities *s, size_t count, const unsigned *known) {
  const size_t columns = count + (N > 0 || FMIDENT_NH > 0); /* else there is no motion */
  const size_t stride = (columns + FMIDENT_LANES - 1) / FMIDENT_LANES * FMIDENT_LANES;
  const size_t matrix = N * stride, outputs = FMIDENT_NY * stride;
  const size_t stages = LARGER(8 * matrix, 5 * matrix + 9 * N * N + N) + outputs;
  const size_t rows = LARGER(LARGER(N + FMIDENT_ND, FMIDENT_NR), 2 * FMIDENT_NS) * stride;
  const size_t held = FMIDENT_ND * stride;
  const size_t total = 6 * matrix + (1 + FMIDENT_NU + FMIDENT_NP + FMIDENT_NC) * stride + 2 * N + stages +
                       4 * FMIDENT_MODES + FMIDENT_SWITCHED_ELEMENTS +
                       (FMIDENT_NH + 3) * stride + rows + 2 * (held + FMIDENT_NR + matrix);
  if (count != s->count) {
    double *next;
    release(s);
    if (count == 0) return 0;
    s->known = malloc(count * sizeof *s->known);
    s->pivots = malloc((6 * FMIDENT_NX + 1) * sizeof *s->pivots);
    s->block = calloc(total + 1, sizeof *s->block);
    s->kept = malloc(sizeof *s);
    if (!s->known || !s->pivots || !s->block || !s->kept) {
      release(s);
      return 1;
    }
    s->count = count;
    s->stride = stride;
    next = s->block;
#define TAKE(field, size) (s->field = next, next += (size))
    TAKE(states, matrix); /* the first two are kept in a snapshot */
    TAKE(sizes, matrix);
    TAKE(slope, matrix);
    TAKE(along_p, FMIDENT_NP * stride);
    TAKE(along_c, FMIDENT_NC * stride);
    TAKE(held, FMIDENT_NH * stride);
    TAKE(along_t, stride);
    TAKE(along_u, FMIDENT_NU * stride);
    TAKE(floors, matrix);
    TAKE(before, 2 * matrix);
    TAKE(stages, stages);
    TAKE(elements, FMIDENT_SWITCHED_ELEMENTS);
    TAKE(vector, N);
    TAKE(motion, N);
    TAKE(modes, FMIDENT_MODES);
    TAKE(modes_after, FMIDENT_MODES);
    TAKE(modes_between, FMIDENT_MODES);
    TAKE(indicators, FMIDENT_MODES);
    TAKE(held_before, held);
    TAKE(shift, stride);
    TAKE(last_shift, stride);
    TAKE(rows, rows);
    TAKE(tracked, 2 * FMIDENT_NR);
    TAKE(trial, 2 * matrix + held + stride);
#undef TAKE
    if (FMIDENT_NH > 0) s->held += HELD_D * stride;
  }
  s->crossing.at = s->crossing.t = -INFINITY;
  if ((N > 0 || FMIDENT_NH > 0) && count > 0) s->along_t[count] = 1.0;
  if (known && count > 0) memcpy(s->known, known, count * sizeof *known);
  s->lost[0] = '\0';
  fmident_sensitivities_restart(s);
  return 0;
}

void fmident_sensitivities_restart(Sensitivities *s) {
  s->slope_known = s->modes_known = s->modes_ahead = s->apart = s->tracks = 0;
  s->error_before = s->part = s->radius = 0.0;
  for (int i = 0; s->count > 0 && i < N; ++i) {
    s->vector[i] = fabs(fmident_nominals[i]);
    s->sizes[(size_t)i * s->stride + s->count] = 0.0;
  }
}

void fmident_sensitivities_lose(Sensitivities *s, const char *format, ...) {
  va_list arguments;
  if (s->lost[0]) return; /* the first reason is the one that counts */
  va_start(arguments, format);
  vsnprintf(s->lost, sizeof s->lost, format, arguments);
  va_end(arguments);
}

/* By how much a known may change: as much as its own size. */
static double size_of_known(const Instance *m, unsigned reference) {
  const unsigned q = reference - FMIDENT_VR_P, start = reference - FMIDENT_VR_X;
  const double size = q < FMIDENT_NP ? fabs(m->p[q])
                                     : fmax(fabs(m->x_start[start]), fabs(fmident_nominals[start]));
  return size > 0.0 ? size : 1.0;
}

/* How parameters, and what is calculated from them, follow the knowns. */
static int ensure_directions(Instance *m) {
  Sensitivities *s = m->sensitivities;
  if (m->now.valid & VALID_DC) return 0;
  if (fmident_ensure(m, VALID_C)) return 1;
  memset(s->along_p, 0, FMIDENT_NP * s->stride * sizeof(double));
  memset(s->along_c, 0, FMIDENT_NC * s->stride * sizeof(double));
  const Elements *places = &fmident_calculated_elements;
  double elements[FMIDENT_CALCULATED_ELEMENTS + 1];
  m->arg[0] = m->p;
  m->res[0] = elements;
  if (fmident_calculated_derivatives(m->arg, m->res, m->iw, m->work, 0)) return 1;
  for (size_t k = 0; k < N * s->stride; ++k) s->floors[k] = INFINITY; /* no known's */
  for (size_t j = 0; j < s->count; ++j) {
    const unsigned q = s->known[j] - FMIDENT_VR_P;
    const double least = least_part / size_of_known(m, s->known[j]);
    for (int i = 0; i < N; ++i) s->floors[(size_t)i * s->stride + j] = least * fabs(fmident_nominals[i]);
    if (q >= FMIDENT_NP) continue;
    s->along_p[q * s->stride + j] = 1.0;
    for (int e = places->starts[q]; e < places->starts[q + 1]; ++e) {
      s->along_c[(size_t)places->rows[e] * s->stride + j] = elements[e];
    }
  }
  m->now.valid |= VALID_DC;
  return 0;
}

int fmident_along(Instance *m, fmident_Lanes *function, double since, const double *x,
                  const double *states, double *result) {
  return fmident_lanes(m, function, since, x, m->sensitivities->modes, states, result);
}

int fmident_lanes(Instance *m, fmident_Lanes *function, double since, const double *x,
                  const double *sixth, const double *states, double *result) {
  const Sensitivities *s = m->sensitivities;
  const double t = m->now.t + since;
  if (ensure_directions(m)) return 1;
  if (fmident_arguments(m, &t, x, fmident_inputs_at(m, since))) return 1;
  m->arg[5] = sixth;
  for (size_t lane = 0; lane < s->stride; lane += FMIDENT_LANES) {
    m->arg[6] = states + lane;
    m->arg[7] = s->along_p + lane;
    m->arg[8] = s->along_c + lane;
    m->arg[9] = s->along_t + lane;
    m->arg[10] = s->along_u + lane;
    m->arg[11] = s->held_before + lane;
    m->res[0] = result + lane;
    if (function(m->arg, m->res, (long)s->stride)) return 1;
  }
  return 0;
}

int fmident_elements_at(Instance *m, double since, const double *x) {
  const double t = m->now.t + since;
  if (fmident_arguments(m, &t, x, fmident_inputs_at(m, since))) return 1;
  m->arg[5] = m->sensitivities->modes;
  m->res[0] = m->sensitivities->elements;
  return fmident_switched_jacobian(m->arg, m->res, m->iw, m->work, 0);
}

/* Of the absolute values of the elements, which none of the matrix itself exceeds: the bound of
 * Collatz and Wielandt with a vector that gets closer to the eigenvector with every call. */
double fmident_sensitivities_radius(Sensitivities *s) {
  const Elements *elements = &fmident_switched_elements;
  double sums[N + 1], radius = 0.0, most = 0.0;
  memset(sums, 0, sizeof sums);
  for (int column = 0; column < N; ++column) {
    for (int e = elements->starts[column]; e < elements->starts[column + 1]; ++e) {
      sums[elements->rows[e]] += fabs(s->elements[e]) * s->vector[column];
    }
  }
  for (int i = 0; i < N; ++i) {
    radius = fmax(radius, sums[i] / s->vector[i]);
    s->vector[i] = sqrt(s->vector[i] * sums[i]);
    most = fmax(most, s->vector[i]);
  }
  for (int i = 0; i < N; ++i) s->vector[i] = fmax(s->vector[i] / most, 1e-12);
  return radius;
}

int fmident_sensitivities_start(Instance *m) {
  Sensitivities *s = m->sensitivities;
  s->lost[0] = '\0';
  s->crossing.at = s->crossing.t = -INFINITY;
  fmident_sensitivities_restart(s);
#if FMIDENT_EVENTS
  m->now.valid &= ~VALID_X; /* they are found together with what is held */
#endif
  if (fmident_ensure(m, VALID_C | VALID_X)) return 1;
#if FMIDENT_STATES && !FMIDENT_EVENTS
  memset(s->states, 0, N * s->stride * sizeof *s->states);
  memset(s->along_u, 0, FMIDENT_NU * s->stride * sizeof *s->along_u);
  memset(m->seed_u, 0, FMIDENT_NU * sizeof(double));
  for (size_t j = 0; j < s->count; ++j) {
    const unsigned q = s->known[j] - FMIDENT_VR_P, start = s->known[j] - FMIDENT_VR_X;
    if (start < FMIDENT_NX) {
      s->states[start * s->stride + j] = 1.0;
      continue;
    }
    memset(m->seed_p, 0, FMIDENT_NP * sizeof(double));
    m->seed_p[q] = 1.0;
    if (fmident_initial_derivative(m, m->seed_dx)) return 1;
    for (size_t i = 0; i < FMIDENT_NX; ++i) {
      if (!fmident_state_settable[i]) s->states[i * s->stride + j] = m->seed_dx[i];
    }
  }
  for (size_t k = 0; k < N * s->stride; ++k) s->sizes[k] = fabs(s->states[k]);
#endif
  return 0;
}

int fmident_is_known(unsigned reference) {
  if (FMIDENT_CONSTRAINED) return 0; /* the way back of the states would have to be differentiated */
  const unsigned start = reference - FMIDENT_VR_X;
  if (reference - FMIDENT_VR_P < FMIDENT_NP) return 1;
  return start < FMIDENT_NX && fmident_state_settable[start];
}

static fmi2Status refuse_known(const Instance *m, unsigned reference) {
  static const char name[] = "fmidentSetSensitivityVariables";
  if (reference >= FMIDENT_VR_END) {
    fmident_log(m, fmi2Error, "%s: there is no Real variable with value reference %u", name,
                reference);
  } else {
    fmident_log(m, fmi2Error,
                "%s: '%s' is neither a parameter nor the start value of a state that can be set",
                name, fmident_names[reference]);
  }
  return fmi2Error;
}

fmi2Status fmidentSetSensitivityVariables(fmi2Component c, const fmi2ValueReference known[],
                                          size_t n) {
  Instance *m = c;
  if (fmident_is_of_other(m, "fmidentSetSensitivityVariables", fmi2CoSimulation) ||
      fmident_refused(m, "fmidentSetSensitivityVariables",
                      STATE_INSTANTIATED | STATE_INITIALIZATION)) {
    return fmi2Error;
  }
  for (size_t j = 0; j < n; ++j) {
    if (!fmident_is_known(known[j])) return refuse_known(m, known[j]);
  }
  if (fmident_sensitivities_resize(m->sensitivities, n, known)) {
    fmident_log(m, fmi2Error, "fmidentSetSensitivityVariables: out of memory");
    return fmi2Error;
  }
  m->now.valid &= ~VALID_DC;
  return fmi2OK;
}

/* One value by its derivative along one known. */
static int along(Instance *m, unsigned reference, size_t j, double *value) {
  const Sensitivities *s = m->sensitivities;
  const unsigned q = s->known[j] - FMIDENT_VR_P;
  double t = m->now.t, held[FMIDENT_NH + 1];
  memset(held, 0, sizeof held);
  for (size_t i = 0; i < FMIDENT_ND; ++i) held[HELD_D + i] = s->held[i * s->stride + j];
  memset(m->seed_p, 0, FMIDENT_NP * sizeof(double));
  if (q < FMIDENT_NP) m->seed_p[q] = 1.0;
  for (size_t i = 0; i < FMIDENT_NX; ++i) m->seed_x[i] = s->states[i * s->stride + j];
  if (fmident_arguments(m, &t, m->x, m->u)) return 1;
  m->arg[5] = m->seed_x;
  m->arg[6] = m->seed_p;
  m->arg[7] = held;
  m->res[0] = m->seed_w;
  m->res[1] = m->seed_c;
  if (fmident_directional_locals(m->arg, m->res, m->iw, m->work, 0)) return 1;
  *value = reference < FMIDENT_VR_W ? m->seed_c[reference - FMIDENT_VR_C]
                                    : m->seed_w[reference - FMIDENT_VR_W];
  return 0;
}

/* Of one unknown, as column of a matrix of `stride` rows. */
static int get_one(Instance *m, unsigned reference, const double *outputs, const double *slopes,
                   double *values, size_t stride) {
  const Sensitivities *s = m->sensitivities;
  const double *from = NULL;
  if (reference - FMIDENT_VR_Y < FMIDENT_NY) {
    from = outputs + (reference - FMIDENT_VR_Y) * s->stride;
  } else if (reference - FMIDENT_VR_X < FMIDENT_NX) {
    from = s->states + (reference - FMIDENT_VR_X) * s->stride;
  } else if (reference - FMIDENT_VR_DX < FMIDENT_NX) {
    from = slopes + (reference - FMIDENT_VR_DX) * s->stride;
  } else if (reference >= FMIDENT_VR_D) {
    from = s->held + (reference - FMIDENT_VR_D) * s->stride; /* 0 of Integer and Boolean ones */
  }
  if (from) {
    for (size_t j = 0; j < s->count; ++j) values[j * stride] = from[j];
    return 0;
  }
  for (size_t j = 0; j < s->count; ++j) {
    values[j * stride] = s->known[j] == reference; /* 0 of inputs */
    if (reference >= FMIDENT_VR_C && along(m, reference, j, &values[j * stride])) return 1;
  }
  return 0;
}

static fmi2Status fail(Instance *m, const char *reason) {
  fmident_log(m, fmi2Discard, "fmidentGetSensitivities: time %.17g: %s", m->now.t, reason);
  return fmi2Discard;
}

fmi2Status fmidentGetSensitivities(fmi2Component c, const fmi2ValueReference unknown[], size_t n,
                                   fmi2Real values[]) {
  Instance *m = c;
  Sensitivities *s = m->sensitivities;
  double *outputs = NULL, *slopes = NULL;
  int needs_outputs = 0, needs_slopes = 0;
  if (fmident_refused(m, "fmidentGetSensitivities",
                      STATE_INITIALIZATION | STATE_STEP_COMPLETE | STATE_TERMINATED)) {
    return fmi2Error;
  }
  for (size_t i = 0; i < n; ++i) {
    if (unknown[i] >= FMIDENT_VR_END) {
      fmident_log(m, fmi2Error,
                  "fmidentGetSensitivities: there is no Real variable with value reference %u",
                  unknown[i]);
      return fmi2Error;
    }
    needs_outputs |= unknown[i] - FMIDENT_VR_Y < FMIDENT_NY;
    needs_slopes |= unknown[i] - FMIDENT_VR_DX < FMIDENT_NX;
  }
  if (s->count == 0 || n == 0) return fmi2OK;
  if (m->now.state == STATE_INITIALIZATION && fmident_sensitivities_start(m)) return fmi2Error;
#if FMIDENT_EVENTS
  if (fmident_ensure(m, VALID_C | VALID_X) || fmident_prepare_reading(m)) return fmi2Error;
  if (!s->lost[0] && fmident_saltation_here(m)) return fail(m, fmident_saltation_here(m));
#endif
  if (s->lost[0]) return fail(m, s->lost);
  if (fmident_ensure(m, VALID_C | VALID_X)) return fmi2Error;
  if (needs_outputs) {
    outputs = s->stages;
    if (fmident_along(m, fmident_outputs_along, 0.0, m->x, s->states, outputs)) {
      return fail(m, "the derivatives of the outputs cannot be evaluated");
    }
  }
#if FMIDENT_STATES
  if (needs_slopes) {
    double t = m->now.t;
    s->modes_known = 0;
    if (fmident_arguments(m, &t, m->x, m->u)) return fail(m, m->trouble);
    m->res[0] = s->indicators;
    m->res[1] = s->modes;
    if (fmident_switches(m->arg, m->res, m->iw, m->work, 0)) {
      return fail(m, "the conditions cannot be evaluated");
    }
    slopes = s->stages + FMIDENT_NY * s->stride;
    if (fmident_along(m, fmident_rhs_along, 0.0, m->x, s->states, slopes)) {
      return fail(m, "the derivatives of the state derivatives cannot be evaluated");
    }
  }
#endif
  for (size_t i = 0; i < n; ++i) {
    if (get_one(m, unknown[i], outputs, slopes, values + i, n)) {
      return fail(m, "a derivative cannot be evaluated");
    }
    for (size_t j = 0; j < s->count; ++j) {
      const double value = values[i + n * j];
      if (isfinite(value)) continue;
      fmident_log(m, fmi2Discard,
                  "fmidentGetSensitivities: time %.17g: the derivative of '%s' with respect to "
                  "'%s' is %s",
                  m->now.t, fmident_names[unknown[i]], fmident_names[s->known[j]],
                  isnan(value) ? "not a number" : "infinite");
      return fmi2Discard;
    }
  }
  return fmi2OK;
}
