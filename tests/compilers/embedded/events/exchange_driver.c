/* A host of Model Exchange with Euler's method and 16 states and 32 indicators at most, and saved
 * states: run under valgrind by test_exchange.py. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "fmi2Functions.h"

static void quiet(fmi2ComponentEnvironment e, fmi2String i, fmi2Status s, fmi2String c,
                  fmi2String m, ...) {
  (void)e, (void)i, (void)s, (void)c, (void)m;
}

#define LOAD(name) name##TYPE *name##_ = (name##TYPE *)dlsym(library, #name)
#define CHECK(call)                           \
  do {                                        \
    if ((call) > fmi2Warning) {               \
      fprintf(stderr, "failed: %s\n", #call); \
      return 1;                               \
    }                                         \
  } while (0)

int main(int count, char **arguments) {
  fmi2CallbackFunctions callbacks = {quiet, calloc, free, NULL, NULL};
  void *library = count == 5 ? dlopen(arguments[1], RTLD_NOW) : NULL;
  if (!library) return 2;
  LOAD(fmi2Instantiate);
  LOAD(fmi2FreeInstance);
  LOAD(fmi2SetupExperiment);
  LOAD(fmi2EnterInitializationMode);
  LOAD(fmi2ExitInitializationMode);
  LOAD(fmi2EnterEventMode);
  LOAD(fmi2NewDiscreteStates);
  LOAD(fmi2EnterContinuousTimeMode);
  LOAD(fmi2CompletedIntegratorStep);
  LOAD(fmi2SetTime);
  LOAD(fmi2SetContinuousStates);
  LOAD(fmi2GetContinuousStates);
  LOAD(fmi2GetNominalsOfContinuousStates);
  LOAD(fmi2GetDerivatives);
  LOAD(fmi2GetEventIndicators);
  LOAD(fmi2GetFMUstate);
  LOAD(fmi2SetFMUstate);
  LOAD(fmi2FreeFMUstate);
  LOAD(fmi2Terminate);
  LOAD(fmi2Reset);
  const size_t nx = (size_t)atoi(arguments[3]), nz = (size_t)atoi(arguments[4]);
  fmi2Component c = fmi2Instantiate_("x", fmi2ModelExchange, arguments[2], "", &callbacks, 0, 0);
  if (!c || nx > 16 || nz > 32) return 3;
  for (int run = 0; run < 3; ++run) {
    double x[16], dx[16], before[32] = {0}, z[32] = {0};
    fmi2EventInfo info;
    fmi2FMUstate state = NULL;
    CHECK(fmi2SetupExperiment_(c, 0, 0, 0, 0, 0));
    CHECK(fmi2EnterInitializationMode_(c));
    CHECK(fmi2ExitInitializationMode_(c));
    CHECK(fmi2GetNominalsOfContinuousStates_(c, x, nx));
    CHECK(fmi2NewDiscreteStates_(c, &info));
    CHECK(fmi2EnterContinuousTimeMode_(c));
    CHECK(fmi2GetEventIndicators_(c, before, nz));
    for (int k = 1; k <= 300; ++k) {
      fmi2Boolean wanted, over;
      int event = info.nextEventTimeDefined && 0.005 * k >= info.nextEventTime;
      CHECK(fmi2GetContinuousStates_(c, x, nx));
      CHECK(fmi2GetDerivatives_(c, dx, nx));
      for (size_t i = 0; i < nx; ++i) x[i] += 0.005 * dx[i];
      CHECK(fmi2SetTime_(c, 0.005 * k));
      CHECK(fmi2SetContinuousStates_(c, x, nx));
      CHECK(fmi2CompletedIntegratorStep_(c, 1, &wanted, &over));
      CHECK(fmi2GetEventIndicators_(c, z, nz));
      for (size_t i = 0; i < nz; ++i) event |= (z[i] > 0.0) != (before[i] > 0.0);
      if (!event && !wanted) continue;
      CHECK(fmi2EnterEventMode_(c));
      CHECK(fmi2GetFMUstate_(c, &state));
      CHECK(fmi2NewDiscreteStates_(c, &info));
      CHECK(fmi2SetFMUstate_(c, state));
      CHECK(fmi2NewDiscreteStates_(c, &info));
      CHECK(fmi2EnterContinuousTimeMode_(c));
      CHECK(fmi2GetEventIndicators_(c, before, nz));
    }
    if (state) CHECK(fmi2FreeFMUstate_(c, &state));
    CHECK(fmi2Terminate_(c));
    CHECK(fmi2Reset_(c));
  }
  fmi2FreeInstance_(c);
  dlclose(library);
  return 0;
}
