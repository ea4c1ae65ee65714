/* Derivatives with respect to parameters and start values: an extension of FMI 2.0, specified in
 * docs/reference/sensitivities.md. Matrices have a row for each state and a column for each known; behind them
 * there is one for dx/dt, which tells whether a step has missed something (motion.c). A row has
 * room for as many as fill the lanes. */
#ifndef FMIDENT_SENSITIVITIES_H
#define FMIDENT_SENSITIVITIES_H

#include "instance.h"
#include "lanes.h"

/* The last event whose instant follows the knowns. */
typedef struct {
  double at;    /* its time */
  double t;     /* the same if sensitivities jumped there */
  double doubt; /* how exactly that is known, s */
  double noise; /* of its shift: what rounding may leave, s over the knowns */
  int which;    /* what caused it */
} Crossing;

struct Sensitivities {
  size_t count;    /* of knowns; 0: nobody asks */
  size_t stride;   /* of the rows: `count` and one more, filled up to the lanes */
  unsigned *known; /* value references */
  char lost[256];  /* why they are not known any more; empty: they are */

  double *states; /* d x / d known, now: what a snapshot keeps */
  double *sizes;  /* largest of them so far: likewise */

  double *slope;       /* their derivative in time, where `slope_known` */
  double *modes;       /* of the conditions, where `modes_known` */
  int slope_known, modes_known;
  int refines;     /* a step of the states is taken in parts */
  int apart;       /* they follow the states of `refined` */
  int modes_ahead; /* `modes` need not be those of the states of the next step */
  double step;         /* size of the step of the states, s */
  double part;         /* size of the part that is tried next, s; 0: not known */
  double radius;       /* of the spectrum of the Jacobian, as estimated last */
  double error_before; /* of the part before, as estimated */

  double *along_t, *along_u, *along_p, *along_c; /* d t / d known, ... */
  double *held;   /* d d / d known, now, behind `along_c`: what a snapshot keeps */
  double *last_shift; /* of the instant of the last event that counts: likewise */
  Crossing crossing;
  double *held_before; /* at an event: of d before it */
  double *shift;       /* of its instant, with the knowns */
  double *rows;        /* scratch at events */
  char doubtful[256];  /* why the shift cannot be trusted; empty: it can */
  Crossing cause;      /* of the event that is happening */
  EventKind kind;
  double *tracked; /* indicators and their rates where a step begins, where `tracks` */
  int tracks;
  double *trial;               /* what is kept while others are there for reading only */
  struct Sensitivities *kept;  /* likewise */
  double *motion;            /* dx/dt where the last column began */
  double *floors;            /* what is enough of the error of a small one */
  double *elements;          /* of the Jacobian; scratch, as all that follow */
  double *vector;            /* of the radius, from one place to the next */
  double *modes_after, *modes_between, *indicators;
  double *before; /* `states` and `sizes` where a step began */
  double *stages; /* EXPLICIT_STAGES matrices and two more, or those of an implicit step */
  int *pivots;    /* 6 N */
  double *block;  /* that all these are in */
  struct Refined *refined; /* states of parts of a step; NULL: not needed yet */
  struct Refined *cut;     /* and of a step that ends at an event */
};

/* The functions of the extension. */
FMIDENT_EXPORT fmi2Status fmidentSetSensitivityVariables(fmi2Component c,
                                                      const fmi2ValueReference known[], size_t n);
FMIDENT_EXPORT fmi2Status fmidentGetSensitivities(fmi2Component c, const fmi2ValueReference unknown[],
                                               size_t n, fmi2Real values[]);

Sensitivities *fmident_sensitivities_new(void);
void fmident_sensitivities_delete(Sensitivities *sensitivities);

/* Take over what is known, `count` value references; 0 if there was memory for it. With NULL they
 * are not set. */
int fmident_sensitivities_resize(Sensitivities *sensitivities, size_t count,
                                 const unsigned *known);

/* Whether an output can be differentiated with respect to a variable. */
int fmident_is_known(unsigned reference);

/* Nothing is known of the place where they are, as after a restart. */
void fmident_sensitivities_restart(Sensitivities *sensitivities);

/* Those of the initial states: 0 on success. */
int fmident_sensitivities_start(Instance *instance);

/* The derivative of state derivatives or outputs along sensitivities of the states, at a time
 * since `now.t`: 0 on success. */
int fmident_along(Instance *instance, fmident_Lanes *function, double since, const double *x,
                  const double *states, double *result);

/* The same of any function with lanes, whose sixth argument is given. */
int fmident_lanes(Instance *instance, fmident_Lanes *function, double since, const double *x,
                  const double *sixth, const double *states, double *result);

/* The elements of the Jacobian, between two switches: 0 on success. */
int fmident_elements_at(Instance *instance, double since, const double *x);

/* motion.c: the last column follows inputs whose slopes have changed: 0 on success */
int fmident_motion_turn(Instance *instance, double since, const double *x);
/* It begins with the state derivatives. */
void fmident_motion_start(Sensitivities *sensitivities, const double *derivatives);
/* Whether it has become what the state derivatives are at the end of a part of a size. */
int fmident_motion_agrees(Instance *instance, double since, const double *x,
                          const double *derivatives, double size, int is_explicit);
void fmident_refined_delete(struct Refined *refined);

/* saltation.c; with FMIDENT_NH > 0. How sensitivities pass an event: before it, in each round of
 * its iteration, and when it has happened. */
void fmident_saltation_begin(Instance *instance, double since, const double *x, EventKind kind);
void fmident_saltation_round(Instance *instance, double since, const double *x);
void fmident_saltation_end(Instance *instance, double since, const double *x);
/* Those of the start, with the states before what happens there. */
void fmident_saltation_start(Instance *instance, const double *x);
/* Keep them while others are there for reading, or bring them back. */
void fmident_saltation_keep(Instance *instance, int back);
/* saltation.c: what passes through zero where relations switch, and its derivatives in time. */
int fmident_indicators_now(Instance *instance, double since, const double *x, const double *dx,
                           double *values, double *rates);
/* touching.c: what the error of the states, as the tolerance allows it, does to an indicator. */
double fmident_doubt_of(Instance *instance, double since, const double *x, int which);
/* The size of its derivatives with respect to the states. */
void fmident_gradient_of(Instance *instance, double since, const double *x, int which,
                         double *gradient);
/* Why there are none at the present communication point only; NULL if there are. */
const char *fmident_saltation_here(const Instance *instance);
/* An input jumps or bends where an event has happened whose instant follows the knowns. */
void fmident_saltation_input(Instance *instance);

/* Of the spectrum of the Jacobian whose elements were evaluated last. */
double fmident_sensitivities_radius(Sensitivities *sensitivities);

/* From now on they are not known. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void fmident_sensitivities_lose(Sensitivities *sensitivities, const char *format, ...);

#endif
