/* FMI 2.0: life cycle and variables, and the steps of Co-Simulation. */
#include "sensitivities.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *state_name(int state) {
  switch (state) {
    case STATE_INSTANTIATED: return "instantiated";
    case STATE_INITIALIZATION: return "in initialization mode";
    case STATE_STEP_COMPLETE: return "initialized";
    case STATE_EVENT: return "in event mode";
    case STATE_CONTINUOUS: return "in continuous-time mode";
    case STATE_TERMINATED: return "terminated";
    default: return "in error";
  }
}

int fmident_refused(const Instance *m, const char *function, int allowed) {
  if (m->now.state & allowed) return 0;
  fmident_log(m, fmi2Error, "%s cannot be called while the FMU is %s%s", function,
              state_name(m->now.state),
              m->now.state == STATE_ERROR ? ": call fmi2Reset first" : "");
  return 1;
}

int fmident_is_of_other(const Instance *m, const char *function, fmi2Type type) {
  if (m->now.exchange == (type == fmi2ModelExchange)) return 0;
  fmident_log(m, fmi2Error, "%s cannot be called: the FMU was instantiated for %s", function,
              m->now.exchange ? "Model Exchange" : "Co-Simulation");
  return 1;
}

fmi2Status fmident_enter_error(Instance *m) {
  m->now.state = STATE_ERROR;
  return fmi2Error;
}

const char *fmi2GetTypesPlatform(void) { return fmi2TypesPlatform; }

const char *fmi2GetVersion(void) { return fmi2Version; }

static int category_mask(const char *category) {
  if (strcmp(category, "logStatusWarning") == 0) return LOG_WARNING;
  if (strcmp(category, "logStatusError") == 0) return LOG_ERROR;
  return 0;
}

/* There are no debug messages: what remains are warnings and errors, of which the caller
 * can choose; with logging off both are still given, since they are the reason of a status. */
fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean logging_on, size_t n,
                               const fmi2String categories[]) {
  Instance *m = c;
  int mask = 0;
  for (size_t i = 0; i < n; ++i) {
    const int bit = categories[i] ? category_mask(categories[i]) : 0;
    if (!bit) {
      fmident_log(m, fmi2Error, "fmi2SetDebugLogging: there is no log category '%s'",
                  categories[i] ? categories[i] : "");
      return fmi2Error;
    }
    mask |= bit;
  }
  m->log_mask = logging_on && mask ? mask : LOG_ALL;
  return fmi2OK;
}

fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid,
                              fmi2String resources, const fmi2CallbackFunctions *callbacks,
                              fmi2Boolean visible, fmi2Boolean logging_on) {
  Instance *m;
  Instance nobody; /* logs for an instance that does not exist yet */
  (void)resources, (void)visible, (void)logging_on;
  if (!callbacks) return NULL;
  memset(&nobody, 0, sizeof nobody);
  nobody.callbacks = *callbacks;
  nobody.log_mask = LOG_ALL;
  nobody.name = (char *)(name ? name : "");
  if (!name || !name[0]) {
    fmident_log(&nobody, fmi2Error, "fmi2Instantiate: the instance has no name");
    return NULL;
  }
  if (type != fmi2CoSimulation && (type != fmi2ModelExchange || FMIDENT_CONSTRAINED)) {
    fmident_log(&nobody, fmi2Error, "fmi2Instantiate: this FMU is for %s",
                FMIDENT_CONSTRAINED ? "Co-Simulation only: its states are bound to each other"
                                    : "Co-Simulation and Model Exchange only");
    return NULL;
  }
  if (!guid || strcmp(guid, fmident_guid) != 0) {
    fmident_log(&nobody, fmi2Error,
                "fmi2Instantiate: the GUID '%s' is not the one of this binary, '%s'",
                guid ? guid : "", fmident_guid);
    return NULL;
  }
  m = fmident_new(name);
  if (!m) {
    fmident_log(&nobody, fmi2Error, "fmi2Instantiate: out of memory");
    return NULL;
  }
  m->callbacks = *callbacks;
  m->now.exchange = type == fmi2ModelExchange;
  return m;
}

void fmi2FreeInstance(fmi2Component c) { fmident_delete(c); }

fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean tolerance_defined, fmi2Real tolerance,
                               fmi2Real start, fmi2Boolean stop_defined, fmi2Real stop) {
  Instance *m = c;
  if (fmident_refused(m, "fmi2SetupExperiment", STATE_INSTANTIATED)) return fmi2Error;
  if (!isfinite(start)) {
    fmident_log(m, fmi2Error, "fmi2SetupExperiment: the start time is not a finite number");
    return fmi2Error;
  }
  if (stop_defined && !(stop >= start)) {
    fmident_log(m, fmi2Error, "fmi2SetupExperiment: the stop time %g is before the start time %g",
                stop, start);
    return fmi2Error;
  }
  if (tolerance_defined && !(tolerance >= 1e-14 && tolerance < 1.0)) {
    fmident_log(m, fmi2Error,
                "fmi2SetupExperiment: the tolerance %g is not usable: give 1e-14 to 1", tolerance);
    return fmi2Error;
  }
  memset(&m->now.control, 0, sizeof m->now.control);
  m->now.t = start;
  m->now.has_stop_time = stop_defined != 0;
  m->now.stop_time = stop_defined ? stop : 0.0;
  m->now.tolerance = tolerance_defined ? tolerance : fmident_default_tolerance;
  m->now.valid = 0;
  m->change |= CHANGE_RESTART;
  return fmi2OK;
}

#if FMIDENT_ITERATIONS || FMIDENT_CONSTRAINED
static fmi2Status report(Instance *m) {
  fmident_log(m, fmi2Error, "time %.17g: %s", m->now.t, m->trouble);
  return fmident_enter_error(m);
}
#endif

fmi2Status fmi2EnterInitializationMode(fmi2Component c) {
  Instance *m = c;
  if (fmident_refused(m, "fmi2EnterInitializationMode", STATE_INSTANTIATED)) return fmi2Error;
  m->now.state = STATE_INITIALIZATION;
  return fmi2OK;
}

fmi2Status fmi2ExitInitializationMode(fmi2Component c) {
  Instance *m = c;
  if (fmident_refused(m, "fmi2ExitInitializationMode", STATE_INITIALIZATION)) return fmi2Error;
  if (fmident_ensure(m, VALID_C | VALID_X)) return fmident_enter_error(m);
#if FMIDENT_EVENTS
  if (fmident_check_asserts(m)) return fmident_enter_error(m); /* initial() is true for the last time */
  if (m->sensitivities->count > 0 && fmident_sensitivities_start(m)) return fmident_enter_error(m);
  if (fmident_events_begin(m)) return fmident_enter_error(m);
#endif
#if FMIDENT_CONSTRAINED
  if (fmident_check_start(m)) return report(m);
  m->now.valid &= ~VALID_OF_X_U;
#endif
#if FMIDENT_ITERATIONS
  m->now.valid &= ~VALID_OF_X_U;
  if (fmident_keep_loops(m, 0.0, m->x)) return report(m);
#endif
  if (fmident_check_asserts(m)) return fmident_enter_error(m);
  if (FMIDENT_NH == 0 && m->sensitivities->count > 0 && fmident_sensitivities_start(m)) {
    return fmident_enter_error(m);
  }
  m->now.state = m->now.exchange ? STATE_EVENT : STATE_STEP_COMPLETE;
  return fmi2OK;
}

fmi2Status fmi2Terminate(fmi2Component c) {
  Instance *m = c;
  if (fmident_refused(m, "fmi2Terminate", STATE_RUNNING)) return fmi2Error;
#if FMIDENT_EVENTS
  fmident_undo_reading(m);
  if (fmident_ensure(m, VALID_C) || fmident_events_end(m)) return fmident_enter_error(m);
#endif
  m->now.state = STATE_TERMINATED;
  return fmi2OK;
}

fmi2Status fmi2Reset(fmi2Component c) {
  fmident_set_defaults(c);
  return fmi2OK;
}

fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Real value[]) {
  Instance *m = c;
  for (size_t i = 0; i < n; ++i) {
    if (fmident_get_real(m, vr[i], &value[i]) != fmi2OK) return fmi2Error;
  }
  return fmi2OK;
}

fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n,
                       const fmi2Real value[]) {
  Instance *m = c;
  if (fmident_refused(m, "fmi2SetReal", STATE_INSTANTIATED | STATE_INITIALIZATION | STATE_RUNNING)) {
    return fmi2Error;
  }
  for (size_t i = 0; i < n; ++i) {
    if (fmident_set_real(m, vr[i], value[i]) != fmi2OK) return fmi2Error;
  }
  return fmi2OK;
}

