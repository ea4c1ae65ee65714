/* Everything that allocates, many times over: run under valgrind by test_binary.py. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "fmi2Functions.h"

static void quiet(fmi2ComponentEnvironment e, fmi2String i, fmi2Status s, fmi2String c,
                  fmi2String m, ...) {
  (void)e, (void)i, (void)s, (void)c, (void)m;
}

#define LOAD(name) name##TYPE *name##_ = (name##TYPE *)dlsym(library, #name)
#define CHECK(call)                                 \
  do {                                              \
    if ((call) > fmi2Warning) {                     \
      fprintf(stderr, "failed: %s\n", #call);       \
      return 1;                                     \
    }                                               \
  } while (0)

int main(int count, char **arguments) {
  fmi2CallbackFunctions callbacks = {quiet, calloc, free, NULL, NULL};
  void *library = count == 3 ? dlopen(arguments[1], RTLD_NOW) : NULL;
  if (!library) return 2;
  LOAD(fmi2Instantiate);
  LOAD(fmi2FreeInstance);
  LOAD(fmi2SetupExperiment);
  LOAD(fmi2EnterInitializationMode);
  LOAD(fmi2ExitInitializationMode);
  LOAD(fmi2DoStep);
  LOAD(fmi2Reset);
  LOAD(fmi2GetReal);
  LOAD(fmi2GetFMUstate);
  LOAD(fmi2SetFMUstate);
  LOAD(fmi2FreeFMUstate);
  LOAD(fmi2SerializedFMUstateSize);
  LOAD(fmi2SerializeFMUstate);
  LOAD(fmi2DeSerializeFMUstate);
  for (int i = 0; i < 5; ++i) {
    fmi2Component c =
        fmi2Instantiate_("x", fmi2CoSimulation, arguments[2], "", &callbacks, 0, 0);
    if (!c) return 3;
    for (int reset = 0; reset < 200; ++reset) {
      fmi2FMUstate state = NULL, copy = NULL;
      fmi2ValueReference all[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
      fmi2Real values[10];
      size_t size;
      fmi2Byte *bytes;
      CHECK(fmi2SetupExperiment_(c, 1, 1e-6, 0, 0, 0));
      CHECK(fmi2EnterInitializationMode_(c));
      CHECK(fmi2ExitInitializationMode_(c));
      CHECK(fmi2DoStep_(c, 0.0, 0.1, 1));
      CHECK(fmi2GetFMUstate_(c, &state));
      CHECK(fmi2SerializedFMUstateSize_(c, state, &size));
      bytes = malloc(size);
      CHECK(fmi2SerializeFMUstate_(c, state, bytes, size));
      CHECK(fmi2DeSerializeFMUstate_(c, bytes, size, &copy));
      CHECK(fmi2SetFMUstate_(c, copy));
      CHECK(fmi2DoStep_(c, 0.1, 0.1, 1));
      CHECK(fmi2GetReal_(c, all, 10, values));
      fmi2DoStep_(c, 0.2, -1.0, 1); /* refused, with a message */
      CHECK(fmi2FreeFMUstate_(c, &state));
      CHECK(fmi2FreeFMUstate_(c, &copy));
      free(bytes);
      CHECK(fmi2Reset_(c));
    }
    fmi2FreeInstance_(c);
  }
  dlclose(library);
  return 0;
}
