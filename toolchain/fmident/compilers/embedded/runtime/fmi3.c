/* FMI 3.0: life cycle, messages, states of the FMU, and the steps of Co-Simulation. */
#include "fmi3_layer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------- messages */

/* What FMI 2.0 calls otherwise; all other names differ in their version only. */
static const char *const other_names[][2] = {
    {"fmi2SetRealInputDerivatives", "fmi3DoStep"},
    {"fmi2SetupExperiment", "fmi3EnterInitializationMode"},
    {"fmi2NewDiscreteStates", "fmi3UpdateDiscreteStates"},
    {"fmi2GetDerivatives", "fmi3GetContinuousStateDerivatives"},
    {"fmi2GetReal", "fmi3GetFloat64"},
    {"fmi2SetReal", "fmi3SetFloat64"},
    {"fmi2GetInteger", "fmi3GetInt32"},
    {"fmi2DeSerializeFMUstate", "fmi3DeserializeFMUState"},
    {"fmi2SerializedFMUstateSize", "fmi3SerializedFMUStateSize"},
    {"fmi2SerializeFMUstate", "fmi3SerializeFMUState"},
    {"fmi2GetFMUstate", "fmi3GetFMUState"},
    {"fmi2SetFMUstate", "fmi3SetFMUState"},
    {"no Real variable", "no Float64 variable"},
    {"no Integer variable", "no Int32 variable"},
    {"fmi2", "fmi3"},
};

static size_t renamed(const Host *host, const char *at, const char **name) {
  static const char instantiate[] = "fmi2Instantiate";
  if (strncmp(at, instantiate, sizeof instantiate - 1) == 0) {
    *name = host->instantiate;
    return sizeof instantiate - 1;
  }
  for (size_t i = 0; i < sizeof other_names / sizeof *other_names; ++i) {
    const size_t length = strlen(other_names[i][0]);
    if (strncmp(at, other_names[i][0], length) == 0) {
      *name = other_names[i][1];
      return length;
    }
  }
  return 0;
}

/* The logger of FMI 2.0: its messages are formats, and name functions; names of variables stand
 * between quotes. */
static void log_message(fmi2ComponentEnvironment environment, fmi2String instance_name,
                        fmi2Status status, fmi2String category, fmi2String message, ...) {
  const Host *host = environment;
  char text[2304];
  size_t n = 0;
  int quoted = 0;
  (void)instance_name;
  if (!host->log) return;
  for (const char *s = message; *s && n + 40 < sizeof text;) {
    const char *name = NULL;
    const size_t length = quoted ? 0 : renamed(host, s, &name);
    if (length) {
      strcpy(text + n, name);
      n += strlen(name);
      s += length;
      continue;
    }
    if (*s == '\'') quoted = !quoted;
    if ((*s == '%' || *s == '#') && s[1] == *s) ++s;
    text[n++] = *s++;
  }
  text[n] = '\0';
  host->log(host->environment, (fmi3Status)status, category, text);
}

const char *fmi3GetVersion(void) { return fmi3Version; }

fmi3Status fmi3SetDebugLogging(fmi3Instance instance, fmi3Boolean logging_on, size_t n,
                               const fmi3String categories[]) {
  return (fmi3Status)fmi2SetDebugLogging(instance, logging_on, n, categories);
}

/* ----------------------------------------------------------------------------- life cycle */

static void free_host(Host *host) {
  if (host) free(host->ends);
  free(host);
}

static fmi3Instance refuse_instance(fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
                                    const char *function, const char *why) {
  char text[512];
  snprintf(text, sizeof text, "%s: %s", function, why);
  if (log) log(environment, fmi3Error, "logStatusError", text);
  return NULL;
}

fmi3Instance fmident_instantiate3(const char *function, fmi2Type type, fmi3String name,
                                  fmi3String token, fmi3InstanceEnvironment environment,
                                  fmi3LogMessageCallback log,
                                  fmi3IntermediateUpdateCallback update) {
  fmi2CallbackFunctions callbacks;
  Instance *m;
  Host *host;
  if (!token || strcmp(token, fmident_guid) != 0) {
    return refuse_instance(environment, log, function,
                           "the instantiation token is not the one of this binary");
  }
  host = calloc(1, sizeof *host);
  if (host) host->ends = calloc(FMIDENT_NU + 1, sizeof *host->ends);
  if (!host || !host->ends) {
    free_host(host);
    return refuse_instance(environment, log, function, "out of memory");
  }
  host->environment = environment;
  host->log = log;
  host->instantiate = function;
  host->update = update;
  memset(&callbacks, 0, sizeof callbacks);
  callbacks.logger = log_message;
  callbacks.componentEnvironment = host;
  m = fmi2Instantiate(name, type, token, NULL, &callbacks, fmi2False, fmi2False);
  if (!m) free_host(host);
  return m;
}