static fmi2Status no_such_type(const Instance *m, const char *function, const char *type,
                               const fmi2ValueReference vr[], size_t n) {
  if (n == 0) return fmi2OK;
  fmident_log(m, fmi2Error, "%s: there is no %s variable with value reference %u", function, type,
              vr[0]);
  return fmi2Error;
}

/* One discrete variable of a type. */
static fmi2Status get_typed(Instance *m, const char *function, int type, const char *type_name,
                            fmi2ValueReference vr, double *value) {
  if (fmident_type(vr) != type) return no_such_type(m, function, type_name, &vr, 1);
  return fmident_get_discrete(m, function, vr, value);
}

fmi2Status fmi2GetInteger(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Integer v[]) {
  for (size_t i = 0; i < n; ++i) {
    double value;
    if (get_typed(c, "fmi2GetInteger", TYPE_INTEGER, "Integer", vr[i], &value) != fmi2OK) return fmi2Error;
    v[i] = (fmi2Integer)value;
  }
  return fmi2OK;
}

fmi2Status fmi2GetBoolean(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Boolean v[]) {
  for (size_t i = 0; i < n; ++i) {
    double value;
    if (get_typed(c, "fmi2GetBoolean", TYPE_BOOLEAN, "Boolean", vr[i], &value) != fmi2OK) return fmi2Error;
    v[i] = value != 0.0 ? fmi2True : fmi2False;
  }
  return fmi2OK;
}

/* None of these can be set, and there are no texts. */
#define NO_SUCH_TYPE(name, qualifier, c_type, type)                                             \
  fmi2Status name(fmi2Component c, const fmi2ValueReference vr[], size_t n, qualifier c_type v[]) { \
    (void)v;                                                                                    \
    return no_such_type(c, #name, type, vr, n);                                                 \
  }
NO_SUCH_TYPE(fmi2GetString, , fmi2String, "String")
NO_SUCH_TYPE(fmi2SetInteger, const, fmi2Integer, "Integer")
NO_SUCH_TYPE(fmi2SetBoolean, const, fmi2Boolean, "Boolean")
NO_SUCH_TYPE(fmi2SetString, const, fmi2String, "String")

/* A derivative holds until it is set again, over several steps if need be. */
fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n,
                                       const fmi2Integer order[], const fmi2Real value[]) {
  static const char name[] = "fmi2SetRealInputDerivatives";
  Instance *m = c;
  if (fmident_is_of_other(m, name, fmi2CoSimulation) ||
      fmident_refused(m, name, STATE_INSTANTIATED | STATE_INITIALIZATION | STATE_STEP_COMPLETE)) {
    return fmi2Error;
  }
  for (size_t i = 0; i < n; ++i) {
    const unsigned u = vr[i] - FMIDENT_VR_U;
    if (u >= FMIDENT_NU) {
      fmident_log(m, fmi2Error, "%s: value reference %u is not an input", name, vr[i]);
      return fmi2Error;
    }
    if (order[i] != 1) {
      fmident_log(m, fmi2Error, "%s: derivatives of order %d are not supported, only of order 1",
                  name, order[i]);
      return fmi2Error;
    }
    if (!isfinite(value[i])) {
      fmident_log(m, fmi2Error, "%s: the derivative of '%s' is not a finite number", name,
                  fmident_names[vr[i]]);
      return fmi2Error;
    }
    if (m->du[u] != value[i]) {
      m->du[u] = value[i];
      m->change |= CHANGE_SLOPE;
    }
  }
  m->interpolating = 0;
  for (size_t i = 0; i < FMIDENT_NU; ++i) m->interpolating |= m->du[i] != 0.0;
  return fmi2OK;
}

fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n,
                                        const fmi2Integer order[], fmi2Real value[]) {
  (void)vr, (void)order, (void)value;
  if (n == 0) return fmi2OK;
  fmident_log(c, fmi2Error,
              "fmi2GetRealOutputDerivatives: not supported (maxOutputDerivativeOrder is 0)");
  return fmi2Error;
}

static int bad_step(const Instance *m, double current, double size) {
  const double slack = 1e-6 * fabs(size) + 1e-12 * fabs(m->now.t);
  if (!isfinite(current) || !(size > 0.0) || !isfinite(size)) {
    fmident_log(m, fmi2Error,
                "fmi2DoStep: step size %g from %g: the size must be a positive number", size,
                current);
    return 1;
  }
  if (fabs(current - m->now.t) > slack) {
    fmident_log(m, fmi2Error, "fmi2DoStep: the step starts at %.17g but the FMU stands at %.17g",
                current, m->now.t);
    return 1;
  }
  if (m->now.has_stop_time && current + size > m->now.stop_time + slack) {
    fmident_log(m, fmi2Error, "fmi2DoStep: the step to %.17g goes past the stop time %.17g",
                current + size, m->now.stop_time);
    return 1;
  }
  return 0;
}

