/* SUNDIALS CVODE: variable-order BDF with Newton's method and the analytic Jacobian. */
#include "integrator.h"

#if FMIDENT_CVODE

#include <cvode/cvode.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>

enum { MAXIMUM_STEPS = 1000000 };

/* CVODE controls the error of each of its steps, and every communication point costs it
 * some. With a hundredth of the tolerance as the local one, errors of whole trajectories
 * come to lie near the tolerance, for about 1.5 times the work. */
static const double local_share = 0.01;
static const double smallest_local_tolerance = 1e-14;

/* Its own work, in operations: measured on models of a few states. */
static const double per_step = 2000.0, per_step_and_state = 40.0, per_call = 4000.0;

struct Cvode {
  SUNContext context;
  void *cvode;
  N_Vector x, absolute_tolerance;
  SUNMatrix matrix;
  SUNLinearSolver linear_solver;
  double tolerance;
  char message[512]; /* last message of CVODE */
};

static int rhs(sunrealtype t, N_Vector x, N_Vector dx, void *instance) {
  const Instance *m = instance;
  return fmident_rhs_at(instance, t - m->now.t, N_VGetArrayPointer(x), N_VGetArrayPointer(dx));
}

static int jacobian(sunrealtype t, N_Vector x, N_Vector dx, SUNMatrix matrix, void *instance,
                    N_Vector scratch1, N_Vector scratch2, N_Vector scratch3) {
  (void)dx, (void)scratch1, (void)scratch2, (void)scratch3;
  const Instance *m = instance;
  return fmident_jacobian_at(instance, t - m->now.t, N_VGetArrayPointer(x),
                             SUNDenseMatrix_Data(matrix));
}

static void keep_message(Cvode *s, const char *text) {
  snprintf(s->message, sizeof s->message, "%s", text ? text : "");
}

static void on_message(int code, const char *module, const char *function, char *text,
                       void *integrator) {
  (void)code, (void)module, (void)function;
  keep_message(integrator, text);
}

static int set_up(Cvode *s, Instance *m) {
  if (SUNContext_Create(NULL, &s->context)) return 1;
  s->x = N_VNew_Serial(FMIDENT_NX, s->context);
  s->absolute_tolerance = N_VNew_Serial(FMIDENT_NX, s->context);
  s->matrix = SUNDenseMatrix(FMIDENT_NX, FMIDENT_NX, s->context);
  if (!s->x || !s->absolute_tolerance || !s->matrix) return 1;
  N_VConst(0.0, s->x);
  s->linear_solver = SUNLinSol_Dense(s->x, s->matrix, s->context);
  s->cvode = CVodeCreate(CV_BDF, s->context);
  if (!s->linear_solver || !s->cvode) return 1;
  if (CVodeSetErrHandlerFn(s->cvode, on_message, s)) return 1;
  return CVodeInit(s->cvode, rhs, 0.0, s->x) || CVodeSetUserData(s->cvode, m) ||
         CVodeSStolerances(s->cvode, 1e-6, 1e-6) || /* replaced before the first step */
         CVodeSetLinearSolver(s->cvode, s->linear_solver, s->matrix) ||
         CVodeSetJacFn(s->cvode, jacobian) ||
         CVodeSetMaxNumSteps(s->cvode, MAXIMUM_STEPS) || CVodeSetMaxHnilWarns(s->cvode, -1);
}

Cvode *fmident_cvode_new(Instance *m) {
  Cvode *s = calloc(1, sizeof *s);
  if (s && set_up(s, m)) {
    fmident_log(m, fmi2Error, "CVODE could not be set up: %s", s->message);
    fmident_cvode_delete(s);
    return NULL;
  }
  return s;
}

void fmident_cvode_delete(Cvode *s) {
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
static int set_tolerance(Cvode *s, double tolerance) {
  const double local = fmax(local_share * tolerance, smallest_local_tolerance);
  double *absolute = N_VGetArrayPointer(s->absolute_tolerance);
  for (size_t i = 0; i < FMIDENT_NX; ++i) absolute[i] = local * fabs(fmident_nominals[i]);
  s->tolerance = tolerance;
  return CVodeSVtolerances(s->cvode, local, s->absolute_tolerance);
}

int fmident_cvode_restart(Instance *m, Cvode *s, double t, const double *x) {
  memcpy(N_VGetArrayPointer(s->x), x, FMIDENT_NX * sizeof(double));
  if (m->now.tolerance != s->tolerance && set_tolerance(s, m->now.tolerance)) return 1;
  return CVodeReInit(s->cvode, t, s->x);
}

/* Operations since the last restart, as `FMIDENT_COST_RHS` counts them. */
static double cost_of(const Cvode *s) {
  long steps = 0, evaluations = 0, jacobians = 0, factorisations = 0, iterations = 0;
  CVodeGetNumSteps(s->cvode, &steps);
  CVodeGetNumRhsEvals(s->cvode, &evaluations);
  CVodeGetNumJacEvals(s->cvode, &jacobians);
  CVodeGetNumLinSolvSetups(s->cvode, &factorisations);
  CVodeGetNumNonlinSolvIters(s->cvode, &iterations);
  return (per_step + per_step_and_state * FMIDENT_NX) * (double)steps + FMIDENT_COST_RHS * (double)evaluations +
         FMIDENT_COST_JACOBIAN * (double)jacobians +
         0.67 * FMIDENT_NX * FMIDENT_NX * FMIDENT_NX * (double)factorisations +
         (2.0 * FMIDENT_NX * FMIDENT_NX) * (double)iterations;
}

Outcome fmident_cvode_advance(Instance *m, Cvode *s, double t_end, double *cost) {
  const double before = cost_of(s);
  double t;
  s->message[0] = '\0';
  /* Inputs beyond the communication point are not known: never step past it. */
  int flag = CVodeSetStopTime(s->cvode, t_end);
  if (!flag) flag = CVode(s->cvode, t_end, s->x, &t, CV_NORMAL);
  *cost += per_call + cost_of(s) - before;
  if (flag == CV_TOO_CLOSE) return TOO_CLOSE;
  if (flag < 0) return FAILED;
  memcpy(m->x, N_VGetArrayPointer(s->x), FMIDENT_NX * sizeof(double));
  return DONE;
}

const char *fmident_cvode_message(const Cvode *s) { return s->message; }

#else
typedef int fmident_no_cvode; /* an empty translation unit is not valid C */
#endif
