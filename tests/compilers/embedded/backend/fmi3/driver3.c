/* Everything of FMI 3.0 that allocates, many times over: run under valgrind by test_memory.py. The
 * model is `rows` of conftest.py: x, der(x), u, y and a, of three elements each, and time. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "fmi3Functions.h"

enum { X = 0, DX = 3, U = 6, Y = 9, A = 12, TIME = 15 };

typedef struct {
  fmi3SetFloat64TYPE *set;
  fmi3Instance instance;
} Caller;

static void quiet(fmi3InstanceEnvironment e, fmi3Status s, fmi3String c, fmi3String m) {
  (void)e, (void)s, (void)c, (void)m;
}

static void update(fmi3InstanceEnvironment environment, fmi3Float64 time, fmi3Boolean wanted,
                   fmi3Boolean allowed, fmi3Boolean finished, fmi3Boolean able, fmi3Boolean *early,
                   fmi3Float64 *until) {
  const Caller *caller = environment;
  const fmi3ValueReference u = U;
  const fmi3Float64 values[] = {time, 2.0 * time, -time};
  (void)wanted, (void)allowed, (void)finished, (void)able, (void)early, (void)until;
  caller->set(caller->instance, &u, 1, values, 3);
}

#define LOAD(name) name##TYPE *name##_ = (name##TYPE *)dlsym(library, #name)
#define CHECK(call)                           \
  do {                                        \
    if ((call) > fmi3Warning) {               \
      fprintf(stderr, "failed: %s\n", #call); \
      return 1;                               \
    }                                         \
  } while (0)
#define REFUSED(call)                          \
  do {                                         \
    if ((call) <= fmi3Warning) {               \
      fprintf(stderr, "accepted: %s\n", #call); \
      return 1;                                \
    }                                          \
  } while (0)

int main(int count, char **arguments) {
  static const fmi3ValueReference all[] = {X, DX, U, Y, A, TIME}, u = U, y = Y;
  static const fmi3ValueReference knowns[] = {U, A, TIME}, wrong = 14, none = 4000000000u;
  void *library = count == 3 ? dlopen(arguments[1], RTLD_NOW) : NULL;
  Caller caller;
  if (!library) return 2;
  LOAD(fmi3InstantiateCoSimulation);
  LOAD(fmi3InstantiateModelExchange);
  LOAD(fmi3FreeInstance);
  LOAD(fmi3EnterInitializationMode);
  LOAD(fmi3ExitInitializationMode);
  LOAD(fmi3UpdateDiscreteStates);
  LOAD(fmi3EnterContinuousTimeMode);
  LOAD(fmi3GetContinuousStateDerivatives);
  LOAD(fmi3DoStep);
  LOAD(fmi3Reset);
  LOAD(fmi3GetFloat64);
  LOAD(fmi3SetFloat64);
  LOAD(fmi3GetDirectionalDerivative);
  LOAD(fmi3GetAdjointDerivative);
  LOAD(fmi3GetFMUState);
  LOAD(fmi3SetFMUState);
  LOAD(fmi3FreeFMUState);
  LOAD(fmi3SerializedFMUStateSize);
  LOAD(fmi3SerializeFMUState);
  LOAD(fmi3DeserializeFMUState);
  caller.set = fmi3SetFloat64_;
  if (fmi3InstantiateCoSimulation_("x", "{0}", "", 0, 0, 0, 0, NULL, 0, NULL, quiet, NULL)) return 3;
  if (fmi3InstantiateCoSimulation_("", arguments[2], "", 0, 0, 0, 0, NULL, 0, NULL, quiet, NULL)) return 3;
  if (fmi3InstantiateCoSimulation_("x", arguments[2], "", 0, 0, 1, 0, NULL, 0, NULL, quiet, NULL)) return 3;
  for (int i = 0; i < 5; ++i) {
    fmi3Instance m = fmi3InstantiateModelExchange_("x", arguments[2], "", 0, 0, NULL, quiet);
    fmi3Instance c = fmi3InstantiateCoSimulation_("x", arguments[2], "", 0, 0, 0, 0, &u, 1, &caller,
                                                  quiet, update);
    caller.instance = c;
    if (!c || !m) return 3;
    for (int reset = 0; reset < 100; ++reset) {
      fmi3FMUState state = NULL, copy = NULL;
      fmi3Float64 values[16] = {1.0, 2.0, 3.0}, last, dx[3];
      fmi3Boolean flags[5];
      size_t size;
      fmi3Byte *bytes;
      CHECK(fmi3EnterInitializationMode_(c, 1, 1e-6, 0, 0, 0));
      CHECK(fmi3GetAdjointDerivative_(c, &y, 1, knowns, 3, values, 3, values + 3, 7));
      CHECK(fmi3ExitInitializationMode_(c));
      CHECK(fmi3DoStep_(c, 0.0, 0.1, 1, flags, flags + 1, flags + 2, &last));
      CHECK(fmi3GetFMUState_(c, &state));
      CHECK(fmi3SerializedFMUStateSize_(c, state, &size));
      bytes = malloc(size);
      CHECK(fmi3SerializeFMUState_(c, state, bytes, size));
      CHECK(fmi3DeserializeFMUState_(c, bytes, size, &copy));
      CHECK(fmi3SetFMUState_(c, copy));
      CHECK(fmi3DoStep_(c, 0.1, 0.1, 1, flags, flags + 1, flags + 2, &last));
      CHECK(fmi3GetFloat64_(c, all, 6, values, 16));
      CHECK(fmi3GetDirectionalDerivative_(c, &y, 1, knowns, 3, values, 7, values + 7, 3));
      CHECK(fmi3GetAdjointDerivative_(c, &y, 1, knowns, 3, values, 3, values + 3, 7));
      REFUSED(fmi3GetAdjointDerivative_(c, &y, 1, knowns, 3, values, 2, values + 3, 7));
      REFUSED(fmi3GetAdjointDerivative_(c, &u, 1, &y, 1, values, 3, values + 3, 3));
      REFUSED(fmi3GetDirectionalDerivative_(c, &y, 1, knowns, 3, values, 7, values + 7, 4));
      REFUSED(fmi3GetFloat64_(c, &wrong, 1, values, 1));
      REFUSED(fmi3GetFloat64_(c, &none, 1, values, 1));
      REFUSED(fmi3DoStep_(c, 0.2, -1.0, 1, flags, flags + 1, flags + 2, &last));
      CHECK(fmi3FreeFMUState_(c, &state));
      CHECK(fmi3FreeFMUState_(c, &copy));
      free(bytes);
      CHECK(fmi3Reset_(c));
      CHECK(fmi3EnterInitializationMode_(m, 0, 0.0, 0, 0, 0));
      CHECK(fmi3ExitInitializationMode_(m));
      CHECK(fmi3UpdateDiscreteStates_(m, flags, flags + 1, flags + 2, flags + 3, flags + 4, &last));
      CHECK(fmi3EnterContinuousTimeMode_(m));
      CHECK(fmi3GetContinuousStateDerivatives_(m, dx, 3));
      CHECK(fmi3Reset_(m));
    }
    fmi3FreeInstance_(c);
    fmi3FreeInstance_(m);
  }
  fmi3FreeInstance_(NULL);
  dlclose(library);
  return 0;
}
