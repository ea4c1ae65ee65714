/* Simulates an FMI 2.0 Co-Simulation FMU the way fmident's engine does: the measure for it.

     driver LIBRARY GUID RESOURCES REQUEST RESULT

   REQUEST holds 64-bit integers n, nu, ny, np, repeats, linear, use_tolerance; the value
   references of inputs, outputs and parameters as 64-bit integers; then doubles: tolerance,
   parameters, times (n), inputs (n rows of nu). RESULT gets the outputs of the last run
   (n rows of ny) and the seconds of processor time that each run took, start-up apart. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "fmi2Functions.h"

static int messages;

static void log_message(fmi2ComponentEnvironment e, fmi2String n, fmi2Status s, fmi2String c,
                        fmi2String text, ...) {
  (void)e; (void)n; (void)s; (void)c;
  va_list arguments;
  char line[2048];
  va_start(arguments, text);
  vsnprintf(line, sizeof line, text, arguments);
  va_end(arguments);
  messages++;
}

static void fail(const char *what) {
  fprintf(stderr, "driver: %s\n", what);
  exit(1);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *need(size_t count, size_t size) {
  void *memory = malloc(count * size + 1);
  if (!memory) fail("no memory");
  return memory;
}

static void read_into(FILE *file, void *to, size_t size, size_t count) {
  if (fread(to, size, count, file) != count) fail("request too short");
}

static fmi2ValueReference *read_references(FILE *file, int64_t count) {
  fmi2ValueReference *v = need((size_t)count, sizeof *v);
  for (int64_t k = 0; k < count; k++) {
    int64_t wide;
    read_into(file, &wide, sizeof wide, 1);
    v[k] = (fmi2ValueReference)wide;
  }
  return v;
}

static double *read_doubles(FILE *file, int64_t count) {
  double *x = need((size_t)count, sizeof *x);
  read_into(file, x, sizeof *x, (size_t)count);
  return x;
}

#define LOAD(name) name##TYPE *name = (name##TYPE *)dlsym(library, #name)
#define CHECK(call) do { if ((call) > fmi2Warning) fail(#call); } while (0)

int main(int argc, char **argv) {
  if (argc != 6) fail("usage: driver LIBRARY GUID RESOURCES REQUEST RESULT");
  void *library = dlopen(argv[1], RTLD_NOW);
  if (!library) fail(dlerror());
  LOAD(fmi2Instantiate);
  LOAD(fmi2FreeInstance);
  LOAD(fmi2Reset);
  LOAD(fmi2SetupExperiment);
  LOAD(fmi2EnterInitializationMode);
  LOAD(fmi2ExitInitializationMode);
  LOAD(fmi2Terminate);
  LOAD(fmi2SetReal);
  LOAD(fmi2GetReal);
  LOAD(fmi2SetRealInputDerivatives);
  LOAD(fmi2DoStep);

  FILE *file = fopen(argv[4], "rb");
  if (!file) fail("no request");
  int64_t head[7];
  read_into(file, head, sizeof head[0], 7);
  const int64_t n = head[0], nu = head[1], ny = head[2], np = head[3], repeats = head[4];
  const int linear = (int)head[5] && nu > 0, use_tolerance = (int)head[6];
  fmi2ValueReference *vu = read_references(file, nu), *vy = read_references(file, ny);
  fmi2ValueReference *vp = read_references(file, np);
  double *tolerance = read_doubles(file, 1), *p = read_doubles(file, np);
  double *t = read_doubles(file, n), *u = read_doubles(file, n * nu);
  fclose(file);

  double *y = need((size_t)(n * ny), sizeof *y), *seconds = need((size_t)repeats, sizeof *seconds);
  double *slope = need((size_t)(n * nu), sizeof *slope);
  fmi2Integer *order = need((size_t)nu, sizeof *order);
  for (int64_t k = 0; k < nu; k++) order[k] = 1;
  for (int64_t i = 0; i + 1 < n; i++)
    for (int64_t k = 0; k < nu; k++)
      slope[i * nu + k] = (u[(i + 1) * nu + k] - u[i * nu + k]) / (t[i + 1] - t[i]);

  const fmi2CallbackFunctions callbacks = {log_message, calloc, free, NULL, NULL};
  fmi2Component c = fmi2Instantiate("driver", fmi2CoSimulation, argv[2], argv[3], &callbacks, 0, 0);
  if (!c) fail("fmi2Instantiate");
  for (int64_t run = 0; run < repeats; run++) {
    const double began = now();
    CHECK(fmi2Reset(c));
    CHECK(fmi2SetupExperiment(c, use_tolerance, *tolerance, t[0], fmi2True, t[n - 1]));
    if (np) CHECK(fmi2SetReal(c, vp, (size_t)np, p));
    CHECK(fmi2EnterInitializationMode(c));
    if (nu) CHECK(fmi2SetReal(c, vu, (size_t)nu, u));
    CHECK(fmi2ExitInitializationMode(c));
    CHECK(fmi2GetReal(c, vy, (size_t)ny, y));
    for (int64_t i = 0; i + 1 < n; i++) {
      if (linear) CHECK(fmi2SetRealInputDerivatives(c, vu, (size_t)nu, order, slope + i * nu));
      CHECK(fmi2DoStep(c, t[i], t[i + 1] - t[i], fmi2True));
      if (nu) CHECK(fmi2SetReal(c, vu, (size_t)nu, u + (i + 1) * nu));
      CHECK(fmi2GetReal(c, vy, (size_t)ny, y + (i + 1) * ny));
    }
    CHECK(fmi2Terminate(c));
    seconds[run] = now() - began;
  }
  fmi2FreeInstance(c);

  file = fopen(argv[5], "wb");
  if (!file || fwrite(y, sizeof *y, (size_t)(n * ny), file) != (size_t)(n * ny) ||
      fwrite(seconds, sizeof *seconds, (size_t)repeats, file) != (size_t)repeats || fclose(file))
    fail("cannot write the result");
  return 0;
}
