/* Access by value reference. */
#include "instance.h"

#include <math.h>
#include <string.h>

static int same_bits(double a, double b) { return memcmp(&a, &b, sizeof a) == 0; }

/* After a communication step an interpolated input stands at its extrapolated value; the
 * caller then sets what it holds for the same number. A difference of rounding is not a jump. */
static int is_jump(const Instance *m, unsigned i, double after) {
  const double before = m->u[i];
  const double scale = fabs(before) + fabs(after) + fabs(m->du[i] * m->last_step);
  return !(fabs(after - before) <= 1e-12 * scale);
}

/* What the host sets can cause an event, which happens when it steps; what it reads before already
 * belongs to it. */
static void touched(Instance *m) {
#if FMIDENT_EVENTS
  fmident_undo_reading(m);
  if (m->now.state == STATE_STEP_COMPLETE) m->reading = READ_LOOKS_FIRST;
#else
  (void)m;
#endif
}

/* In event mode of Model Exchange it happens when the host asks for it. */
static void unsettle(Instance *m, int what) {
  if (m->now.state == STATE_EVENT) m->now.unsettled |= what;
}

static int prepare_reading(Instance *m) {
#if FMIDENT_EVENTS
  return fmident_prepare_reading(m);
#else
  (void)m;
  return 0;
#endif
}

static void set_input(Instance *m, unsigned i, double value) {
  if (same_bits(m->u[i], value)) return;
  touched(m);
  unsettle(m, UNSETTLED);
  m->change |= is_jump(m, i, value) ? CHANGE_JUMP : CHANGE_SLOPE;
  m->u[i] = value;
  m->now.valid &= ~VALID_OF_X_U;
  if (!(m->now.state & STATE_RUNNING)) m->now.valid &= ~VALID_X;
}

static fmi2Status refuse(const Instance *m, unsigned reference, const char *why) {
  fmident_log(m, fmi2Error, "fmi2SetReal: '%s' cannot be set: %s", fmident_names[reference], why);
  return fmi2Error;
}

static fmi2Status set_parameter(Instance *m, unsigned i, double value) {
  if (m->now.state == STATE_CONTINUOUS) {
    return refuse(m, FMIDENT_VR_P + i, "after initialization a parameter can be set in event mode only");
  }
  if (same_bits(m->p[i], value)) return fmi2OK;
  touched(m);
  unsettle(m, UNSETTLED | COUNTED_ANEW);
#if FMIDENT_EVENTS
  if (m->now.state == STATE_EVENT && fmident_take_samples(m)) return fmident_enter_error(m);
#endif
  m->p[i] = value;
  m->change |= CHANGE_RESTART;
  m->now.valid &= ~(VALID_C | VALID_DC | VALID_OF_X_U);
  if (!(m->now.state & STATE_RUNNING)) m->now.valid &= ~VALID_X;
  return fmi2OK;
}

static fmi2Status set_state(Instance *m, unsigned i, double value) {
  const unsigned reference = FMIDENT_VR_X + i;
  if (!fmident_state_settable[i]) {
    return refuse(m, reference, "its initial value is calculated from parameters or equations");
  }
  if (m->now.state & STATE_RUNNING) {
    return refuse(m, reference, "a state can be set before and during initialization only");
  }
  m->x_start[i] = value;
  m->x_set[i] = 1;
  m->change |= CHANGE_RESTART;
  m->now.valid &= ~(VALID_X | VALID_OF_X_U);
  return fmi2OK;
}

static fmi2Status unknown(const Instance *m, const char *function, unsigned reference) {
  fmident_log(m, fmi2Error, "%s: there is no Real variable with value reference %u", function,
              reference);
  return fmi2Error;
}

fmi2Status fmident_set_real(Instance *m, unsigned reference, double value) {
  if (reference >= FMIDENT_VR_END) return unknown(m, "fmi2SetReal", reference);
  if (!isfinite(value)) return refuse(m, reference, "the value is not a finite number");
  if (reference - FMIDENT_VR_U < FMIDENT_NU) {
    set_input(m, reference - FMIDENT_VR_U, value);
  } else if (reference - FMIDENT_VR_P < FMIDENT_NP) {
    return set_parameter(m, reference - FMIDENT_VR_P, value);
  } else if (reference - FMIDENT_VR_X < FMIDENT_NX) {
    return set_state(m, reference - FMIDENT_VR_X, value);
  } else if (reference - FMIDENT_VR_C < FMIDENT_NC) {
    return refuse(m, reference, "it is constant or calculated from other parameters");
  } else {
    return refuse(m, reference, "it is calculated by the model");
  }
  return fmi2OK;
}