fmi2Status fmi2DoStep(fmi2Component c, fmi2Real current, fmi2Real size, fmi2Boolean no_set_prior) {
  Instance *m = c;
  const double t_end = current + size;
  (void)no_set_prior;
  if (fmident_is_of_other(m, "fmi2DoStep", fmi2CoSimulation) ||
      fmident_refused(m, "fmi2DoStep", STATE_STEP_COMPLETE) || bad_step(m, current, size)) {
    return fmi2Error;
  }
#if FMIDENT_EVENTS
  fmident_undo_reading(m);
#endif
  if (fmident_ensure(m, VALID_C)) return fmident_enter_error(m);
#if FMIDENT_EVENTS
  fmident_saltation_input(m);
  if (fmident_input_event(m)) return fmident_enter_error(m);
  m->reading = READ_IS_CURRENT;
#endif
  if (fmident_check_asserts(m)) return fmident_enter_error(m);
#if FMIDENT_STATES
  if (t_end > m->now.t && fmident_integrate(m, t_end)) return fmident_enter_error(m);
#elif FMIDENT_EVENTS
  if (t_end > m->now.t && fmident_pass_events(m, t_end - m->now.t)) return fmident_enter_error(m);
#endif
  if (m->interpolating) {
    for (size_t i = 0; i < FMIDENT_NU; ++i) m->u[i] += m->du[i] * (t_end - m->now.t);
  }
  m->last_step = t_end - m->now.t;
  m->now.t = t_end;
  m->now.valid &= ~VALID_OF_X_U;
#if FMIDENT_ITERATIONS
  if (fmident_keep_loops(m, 0.0, m->x)) return report(m);
#endif
#if FMIDENT_EVENTS
  /* The end may lie a rounding error after where the step has ended. */
  if (fmident_has_switched(m, 0.0, m->x) && fmident_input_event(m)) return fmident_enter_error(m);
#endif
#if FMIDENT_STATES
  if (fmident_check_asserts(m)) return fmident_enter_error(m);
#endif
  return fmi2OK;
}

fmi2Status fmi2CancelStep(fmi2Component c) {
  fmident_log(c, fmi2Error, "fmi2CancelStep: steps are not asynchronous, there is none to cancel");
  return fmi2Error;
}

static fmi2Status no_status(const Instance *m, const char *function) {
  fmident_log(m, fmi2Error, "%s: this status is not available", function);
  return fmi2Discard;
}

fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Status *value) {
  (void)kind, (void)value;
  return no_status(c, "fmi2GetStatus"); /* only asynchronous steps have one */
}

fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Real *value) {
  const Instance *m = c;
  if (fmident_is_of_other(m, "fmi2GetRealStatus", fmi2CoSimulation)) return fmi2Error;
  if (kind != fmi2LastSuccessfulTime) return no_status(m, "fmi2GetRealStatus");
  *value = m->now.t;
  return fmi2OK;
}

fmi2Status fmi2GetIntegerStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Integer *value) {
  (void)kind, (void)value;
  return no_status(c, "fmi2GetIntegerStatus");
}

fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Boolean *value) {
  if (fmident_is_of_other(c, "fmi2GetBooleanStatus", fmi2CoSimulation)) return fmi2Error;
  if (kind != fmi2Terminated) return no_status(c, "fmi2GetBooleanStatus");
  *value = fmi2False; /* the model never asks to end the simulation */
  return fmi2OK;
}

fmi2Status fmi2GetStringStatus(fmi2Component c, const fmi2StatusKind kind, fmi2String *value) {
  (void)kind, (void)value;
  return no_status(c, "fmi2GetStringStatus");
}

fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference unknown[],
                                        size_t n_unknown, const fmi2ValueReference known[],
                                        size_t n_known, const fmi2Real seed[], fmi2Real result[]) {
  Instance *m = c;
  if (fmident_refused(m, "fmi2GetDirectionalDerivative", STATE_INITIALIZATION | STATE_RUNNING)) {
    return fmi2Error;
  }
  return fmident_directional_derivative(m, unknown, n_unknown, known, n_known, seed, result);
}
