/* Derivatives with respect to parameters and start values: an extension of FMI 2.0, specified in
 * docs/sensitivities.md. Matrices have a row for each state and a column for each known; a row has
 * room for as many as fill the lanes. */
#ifndef FMIDENT_SENSITIVITIES_H
#define FMIDENT_SENSITIVITIES_H

#include "instance.h"

struct Sensitivities {
  size_t count;    /* of knowns; 0: nobody asks */
  size_t stride;   /* of the rows: `count` filled up to the lanes */
  unsigned *known; /* value references */
  char lost[256];  /* why they are not known any more; empty: they are */

  double *states; /* d x / d known, now: what a snapshot keeps */
  double *sizes;  /* largest of them so far: likewise */

  double *slope;       /* their derivative in time, where `slope_known` */
  double *modes;       /* of the conditions, where `modes_known` */
  int slope_known, modes_known;
  double part;         /* size of the part that is tried next, s; 0: not known */
  double radius;       /* of the spectrum of the Jacobian, as estimated last */
  double error_before; /* of the part before, as estimated */

  double *along_p, *along_c; /* d p / d known, d c / d known */
  double *per_known;         /* 1 over the size of each known, 1 behind the last */
  double *elements;          /* of the Jacobian; scratch, as all that follow */
  double *vector;            /* of the radius, from one place to the next */
  double *modes_after, *modes_between, *indicators;
  double *stages; /* EXPLICIT_STAGES matrices and one more, or those of an implicit step */
  int *pivots;    /* 3 N */
  double *block;  /* that all these are in */
};

/* The functions of the extension. */
FMI2_Export fmi2Status fmidentSetSensitivityVariables(fmi2Component c,
                                                      const fmi2ValueReference known[], size_t n);
FMI2_Export fmi2Status fmidentGetSensitivities(fmi2Component c, const fmi2ValueReference unknown[],
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

/* The elements of the Jacobian, between two switches: 0 on success. */
int fmident_elements_at(Instance *instance, double since, const double *x);

/* Of the spectrum of the Jacobian whose elements were evaluated last. */
double fmident_sensitivities_radius(Sensitivities *sensitivities);

/* From now on they are not known. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void fmident_sensitivities_lose(Sensitivities *sensitivities, const char *format, ...);

#endif