fmi3Instance fmi3InstantiateCoSimulation(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
    fmi3Boolean logging_on, fmi3Boolean event_mode_used, fmi3Boolean early_return_allowed,
    const fmi3ValueReference required[], size_t n_required, fmi3InstanceEnvironment environment,
    fmi3LogMessageCallback log, fmi3IntermediateUpdateCallback update) {
  static const char function[] = "fmi3InstantiateCoSimulation";
  (void)resources, (void)visible, (void)logging_on, (void)early_return_allowed;
  if (event_mode_used) {
    return refuse_instance(environment, log, function,
                           "there is no event mode (hasEventMode is false)");
  }
  for (size_t i = 0; i < n_required; ++i) {
    const unsigned u = required[i] - FMIDENT_VR_U;
    if (u >= FMIDENT_NU || !fmident_element_counts[required[i]]) {
      return refuse_instance(environment, log, function,
                             "only inputs can be set within a step, and nothing be read");
    }
  }
  return fmident_instantiate3(function, fmi2CoSimulation, name, token, environment, log,
                              n_required > 0 ? update : NULL);
}

void fmi3FreeInstance(fmi3Instance instance) {
  Instance *m = instance;
  if (!m) return;
  free_host(m->callbacks.componentEnvironment);
  fmi2FreeInstance(m);
}

fmi3Status fmi3EnterInitializationMode(fmi3Instance instance, fmi3Boolean tolerance_defined,
                                       fmi3Float64 tolerance, fmi3Float64 start,
                                       fmi3Boolean stop_defined, fmi3Float64 stop) {
  const fmi2Status status =
      fmi2SetupExperiment(instance, tolerance_defined, tolerance, start, stop_defined, stop);
  return (fmi3Status)(status == fmi2OK ? fmi2EnterInitializationMode(instance) : status);
}

fmi3Status fmi3ExitInitializationMode(fmi3Instance instance) {
  return (fmi3Status)fmi2ExitInitializationMode(instance);
}

fmi3Status fmi3Terminate(fmi3Instance instance) { return (fmi3Status)fmi2Terminate(instance); }

fmi3Status fmi3Reset(fmi3Instance instance) { return (fmi3Status)fmi2Reset(instance); }

/* ---------------------------------------------------------------------------------- steps */

/* Inputs are straight lines from where they are to what they are set to at the end of the step. */
static fmi3Status ask_for_inputs(Instance *m, double t, double size) {
  Host *host = m->callbacks.componentEnvironment;
  fmi3Boolean early = fmi3False;
  fmi3Float64 early_time = 0.0;
  const fmi2Integer order = 1;
  memcpy(host->ends, m->u, FMIDENT_NU * sizeof *host->ends);
  host->within = 1;
  host->update(host->environment, t + size, fmi3True, fmi3False, fmi3False, fmi3False, &early,
               &early_time);
  host->within = 0;
  for (size_t i = 0; i < FMIDENT_NU; ++i) {
    const fmi2ValueReference reference = FMIDENT_VR_U + (fmi2ValueReference)i;
    const fmi2Real slope = (host->ends[i] - m->u[i]) / size;
    const fmi2Status status = fmi2SetRealInputDerivatives(m, &reference, 1, &order, &slope);
    if (status != fmi2OK) return (fmi3Status)status;
  }
  return fmi3OK;
}

fmi3Status fmi3DoStep(fmi3Instance instance, fmi3Float64 current, fmi3Float64 size,
                      fmi3Boolean no_set_prior, fmi3Boolean *event_handling_needed,
                      fmi3Boolean *terminate, fmi3Boolean *early_return,
                      fmi3Float64 *last_successful_time) {
  Instance *m = instance;
  const Host *host = m->callbacks.componentEnvironment;
  fmi3Status status = fmi3OK;
  const int sensible = m->now.state == STATE_STEP_COMPLETE && size > 0.0 && isfinite(size);
  if (host->update && sensible) status = ask_for_inputs(m, current, size);
  if (status == fmi3OK) status = (fmi3Status)fmi2DoStep(m, current, size, no_set_prior);
  *event_handling_needed = *terminate = *early_return = fmi3False;
  *last_successful_time = m->now.t;
  return status;
}

/* ---------------------------------------------------------------------- states of the FMU */

fmi3Status fmi3GetFMUState(fmi3Instance instance, fmi3FMUState *state) {
  return (fmi3Status)fmi2GetFMUstate(instance, state);
}

fmi3Status fmi3SetFMUState(fmi3Instance instance, fmi3FMUState state) {
  return (fmi3Status)fmi2SetFMUstate(instance, state);
}

fmi3Status fmi3FreeFMUState(fmi3Instance instance, fmi3FMUState *state) {
  return (fmi3Status)fmi2FreeFMUstate(instance, state);
}

fmi3Status fmi3SerializedFMUStateSize(fmi3Instance instance, fmi3FMUState state, size_t *size) {
  return (fmi3Status)fmi2SerializedFMUstateSize(instance, state, size);
}

fmi3Status fmi3SerializeFMUState(fmi3Instance instance, fmi3FMUState state, fmi3Byte bytes[],
                                 size_t size) {
  return (fmi3Status)fmi2SerializeFMUstate(instance, state, (fmi2Byte *)bytes, size);
}

fmi3Status fmi3DeserializeFMUState(fmi3Instance instance, const fmi3Byte bytes[], size_t size,
                                   fmi3FMUState *state) {
  return (fmi3Status)fmi2DeSerializeFMUstate(instance, (const fmi2Byte *)bytes, size, state);
}
