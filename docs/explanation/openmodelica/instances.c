/* Two instances of one FMU 2.0 (F3), and memory after resets (F4). Linux; usage:
     cc -I FMI/headers instances.c -o instances -ldl
     ./instances /unpacked/binaries/linux64/M.so GUID file:///unpacked/resources */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fmi2Functions.h"

static void *library;
static const char *guid, *resources;
#define CALL(name, ...) ((name##TYPE *)dlsym(library, #name))(__VA_ARGS__)

static void quiet(fmi2ComponentEnvironment e, fmi2String n, fmi2Status s, fmi2String c,
                  fmi2String m, ...) { (void)e; (void)n; (void)s; (void)c; (void)m; }
static const fmi2CallbackFunctions callbacks = {quiet, calloc, free, NULL, NULL};

static fmi2Component make(const char *name) {
  return CALL(fmi2Instantiate, name, fmi2CoSimulation, guid, resources, &callbacks, 0, 0);
}
static int run(fmi2Component c) { /* initialise and take one step */
  CALL(fmi2SetupExperiment, c, 0, 0.0, 0.0, 0, 0.0);
  CALL(fmi2EnterInitializationMode, c);
  CALL(fmi2ExitInitializationMode, c);
  return CALL(fmi2DoStep, c, 0.0, 1e-3, 1) <= fmi2Warning;
}
static long kilobytes(void) { /* resident memory */
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file && fscanf(file, "%*s %ld", &pages) != 1) pages = 0;
  if (file) fclose(file);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}
int main(int count, char **words) {
  if (count < 4 || !(library = dlopen(words[1], RTLD_NOW))) return puts(dlerror()), 2;
  guid = words[2]; resources = words[3];
  pid_t child = fork();
  if (child == 0) { /* free one of two instances, go on with the other */
    fmi2Component first = make("first"), second = make("second");
    int good = run(first) && run(second);
    CALL(fmi2FreeInstance, first);
    good = good && CALL(fmi2Reset, second) <= fmi2Warning && run(second);
    _exit(good ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  printf("F3: %s %d\n", WIFSIGNALED(status) ? "crashed with signal" : "no crash,", status & 127);
  fmi2Component one = make("one"); /* the only one of this process */
  long before = 0;
  for (int k = -100; k < 1000 && run(one); k++, CALL(fmi2Reset, one))
    if (k == 0) before = kilobytes(); /* a hundred resets to warm up */
  printf("F4: %.2f kB per reset\n", (kilobytes() - before) / 1000.0);
  return status != 0;
}