/* Read a value that follows from states and inputs, evaluating its group if need be. */
static fmi2Status get_computed(Instance *m, int group, const double *values, unsigned first,
                               unsigned reference, double *value) {
  const unsigned i = reference - first;
  if (m->now.state == STATE_INSTANTIATED) {
    fmident_log(m, fmi2Error,
                "fmi2GetReal: '%s' has no value before initialization mode is entered",
                fmident_names[reference]);
    return fmi2Error;
  }
  if (prepare_reading(m)) return fmi2Error;
  if ((m->now.valid & group) != group) {
    if (fmident_ensure(m, group)) return fmi2Error;
    /* An output must not come from a point at which the model does not hold. */
    if (group != VALID_X && fmident_check_asserts(m)) {
      m->now.valid &= ~group;
      return fmi2Error;
    }
  }
  *value = values[i];
  return fmident_check_finite(m, values + i, 1, reference) ? fmi2Error : fmi2OK;
}

int fmident_type(unsigned reference) {
  const unsigned i = reference - FMIDENT_VR_D;
  return i < FMIDENT_NDV ? fmident_discrete_types[i] : TYPE_REAL;
}

fmi2Status fmident_get_discrete(Instance *m, const char *function, unsigned reference,
                                double *value) {
  if (m->now.state == STATE_INSTANTIATED) {
    fmident_log(m, fmi2Error, "%s: '%s' has no value before initialization mode is entered",
                function, fmident_names[reference]);
    return fmi2Error;
  }
  if (fmident_ensure(m, VALID_X) || prepare_reading(m)) return fmi2Error;
  *value = m->held[HELD_D + (reference - FMIDENT_VR_D)];
  return fmi2OK;
}

fmi2Status fmident_get_real(Instance *m, unsigned reference, double *value) {
  if (reference >= FMIDENT_VR_END || fmident_type(reference) != TYPE_REAL) {
    return unknown(m, "fmi2GetReal", reference);
  }
  if (reference >= FMIDENT_VR_D) return fmident_get_discrete(m, "fmi2GetReal", reference, value);
  if (reference - FMIDENT_VR_Y < FMIDENT_NY) {
    return get_computed(m, VALID_Y, m->y, FMIDENT_VR_Y, reference, value);
  }
  if (reference - FMIDENT_VR_X < FMIDENT_NX) {
    const unsigned i = reference - FMIDENT_VR_X;
    if (m->now.state == STATE_INSTANTIATED && fmident_state_settable[i]) {
      *value = m->x_start[i];
      return fmi2OK;
    }
    return get_computed(m, VALID_X, m->x, FMIDENT_VR_X, reference, value);
  }
  if (reference - FMIDENT_VR_U < FMIDENT_NU) {
    *value = m->u[reference - FMIDENT_VR_U];
  } else if (reference - FMIDENT_VR_P < FMIDENT_NP) {
    *value = m->p[reference - FMIDENT_VR_P];
  } else if (reference - FMIDENT_VR_C < FMIDENT_NC) {
    if (fmident_ensure(m, VALID_C)) return fmi2Error;
    *value = m->c[reference - FMIDENT_VR_C];
    if (fmident_check_finite(m, value, 1, reference)) return fmi2Error;
  } else if (reference - FMIDENT_VR_DX < FMIDENT_NX) {
    return get_computed(m, VALID_DX, m->dx, FMIDENT_VR_DX, reference, value);
  } else {
    return get_computed(m, VALID_W, m->w, FMIDENT_VR_W, reference, value);
  }
  return fmi2OK;
}

static fmi2Status not_offered(const Instance *m, unsigned reference, const char *role) {
  if (reference >= FMIDENT_VR_END) return unknown(m, "fmi2GetDirectionalDerivative", reference);
  fmident_log(m, fmi2Error, "fmi2GetDirectionalDerivative: '%s' cannot be %s", fmident_names[reference],
              role);
  return fmi2Error;
}

