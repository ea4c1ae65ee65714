/* Run a Co-Simulation FMU of FMI 2.0 on any system: the library is loaded by name, what is to be
 * done is read from standard input, and the bits of all outputs are written, so that nothing is lost.
 *
 *   run_fmu LIBRARY GUID
 *
 * Input: start, stop, tolerance; number of start values and, for each, value reference and value;
 * number of inputs with their value references; number of outputs with theirs; number of steps; for
 * each step its time, its size and the values of the inputs. Numbers are read as strtod reads them. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fmi2Functions.h"

#ifdef _WIN32
#include <windows.h>
static void *load(const char *name) { return (void *)LoadLibraryA(name); }
static void *symbol(void *library, const char *name) {
  return (void *)(uintptr_t)GetProcAddress((HMODULE)library, name);
}
static void reason(void) { fprintf(stderr, "error %lu\n", GetLastError()); }
#else
#include <dlfcn.h>
static void *load(const char *name) { return dlopen(name, RTLD_NOW | RTLD_LOCAL); }
static void *symbol(void *library, const char *name) { return dlsym(library, name); }
static void reason(void) { fprintf(stderr, "%s\n", dlerror()); }
#endif

static void *library;

static void *need(const char *name) {
  void *found = symbol(library, name);
  if (!found) {
    fprintf(stderr, "the library has no function %s\n", name);
    exit(2);
  }
  return found;
}
#define FUNCTION(name) name##TYPE *const name##_ = (name##TYPE *)need(#name)

static void logger(fmi2ComponentEnvironment environment, fmi2String name, fmi2Status status,
                   fmi2String category, fmi2String message, ...) {
  (void)environment, (void)category;
  fprintf(stderr, "%s: status %d: %s\n", name, (int)status, message);
}

static double number(void) {
  char text[64];
  if (scanf("%63s", text) != 1) {
    fprintf(stderr, "the input ends too early\n");
    exit(2);
  }
  return strtod(text, NULL);
}

static void check(fmi2Status status, const char *what) {
  if (status > fmi2Warning) {
    fprintf(stderr, "%s: status %d\n", what, (int)status);
    exit(1);
  }
}

static void *list(size_t n, size_t size) {
  void *memory = calloc(n + 1, size);
  if (!memory) exit(2);
  return memory;
}

static void write_bits(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  printf("%08lx%08lx", (unsigned long)(bits >> 32), (unsigned long)(bits & 0xffffffffu));
}

int main(int count, char **arguments) {
  if (count != 3) {
    fprintf(stderr, "run_fmu LIBRARY GUID\n");
    return 2;
  }
  library = load(arguments[1]);
  if (!library) return reason(), 2;
  FUNCTION(fmi2Instantiate);
  FUNCTION(fmi2FreeInstance);
  FUNCTION(fmi2SetupExperiment);
  FUNCTION(fmi2EnterInitializationMode);
  FUNCTION(fmi2ExitInitializationMode);
  FUNCTION(fmi2SetReal);
  FUNCTION(fmi2GetReal);
  FUNCTION(fmi2DoStep);
  FUNCTION(fmi2Terminate);
  const fmi2CallbackFunctions callbacks = {logger, calloc, free, NULL, NULL};
  fmi2Component c = fmi2Instantiate_("run", fmi2CoSimulation, arguments[2], "file:///none",
                                     &callbacks, fmi2False, fmi2False);
  if (!c) return 1;
  const double start = number(), stop = number(), tolerance = number();
  check(fmi2SetupExperiment_(c, fmi2True, tolerance, start, fmi2True, stop), "setup");
  for (size_t n = (size_t)number(); n > 0; --n) {
    const fmi2ValueReference reference = (fmi2ValueReference)number();
    const double value = number();
    check(fmi2SetReal_(c, &reference, 1, &value), "start value");
  }
  const size_t n_inputs = (size_t)number();
  fmi2ValueReference *inputs = list(n_inputs, sizeof *inputs);
  for (size_t i = 0; i < n_inputs; ++i) inputs[i] = (fmi2ValueReference)number();
  const size_t n_outputs = (size_t)number();
  fmi2ValueReference *outputs = list(n_outputs, sizeof *outputs);
  for (size_t i = 0; i < n_outputs; ++i) outputs[i] = (fmi2ValueReference)number();
  double *values = list(n_inputs + n_outputs, sizeof *values);
  check(fmi2EnterInitializationMode_(c), "initialization");
  check(fmi2ExitInitializationMode_(c), "initialization");
  for (size_t n = (size_t)number(); n > 0; --n) {
    const double t = number(), h = number();
    for (size_t i = 0; i < n_inputs; ++i) values[i] = number();
    check(fmi2SetReal_(c, inputs, n_inputs, values), "inputs");
    check(fmi2DoStep_(c, t, h, fmi2True), "step");
    check(fmi2GetReal_(c, outputs, n_outputs, values), "outputs");
    for (size_t i = 0; i < n_outputs; ++i) {
      if (i) putchar(' ');
      write_bits(values[i]);
    }
    putchar('\n');
  }
  check(fmi2Terminate_(c), "terminate");
  fmi2FreeInstance_(c);
  return 0;
}
