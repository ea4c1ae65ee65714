/* Functions of FMI 3.0 for Model Exchange, which an FMU is not for. */
#include "fmi3_layer.h"

static fmi3Status absent(const Instance *m, const char *function) {
  fmident_log(m, fmi2Error, "%s: this FMU is not for Model Exchange", function);
  return fmi3Error;
}

fmi3Instance fmi3InstantiateModelExchange(fmi3String name, fmi3String token, fmi3String resources,
                                          fmi3Boolean visible, fmi3Boolean logging_on,
                                          fmi3InstanceEnvironment environment,
                                          fmi3LogMessageCallback log) {
  (void)name, (void)token, (void)resources, (void)visible, (void)logging_on;
  if (log) {
    log(environment, fmi3Error, "logStatusError",
        "fmi3InstantiateModelExchange: this FMU is not for Model Exchange");
  }
  return NULL;
}

fmi3Status fmi3EnterEventMode(fmi3Instance m) { return absent(m, "fmi3EnterEventMode"); }

fmi3Status fmi3UpdateDiscreteStates(fmi3Instance m, fmi3Boolean *again, fmi3Boolean *terminate,
                                    fmi3Boolean *nominals, fmi3Boolean *values,
                                    fmi3Boolean *time_defined, fmi3Float64 *time) {
  (void)again, (void)terminate, (void)nominals, (void)values, (void)time_defined, (void)time;
  return absent(m, "fmi3UpdateDiscreteStates");
}

fmi3Status fmi3EnterContinuousTimeMode(fmi3Instance m) {
  return absent(m, "fmi3EnterContinuousTimeMode");
}

fmi3Status fmi3CompletedIntegratorStep(fmi3Instance m, fmi3Boolean no_set_prior, fmi3Boolean *event,
                                       fmi3Boolean *terminate) {
  (void)no_set_prior, (void)event, (void)terminate;
  return absent(m, "fmi3CompletedIntegratorStep");
}

fmi3Status fmi3SetTime(fmi3Instance m, fmi3Float64 time) {
  (void)time;
  return absent(m, "fmi3SetTime");
}

fmi3Status fmi3SetContinuousStates(fmi3Instance m, const fmi3Float64 states[], size_t n) {
  (void)states, (void)n;
  return absent(m, "fmi3SetContinuousStates");
}

#define NO_VECTOR(name)                                               \
  fmi3Status name(fmi3Instance m, fmi3Float64 values[], size_t n) {   \
    (void)values, (void)n;                                            \
    return absent(m, #name);                                          \
  }
NO_VECTOR(fmi3GetContinuousStateDerivatives)
NO_VECTOR(fmi3GetEventIndicators)
NO_VECTOR(fmi3GetContinuousStates)
NO_VECTOR(fmi3GetNominalsOfContinuousStates)

#define NO_NUMBER(name)                              \
  fmi3Status name(fmi3Instance m, size_t *n) {       \
    (void)n;                                         \
    return absent(m, #name);                         \
  }
NO_NUMBER(fmi3GetNumberOfEventIndicators)
NO_NUMBER(fmi3GetNumberOfContinuousStates)