static fmi2Status read_seeds(Instance *m, const unsigned *known, size_t n_known,
                             const double *seed) {
  memset(m->seed_x, 0, FMIDENT_NX * sizeof(double));
  memset(m->seed_u, 0, FMIDENT_NU * sizeof(double));
  memset(m->seed_p, 0, FMIDENT_NP * sizeof(double));
  for (size_t k = 0; k < n_known; ++k) {
    const unsigned r = known[k];
    const int initializing = m->now.state == STATE_INITIALIZATION;
    if (r - FMIDENT_VR_U < FMIDENT_NU) {
      m->seed_u[r - FMIDENT_VR_U] += seed[k];
    } else if (r - FMIDENT_VR_P < FMIDENT_NP) {
      m->seed_p[r - FMIDENT_VR_P] += seed[k];
    } else if (r - FMIDENT_VR_X < FMIDENT_NX &&
               (!initializing || fmident_state_settable[r - FMIDENT_VR_X])) {
      m->seed_x[r - FMIDENT_VR_X] += seed[k];
    } else {
      return not_offered(m, r, "a known here: use inputs, parameters or states");
    }
  }
  return fmi2OK;
}

#if FMIDENT_STATES
int fmident_initial_derivative(Instance *m, double *derivative) {
  double t = m->now.t;
  m->arg[0] = &t;
  m->arg[1] = m->u;
  m->arg[2] = m->p;
  m->arg[3] = m->c;
  m->arg[4] = m->seed_u;
  m->arg[5] = m->seed_p;
  m->res[0] = derivative;
  return fmident_directional_initial(m->arg, m->res, m->iw, m->work, 0);
}
#endif

/* In initialization mode the states that are calculated follow inputs and parameters. */
static int add_initial_states(Instance *m) {
#if FMIDENT_STATES
  if (fmident_initial_derivative(m, m->seed_dx)) return 1;
  for (size_t i = 0; i < FMIDENT_NX; ++i) {
    if (!fmident_state_settable[i]) m->seed_x[i] = m->seed_dx[i];
  }
#else
  (void)m;
#endif
  return 0;
}

fmi2Status fmident_directional_derivative(Instance *m, const unsigned *unknown_,
                                          size_t n_unknown, const unsigned *known, size_t n_known,
                                          const double *seed, double *result) {
  double t = m->now.t;
  if (read_seeds(m, known, n_known, seed) != fmi2OK) return fmi2Error;
  if (fmident_ensure(m, VALID_X) || prepare_reading(m)) return fmi2Error;
  if (m->now.state == STATE_INITIALIZATION && add_initial_states(m)) return fmi2Error;
  if (fmident_arguments(m, &t, m->x, m->u)) {
    fmident_log(m, fmi2Error, "time %.17g: %s", t, m->trouble);
    return fmi2Error;
  }
  m->arg[5] = m->seed_x;
  m->arg[6] = m->seed_u;
  m->arg[7] = m->seed_p;
  m->res[0] = m->seed_y;
  m->res[1] = m->seed_dx;
  if (fmident_directional(m->arg, m->res, m->iw, m->work, 0)) return fmi2Error;
  for (size_t k = 0; k < n_unknown; ++k) {
    const unsigned r = unknown_[k];
    if (r - FMIDENT_VR_Y < FMIDENT_NY) {
      result[k] = m->seed_y[r - FMIDENT_VR_Y];
    } else if (r - FMIDENT_VR_DX < FMIDENT_NX) {
      result[k] = m->seed_dx[r - FMIDENT_VR_DX];
    } else if (r - FMIDENT_VR_X < FMIDENT_NX) {
      result[k] = m->seed_x[r - FMIDENT_VR_X];
    } else if (r - FMIDENT_VR_D < FMIDENT_NDV && fmident_type(r) == TYPE_REAL) {
      result[k] = 0.0; /* until the next event */
    } else {
      return not_offered(m, r, "an unknown here: use outputs, state derivatives or states");
    }
    if (!isfinite(result[k])) {
      fmident_log(m, fmi2Error, "time %.17g: a directional derivative of '%s' is not finite",
                  m->now.t, fmident_names[r]);
      return fmi2Error;
    }
  }
  return fmi2OK;
}
