/* What the integrators share. Each advances from the present time towards a communication point;
 * inputs beyond it are not known, so none steps past it. */
#ifndef FMIDENT_INTEGRATOR_H
#define FMIDENT_INTEGRATOR_H

#include "instance.h"

#if FMIDENT_NX > 0

/* What `FMIDENT_INTEGRATOR` of model_sizes.h says. */
enum { INTEGRATOR_AUTO, INTEGRATOR_EXPLICIT, INTEGRATOR_ROSENBROCK, INTEGRATOR_CVODE };

/* Where steps without history are, and what the next one begins with. */
typedef struct {
  double t; /* since `now.t` of the instance */
  double x[FMIDENT_NX];
  double slope[FMIDENT_NX]; /* dx/dt at t */
  int slope_known;
  int linearised; /* the Jacobian and the derivative in time are those of this place */
  /* What a step ends with. */
  double next[FMIDENT_NX];
  double error[FMIDENT_NX]; /* estimated */
  double radius;            /* of the spectrum of the Jacobian, estimated */
} Path;

/* explicit.c; these return 0 if all could be evaluated */
typedef struct {
  double k[7][FMIDENT_NX]; /* slopes of the stages; the first one is not used */
  double at[FMIDENT_NX];
} Explicit;
int fmident_explicit_step(Instance *instance, Explicit *explicit, Path *path, double size);

/* rosenbrock.c */
typedef struct Rosenbrock Rosenbrock;
Rosenbrock *fmident_rosenbrock_new(void);
int fmident_rosenbrock_step(Instance *instance, Rosenbrock *rosenbrock, Path *path, double size);
/* Of the spectrum of the Jacobian where a path is; 0 if it cannot be evaluated. */
double fmident_rosenbrock_radius(Instance *instance, Rosenbrock *rosenbrock, Path *path);

/* cvode.c */
typedef enum {
  DONE,      /* `instance->x` holds the states at the communication point */
  TOO_CLOSE, /* a step of a few rounding errors of the time */
  FAILED     /* with the reason in `instance->trouble` or in a message */
} Outcome;
typedef struct Cvode Cvode;
Cvode *fmident_cvode_new(Instance *instance);
void fmident_cvode_delete(Cvode *cvode);
int fmident_cvode_restart(Instance *instance, Cvode *cvode, double t, const double *x);
/* Adds to `cost` the operations that it took, as `FMIDENT_COST_RHS` counts them. */
Outcome fmident_cvode_advance(Instance *instance, Cvode *cvode, double t_end, double *cost);
const char *fmident_cvode_message(const Cvode *cvode);

#endif
#endif
