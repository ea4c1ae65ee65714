/* FMI 2.0 for Model Exchange: the host integrates. It finds the instant of an event by its indicators,
 * and events happen as in Co-Simulation. */
#include "sensitivities.h"

#include <math.h>
#include <string.h>

/* Arrays of no elements are not valid C. */
#define ROOM_X (FMIDENT_NX + 1)
#define ROOM_NR (FMIDENT_NR + 1)

enum {
  EVALUATED = STATE_INITIALIZATION | STATE_EVENT | STATE_CONTINUOUS | STATE_TERMINATED,
  TIMED = STATE_EVENT | STATE_CONTINUOUS
};

static int refused(const Instance *m, const char *function, int allowed) {
  return fmident_is_of_other(m, function, fmi2ModelExchange) || fmident_refused(m, function, allowed);
}

static int miscounted(const Instance *m, const char *function, size_t given, size_t count,
                      const char *what) {
  if (given == count) return 0;
  fmident_log(m, fmi2Error, "%s: %u %s are asked for, the FMU has %u", function, (unsigned)given, what,
              (unsigned)count);
  return 1;
}

#if FMIDENT_ITERATIONS
static fmi2Status failed(Instance *m) {
  fmident_log(m, fmi2Error, "time %.17g: %s", m->now.t, m->trouble);
  return fmident_enter_error(m);
}
#endif

#if FMIDENT_STATES || FMIDENT_EVENTS
/* The host may try it with a shorter step. */
static fmi2Status discard(const Instance *m) {
  fmident_log(m, fmi2Discard, "time %.17g: %s", m->now.t, m->trouble);
  return fmi2Discard;
}
#endif

fmi2Status fmi2SetTime(fmi2Component c, fmi2Real time) {
  Instance *m = c;
  if (refused(m, "fmi2SetTime", TIMED)) return fmi2Error;
  if (!isfinite(time)) {
    fmident_log(m, fmi2Error, "fmi2SetTime: the time is not a finite number");
    return fmi2Error;
  }
  if (time == m->now.t) return fmi2OK;
  m->now.t = time;
  m->now.valid &= ~VALID_OF_X_U;
  return fmi2OK;
}

fmi2Status fmi2SetContinuousStates(fmi2Component c, const fmi2Real x[], size_t nx) {
  static const char name[] = "fmi2SetContinuousStates";
  Instance *m = c;
  if (refused(m, name, STATE_CONTINUOUS) || miscounted(m, name, nx, FMIDENT_NX, "states")) return fmi2Error;
  for (size_t i = 0; i < nx; ++i) {
    if (isfinite(x[i])) continue;
    fmident_log(m, fmi2Discard, "%s: the value of '%s' is not a finite number", name,
                fmident_names[FMIDENT_VR_X + i]);
    return fmi2Discard;
  }
  if (nx == 0 || memcmp(m->x, x, nx * sizeof *x) == 0) return fmi2OK;
  memcpy(m->x, x, nx * sizeof *x);
  m->now.valid &= ~VALID_OF_X_U;
  return fmi2OK;
}

fmi2Status fmi2GetContinuousStates(fmi2Component c, fmi2Real x[], size_t nx) {
  static const char name[] = "fmi2GetContinuousStates";
  Instance *m = c;
  if (refused(m, name, EVALUATED) || miscounted(m, name, nx, FMIDENT_NX, "states")) return fmi2Error;
  if (fmident_ensure(m, VALID_X)) return fmi2Error;
  if (nx > 0) memcpy(x, m->x, nx * sizeof *x);
  return fmi2OK;
}

fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component c, fmi2Real nominals[], size_t nx) {
  static const char name[] = "fmi2GetNominalsOfContinuousStates";
  Instance *m = c;
  if (refused(m, name, EVALUATED | STATE_INSTANTIATED)) return fmi2Error;
  if (miscounted(m, name, nx, FMIDENT_NX, "states")) return fmi2Error;
  for (size_t i = 0; i < nx; ++i) nominals[i] = fmident_nominals[i];
  return fmi2OK;
}

fmi2Status fmi2GetDerivatives(fmi2Component c, fmi2Real dx[], size_t nx) {
  static const char name[] = "fmi2GetDerivatives";
  Instance *m = c;
  if (refused(m, name, EVALUATED) || miscounted(m, name, nx, FMIDENT_NX, "states")) return fmi2Error;
#if FMIDENT_STATES
  if (fmident_ensure(m, VALID_C | VALID_X)) return fmi2Error;
  if (!(m->now.valid & VALID_DX)) {
    if (fmident_rhs_at(m, 0.0, m->x, m->dx)) return discard(m);
    m->now.valid |= VALID_DX | VALID_A;
  }
  memcpy(dx, m->dx, nx * sizeof *dx);
#else
  (void)dx;
#endif
  return fmi2OK;
}

