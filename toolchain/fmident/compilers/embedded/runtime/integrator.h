/* What the integrators share. Each advances from the present time towards a communication point;
 * inputs beyond it are not known, so none steps past it. */
#ifndef FMIDENT_INTEGRATOR_H
#define FMIDENT_INTEGRATOR_H

#include "instance.h"

#if FMIDENT_STATES

/* What `FMIDENT_INTEGRATOR` of model_sizes.h says. */
enum { INTEGRATOR_AUTO, INTEGRATOR_EXPLICIT, INTEGRATOR_ROSENBROCK, INTEGRATOR_CVODE };

/* Where steps without history are, and what the next one begins with. */
typedef struct {
  double t; /* since `now.t` of the instance */
  double *x, *slope; /* dx/dt at t */
  int slope_known;
  int linearised; /* the Jacobian and the derivative in time are those of this place */
  /* What a step ends with. */
  double *next, *error; /* estimated */
  double radius;        /* of the spectrum of the Jacobian, estimated */
} Path;

/* explicit.c; these return 0 if all could be evaluated */
typedef struct {
  double *k[7]; /* slopes of the stages; the first one is not used */
  double *at;
  double *extension[4]; /* what the states between are calculated with */
} Explicit;
/* Room for what these point to, to be freed by the caller; NULL if there is no memory. */
double *fmident_path_room(Path *path, Explicit *explicit);
int fmident_explicit_step(Instance *instance, Explicit *explicit, Path *path, double size);

/* Its coefficients; the last row leads to the end of the step. */
enum { EXPLICIT_STAGES = 6 };
static const double explicit_nodes[EXPLICIT_STAGES] = {0.0, 1.0 / 5, 3.0 / 10, 4.0 / 5, 8.0 / 9, 1.0};
static const double explicit_weights[EXPLICIT_STAGES + 1][EXPLICIT_STAGES] = {
    {0.0},
    {1.0 / 5},
    {3.0 / 40, 9.0 / 40},
    {44.0 / 45, -56.0 / 15, 32.0 / 9},
    {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
    {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
    {35.0 / 384, 0.0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84}};
/* Of the estimate of its error, with the slope at the end. */
static const double explicit_errors[EXPLICIT_STAGES + 1] = {
    71.0 / 57600, 0.0, -71.0 / 16695, 71.0 / 1920, -17253.0 / 339200, 22.0 / 525, -1.0 / 40};

/* rosenbrock.c */
typedef struct Rosenbrock Rosenbrock;
Rosenbrock *fmident_rosenbrock_new(void);
int fmident_rosenbrock_step(Instance *instance, Rosenbrock *rosenbrock, Path *path, double size);
/* Of the spectrum of the Jacobian where a path is; 0 if it cannot be evaluated. */
double fmident_rosenbrock_radius(Instance *instance, Rosenbrock *rosenbrock, Path *path);
/* The states at a fraction of the step that was taken last. */
void fmident_rosenbrock_between(const Rosenbrock *rosenbrock, const Path *path, double fraction,
                                double *x);
/* The same after this has been called for the step. */
void fmident_explicit_extend(Explicit *explicit, const Path *path, double size);
void fmident_explicit_between(const Explicit *explicit, const Path *path, double fraction,
                              double *x);

/* The step that the states have taken last, from `path->x` to `path->next`. */
typedef struct {
  const Path *path;
  double size;
  const Explicit *explicit;     /* NULL for a step of the other */
  const Rosenbrock *rosenbrock;
} Taken;

/* The states at a fraction of it. */
void fmident_states_between(const Taken *taken, double fraction, double *x);

/* motion.c: the sensitivities take it, too. What cannot be evaluated is noted, see
 * `Sensitivities`; the states go on. */
void fmident_variational_step(Instance *instance, const Taken *taken);

/* The same for a step that an event has ended, after a shorter time. */
void fmident_variational_cut(Instance *instance, const Taken *taken, double size);
/* touching.c: a relation that comes near to switching within a step, and turns back */
void fmident_refuse_touching(Instance *instance, const Taken *taken);

/* switching.c: if a condition switches within it, the sensitivities take it. */
typedef enum {
  NOTHING_SWITCHES, /* and nothing is done */
  PASSED,
  MISSED /* the sensitivities are wrong */
} Switching;
Switching fmident_switching_step(Instance *instance, const Taken *taken);
/* variational.c: a part of it, between two switches */
void fmident_variational_part(Instance *instance, const Taken *taken, double begin, double end);

/* bdf.c; with FMIDENT_CVODE */
typedef enum {
  DONE,      /* `instance->x` holds the states at the communication point */
  TOO_CLOSE, /* a step of a few rounding errors of the time */
  FAILED     /* with the reason in `instance->trouble` or in a message */
} Outcome;
typedef struct Cvode Cvode;
#if FMIDENT_CVODE
Cvode *fmident_cvode_new(Instance *instance);
void fmident_cvode_delete(Cvode *cvode);
int fmident_cvode_restart(Instance *instance, Cvode *cvode, double t, const double *x);
/* Adds to `cost` the operations that it took, as `FMIDENT_COST_RHS` counts them. */
Outcome fmident_cvode_advance(Instance *instance, Cvode *cvode, double t_end, double *cost);
const char *fmident_cvode_message(const Cvode *cvode);
#else
static inline Cvode *fmident_cvode_new(Instance *instance) { return (void)instance, NULL; }
static inline void fmident_cvode_delete(Cvode *cvode) { (void)cvode; }
static inline int fmident_cvode_restart(Instance *instance, Cvode *cvode, double t,
                                        const double *x) {
  return (void)instance, (void)cvode, (void)t, (void)x, 1;
}
static inline Outcome fmident_cvode_advance(Instance *instance, Cvode *cvode, double t_end,
                                            double *cost) {
  return (void)instance, (void)cvode, (void)t_end, (void)cost, FAILED;
}
static inline const char *fmident_cvode_message(const Cvode *cvode) { return (void)cvode, ""; }
#endif

#endif
#endif
