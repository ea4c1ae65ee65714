/* FMI 3.0 for Model Exchange. */
#include "fmi3_layer.h"

fmi3Instance fmi3InstantiateModelExchange(fmi3String name, fmi3String token, fmi3String resources,
                                          fmi3Boolean visible, fmi3Boolean logging_on,
                                          fmi3InstanceEnvironment environment,
                                          fmi3LogMessageCallback log) {
  (void)resources, (void)visible, (void)logging_on;
  return fmident_instantiate3("fmi3InstantiateModelExchange", fmi2ModelExchange, name, token,
                              environment, log, NULL);
}

fmi3Status fmi3EnterEventMode(fmi3Instance m) { return (fmi3Status)fmi2EnterEventMode(m); }

fmi3Status fmi3UpdateDiscreteStates(fmi3Instance m, fmi3Boolean *again, fmi3Boolean *terminate,
                                    fmi3Boolean *nominals_changed, fmi3Boolean *states_changed,
                                    fmi3Boolean *time_defined, fmi3Float64 *time) {
  fmi2EventInfo info;
  const fmi2Status status = fmi2NewDiscreteStates(m, &info);
  if (status > fmi2Warning) return (fmi3Status)status;
  *again = info.newDiscreteStatesNeeded != fmi2False;
  *terminate = info.terminateSimulation != fmi2False;
  *nominals_changed = info.nominalsOfContinuousStatesChanged != fmi2False;
  *states_changed = info.valuesOfContinuousStatesChanged != fmi2False;
  *time_defined = info.nextEventTimeDefined != fmi2False;
  *time = info.nextEventTime;
  return (fmi3Status)status;
}

fmi3Status fmi3EnterContinuousTimeMode(fmi3Instance m) {
  return (fmi3Status)fmi2EnterContinuousTimeMode(m);
}

fmi3Status fmi3CompletedIntegratorStep(fmi3Instance m, fmi3Boolean no_set_prior, fmi3Boolean *event,
                                       fmi3Boolean *terminate) {
  fmi2Boolean enter_event_mode = fmi2False, ends = fmi2False;
  const fmi2Status status = fmi2CompletedIntegratorStep(m, no_set_prior, &enter_event_mode, &ends);
  *event = enter_event_mode != fmi2False;
  *terminate = ends != fmi2False;
  return (fmi3Status)status;
}

fmi3Status fmi3SetTime(fmi3Instance m, fmi3Float64 time) { return (fmi3Status)fmi2SetTime(m, time); }

fmi3Status fmi3SetContinuousStates(fmi3Instance m, const fmi3Float64 states[], size_t n) {
  return (fmi3Status)fmi2SetContinuousStates(m, states, n);
}

fmi3Status fmi3GetContinuousStates(fmi3Instance m, fmi3Float64 states[], size_t n) {
  return (fmi3Status)fmi2GetContinuousStates(m, states, n);
}

fmi3Status fmi3GetContinuousStateDerivatives(fmi3Instance m, fmi3Float64 derivatives[], size_t n) {
  return (fmi3Status)fmi2GetDerivatives(m, derivatives, n);
}

fmi3Status fmi3GetNominalsOfContinuousStates(fmi3Instance m, fmi3Float64 nominals[], size_t n) {
  return (fmi3Status)fmi2GetNominalsOfContinuousStates(m, nominals, n);
}

fmi3Status fmi3GetEventIndicators(fmi3Instance m, fmi3Float64 values[], size_t n) {
  return (fmi3Status)fmi2GetEventIndicators(m, values, n);
}

fmi3Status fmi3GetNumberOfContinuousStates(fmi3Instance instance, size_t *n) {
  if (fmident_is_of_other(instance, "fmi3GetNumberOfContinuousStates", fmi2ModelExchange)) return fmi3Error;
  *n = FMIDENT_NX;
  return fmi3OK;
}

fmi3Status fmi3GetNumberOfEventIndicators(fmi3Instance instance, size_t *n) {
  if (fmident_is_of_other(instance, "fmi3GetNumberOfEventIndicators", fmi2ModelExchange)) return fmi3Error;
  *n = FMIDENT_NR;
  return fmi3OK;
}