#if FMIDENT_EVENTS
/* No indicator is zero, wherever the relation is: the host begins to look for the next event right
 * behind the last. */
static const double gap = 1e-12;

/* What passes through zero where a relation switches, on the side of zero that says whether it has;
 * relations that would switch without making an event, as in Co-Simulation, are left where they are. */
int fmident_indicator_values(Instance *m, double *values) {
  double at_rest[ROOM_X], distances[ROOM_NR], rates[ROOM_NR];
  memset(at_rest, 0, sizeof at_rest);
  m->trouble[0] = '\0';
  if (fmident_sides(m, values)) return 1;
  if (fmident_indicators_now(m, 0.0, m->x, at_rest, distances, rates)) return 1;
  for (size_t i = 0; i < FMIDENT_NR; ++i) {
    const double distance = fabs(distances[i]);
    values[i] *= isfinite(distance) ? distance + gap : 1.0;
  }
  return 0;
}
#endif

fmi2Status fmi2GetEventIndicators(fmi2Component c, fmi2Real values[], size_t count) {
  static const char name[] = "fmi2GetEventIndicators";
  Instance *m = c;
  if (refused(m, name, EVALUATED) || miscounted(m, name, count, FMIDENT_NR, "event indicators")) {
    return fmi2Error;
  }
#if FMIDENT_EVENTS
  if (fmident_ensure(m, VALID_C | VALID_X)) return fmi2Error;
  if (count > 0 && fmident_indicator_values(m, values)) return discard(m);
#else
  (void)values;
#endif
  return fmi2OK;
}

fmi2Status fmi2EnterEventMode(fmi2Component c) {
  Instance *m = c;
  if (refused(m, "fmi2EnterEventMode", TIMED)) return fmi2Error;
  m->now.state = STATE_EVENT;
  m->now.unsettled |= UNSETTLED;
  return fmi2OK;
}

/* All that follows from an event has happened when it returns: it is never needed twice. */
fmi2Status fmi2NewDiscreteStates(fmi2Component c, fmi2EventInfo *info) {
  Instance *m = c;
  if (refused(m, "fmi2NewDiscreteStates", STATE_EVENT)) return fmi2Error;
  if (fmident_ensure(m, VALID_C)) return fmident_enter_error(m);
  memset(info, 0, sizeof *info);
#if FMIDENT_EVENTS
  if (fmident_asked_event(m)) return fmident_enter_error(m);
  info->nextEventTime = fmident_next_sample_time(m);
  info->nextEventTimeDefined = isfinite(info->nextEventTime);
  if (!info->nextEventTimeDefined) info->nextEventTime = 0.0;
#elif FMIDENT_ITERATIONS
  if (fmident_keep_loops(m, 0.0, m->x)) return failed(m);
#endif
  if (fmident_check_asserts(m)) return fmident_enter_error(m);
  info->valuesOfContinuousStatesChanged = m->now.moved;
  m->now.moved = m->now.unsettled = 0;
  return fmi2OK;
}

fmi2Status fmi2EnterContinuousTimeMode(fmi2Component c) {
  static const char name[] = "fmi2EnterContinuousTimeMode";
  Instance *m = c;
  if (refused(m, name, STATE_EVENT)) return fmi2Error;
  if (m->now.unsettled) {
    fmident_log(m, fmi2Error, "%s: call fmi2NewDiscreteStates first", name);
    return fmi2Error;
  }
  m->now.state = STATE_CONTINUOUS;
  return fmi2OK;
}

/* Algebraic loops are iterated from here on, and it is here that warnings are given. */
fmi2Status fmi2CompletedIntegratorStep(fmi2Component c, fmi2Boolean no_set_prior,
                                       fmi2Boolean *enter_event_mode, fmi2Boolean *terminate) {
  Instance *m = c;
  (void)no_set_prior;
  if (refused(m, "fmi2CompletedIntegratorStep", STATE_CONTINUOUS)) return fmi2Error;
  *enter_event_mode = *terminate = fmi2False;
  if (fmident_ensure(m, VALID_C)) return fmident_enter_error(m);
#if FMIDENT_ITERATIONS
  if (fmident_keep_loops(m, 0.0, m->x)) return failed(m);
#endif
  return fmident_check_asserts(m) ? fmident_enter_error(m) : fmi2OK;
}
