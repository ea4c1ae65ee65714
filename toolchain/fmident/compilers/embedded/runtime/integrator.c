/* SUNDIALS CVODE: variable-order BDF with Newton's method and the analytic Jacobian. */
#include "instance.h"

#if FMIDENT_NX > 0

#include <cvode/cvode.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sundials/sundials_config.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>

#if SUNDIALS_VERSION_MAJOR < 6
#error "SUNDIALS 6 or newer is needed"
#endif

/* Which changes of the right-hand side begin a new integration; over the others the
 * integrator keeps its history, and its error control takes care. */
#ifndef FMIDENT_RESTART_ON
#define FMIDENT_RESTART_ON (CHANGE_RESTART | CHANGE_JUMP)
#endif

enum { MAXIMUM_STEPS = 1000000 };

struct Integrator {
  SUNContext context;
  void *cvode;
  N_Vector x, absolute_tolerance;
  SUNMatrix matrix;
  SUNLinearSolver linear_solver;
  double tolerance;
  char message[512]; /* last message of CVODE */
};

static int rhs(sunrealtype t, N_Vector x, N_Vector dx, void *instance) {
  return fmident_rhs_at(instance, t, N_VGetArrayPointer(x), N_VGetArrayPointer(dx));
}

static int jacobian(sunrealtype t, N_Vector x, N_Vector dx, SUNMatrix matrix, void *instance,
                    N_Vector scratch1, N_Vector scratch2, N_Vector scratch3) {
  (void)dx, (void)scratch1, (void)scratch2, (void)scratch3;
  return fmident_jacobian_at(instance, t, N_VGetArrayPointer(x), SUNDenseMatrix_Data(matrix));
}

static void keep_message(Integrator *s, const char *text) {
  snprintf(s->message, sizeof s->message, "%s", text ? text : "");
}

#if SUNDIALS_VERSION_MAJOR >= 7
static void on_message(int line, const char *function, const char *file, const char *text,
                       SUNErrCode code, void *integrator, SUNContext context) {
  (void)line, (void)function, (void)file, (void)code, (void)context;
  keep_message(integrator, text);
}
#else
static void on_message(int code, const char *module, const char *function, char *text,
                       void *integrator) {
  (void)code, (void)module, (void)function;
  keep_message(integrator, text);
}
#endif

static int set_up(Integrator *s, Instance *m) {
#if SUNDIALS_VERSION_MAJOR >= 7
  if (SUNContext_Create(SUN_COMM_NULL, &s->context)) return 1;
  SUNContext_ClearErrHandlers(s->context);
  if (SUNContext_PushErrHandler(s->context, on_message, s)) return 1;
#else
  if (SUNContext_Create(NULL, &s->context)) return 1;
#endif
  s->x = N_VNew_Serial(FMIDENT_NX, s->context);
  s->absolute_tolerance = N_VNew_Serial(FMIDENT_NX, s->context);
  s->matrix = SUNDenseMatrix(FMIDENT_NX, FMIDENT_NX, s->context);
  if (!s->x || !s->absolute_tolerance || !s->matrix) return 1;
  N_VConst(0.0, s->x);
  s->linear_solver = SUNLinSol_Dense(s->x, s->matrix, s->context);
  s->cvode = CVodeCreate(CV_BDF, s->context);
  if (!s->linear_solver || !s->cvode) return 1;
#if SUNDIALS_VERSION_MAJOR < 7
  if (CVodeSetErrHandlerFn(s->cvode, on_message, s)) return 1;
#endif
  return CVodeInit(s->cvode, rhs, 0.0, s->x) || CVodeSetUserData(s->cvode, m) ||
         CVodeSStolerances(s->cvode, 1e-6, 1e-6) || /* replaced before the first step */
         CVodeSetLinearSolver(s->cvode, s->linear_solver, s->matrix) ||
         CVodeSetJacFn(s->cvode, jacobian) ||
         CVodeSetMaxNumSteps(s->cvode, MAXIMUM_STEPS) || CVodeSetMaxHnilWarns(s->cvode, -1);
}

Integrator *fmident_integrator_new(Instance *m) {
  Integrator *s = calloc(1, sizeof *s);
  if (s && set_up(s, m)) {
    fmident_log(m, fmi2Error, "CVODE could not be set up: %s", s->message);
    fmident_integrator_delete(s);
    return NULL;
  }
  return s;
}

void fmident_integrator_delete(Integrator *s) {
  if (!s) return;
  if (s->cvode) CVodeFree(&s->cvode);
  if (s->linear_solver) SUNLinSolFree(s->linear_solver);
  if (s->matrix) SUNMatDestroy(s->matrix);
  if (s->x) N_VDestroy(s->x);
  if (s->absolute_tolerance) N_VDestroy(s->absolute_tolerance);
  if (s->context) SUNContext_Free(&s->context);
  free(s);
}

/* The absolute tolerance of a state is relative to its nominal value. */
static int set_tolerance(Integrator *s, double tolerance) {
  double *absolute = N_VGetArrayPointer(s->absolute_tolerance);
  for (size_t i = 0; i < FMIDENT_NX; ++i) absolute[i] = tolerance * fabs(fmident_nominals[i]);
  s->tolerance = tolerance;
  return CVodeSVtolerances(s->cvode, tolerance, s->absolute_tolerance);
}

static int fail(Instance *m) {
  const Integrator *s = m->integrator;
  fmident_log(m, fmi2Error, "time %.17g: the integration stopped: %s%s%s", m->now.t,
              m->trouble[0] ? m->trouble : s->message, m->trouble[0] ? "; CVODE: " : "",
              m->trouble[0] ? s->message : "");
  return 1;
}

int fmident_integrate(Instance *m, double t_end) {
  Integrator *s = m->integrator;
  double *x = N_VGetArrayPointer(s->x);
  double t = m->now.t;
  int flag;
  m->trouble[0] = '\0';
  s->message[0] = '\0';
  if (m->change & FMIDENT_RESTART_ON) {
    memcpy(x, m->x, FMIDENT_NX * sizeof(double));
    if (m->now.tolerance != s->tolerance && set_tolerance(s, m->now.tolerance)) return fail(m);
    if (CVodeReInit(s->cvode, t, s->x)) return fail(m);
  }
  m->change = CHANGE_NONE;
  /* Inputs beyond the communication point are not known: never step past it. */
  if (CVodeSetStopTime(s->cvode, t_end)) return fail(m);
  flag = CVode(s->cvode, t_end, s->x, &t, CV_NORMAL);
  if (flag == CV_TOO_CLOSE) { /* a step of a few rounding errors of time */
    if (fmident_rhs_at(m, m->now.t, m->x, m->dx)) return fail(m);
    for (size_t i = 0; i < FMIDENT_NX; ++i) m->x[i] += (t_end - m->now.t) * m->dx[i];
    m->change = CHANGE_RESTART;
    return 0;
  }
  if (flag < 0) {
    m->change = CHANGE_RESTART;
    return fail(m);
  }
  memcpy(m->x, x, FMIDENT_NX * sizeof(double));
  return 0;
}

#else
typedef int fmident_no_integrator; /* an empty translation unit is not valid C */
#endif
