/* What the fixed runtime needs of one compiled model.
 *
 * The back end writes `model_sizes.h` (sizes and value references), `model_data.c` (tables) and
 * functions for every model; nothing else differs between two FMUs.
 *
 * Value references are blocks, in this order: states, derivatives, inputs, outputs,
 * parameters, calculated, locals, discrete variables. */
#ifndef FMIDENT_MODEL_H
#define FMIDENT_MODEL_H

#include "sizes.h"

#define FMIDENT_VR_X 0u
#define FMIDENT_VR_DX (FMIDENT_VR_X + FMIDENT_NX)
#define FMIDENT_VR_U (FMIDENT_VR_DX + FMIDENT_NX)
#define FMIDENT_VR_Y (FMIDENT_VR_U + FMIDENT_NU)
#define FMIDENT_VR_P (FMIDENT_VR_Y + FMIDENT_NY)
#define FMIDENT_VR_C (FMIDENT_VR_P + FMIDENT_NP)
#define FMIDENT_VR_W (FMIDENT_VR_C + FMIDENT_NC)
#define FMIDENT_VR_D (FMIDENT_VR_W + FMIDENT_NW)
#define FMIDENT_VR_END (FMIDENT_VR_D + FMIDENT_NDV)

/* A function in the calling convention of CasADi's generated code: 0 means success. */
typedef int fmident_Function(const double **arg, double **res, long long int *iw, double *w,
                             int mem);

fmident_Function fmident_calculated_parameters; /* (p) -> (c) */
fmident_Function fmident_initial_states;        /* (t, u, p, c) -> (x) */
fmident_Function fmident_rhs;                   /* (t, x, u, p, c) -> (dx, a) */
/* (t, x, u, p, c) -> (elements of d dx / d x), FMIDENT_JACOBIAN_ELEMENTS of them */
fmident_Function fmident_jacobian;
/* (t, x, u, p, c, du) -> (d dx / d t where u changes by du) */
fmident_Function fmident_time_derivative;
fmident_Function fmident_outputs;               /* (t, x, u, p, c) -> (y, a) */
fmident_Function fmident_locals;                /* (t, x, u, p, c) -> (w) */
fmident_Function fmident_asserts;               /* (t, x, u, p, c) -> (a) */
/* (t, x, u, p, c, sx, su, sp) -> (sy, sdx): derivative along the direction (sx, su, sp),
 * where c follows p */
fmident_Function fmident_directional;
/* (t, u, p, c, su, sp) -> (sx): the same of the initial states */
fmident_Function fmident_directional_initial;

/* (p) -> (elements of d c / d p that are not zero for good) */
fmident_Function fmident_calculated_derivatives;
/* (t, x, u, p, c, sx, sp, sh) -> (sw, sc): derivative along the direction (sx, sp, sh), sh being
 * that of what is held between events */
fmident_Function fmident_directional_locals;

/* Conditions of the state derivatives, FMIDENT_MODES of them, and the modes that stand for them. */
fmident_Function fmident_switches;     /* (t, x, u, p, c) -> (indicators, modes) */
fmident_Function fmident_switched_rhs; /* (t, x, u, p, c, modes) -> (dx) */
/* (t, x, u, p, c, st, sx, su, sp, sh) -> derivative of the indicators along (st, sx, su, sp, sh) */
fmident_Function fmident_directional_switches;

/* What is held between events stands in c behind the calculated parameters: FMIDENT_NR relations,
 * the phases initial() and terminal(), FMIDENT_NS samples, and d, the FMIDENT_ND discrete variables
 * and conditions of when-equations; FMIDENT_NH in all, 0 for a model without events. */
#define HELD_INITIAL FMIDENT_NR
#define HELD_TERMINAL (HELD_INITIAL + 1)
#define HELD_SAMPLES (HELD_TERMINAL + 1)
#define HELD_D (HELD_SAMPLES + FMIDENT_NS)
fmident_Function fmident_live;    /* (t, x, u, p, c) -> (relations, as they are now) */
fmident_Function fmident_samples; /* (p, c) -> (start and interval of each sample) */
fmident_Function fmident_starts;  /* (t, x, u, p, c) -> (d before the start) */
fmident_Function fmident_update;  /* (t, x, u, p, c, d before) -> (d, x) */
/* (t, x, u, p, c, dx, du) -> what passes through zero where a relation switches, and how fast */
fmident_Function fmident_indicators;

/* What binds the states to each other, FMIDENT_CONSTRAINTS of them:
 * (t, x, u, p, c) -> (residuals, d residuals / d x, column by column) */
fmident_Function fmident_constraints;
extern const char *const fmident_constraint_texts[];

/* Algebraic loops that are iterated, FMIDENT_LOOPS of them; those from FMIDENT_RUNNING_LOOPS on belong
 * to the initial states. Behind what is held there are in c their FMIDENT_NZ unknowns and then, of
 * each, the inverse of d residual / d unknowns, column by column. */
typedef struct {
  fmident_Function *function; /* (t, x, u, p, c) -> (residual, d residual / d unknowns) */
  int size;
  int first;   /* unknown, in c */
  int inverse; /* in c */
  int linear;  /* in the unknowns */
} Loop;
extern const Loop fmident_loops[];
extern const double fmident_loop_nominals[];       /* NZ */
extern const char *const fmident_loop_unknowns[];  /* NZ */
extern const char *const fmident_loop_equations[]; /* NZ; those that are left after tearing */
fmident_Function fmident_loop_starts;              /* (p, c) -> (first guesses) */

/* (t, x, u, p, c, modes) -> (elements of d dx / d x) */
fmident_Function fmident_switched_jacobian;

/* Where the elements of a matrix are that are not zero for good, column by column: those of
 * column j begin with starts[j]. */
typedef struct {
  const int *rows;
  const int *starts;
} Elements;
extern const Elements fmident_calculated_elements, fmident_switched_elements;

/* (t, x, u, p, c, modes, sx, sp, sc, st, su) -> derivative along (sx, sp, sc, st, su) in
 * FMIDENT_LANES lanes: element i of the last five and of the result begins at i * stride. Outputs
 * are differentiated along the first three only. */
typedef int fmident_Lanes(const double **arg, double **res, long stride);
fmident_Lanes fmident_rhs_along;
fmident_Lanes fmident_outputs_along;
/* With FMIDENT_NH > 0; the last has d before the event in place of modes, and is differentiated
 * along it, too. */
fmident_Lanes fmident_indicators_along, fmident_samples_along;
fmident_Lanes fmident_starts_along; /* of initial states, and of d before the start */
fmident_Lanes fmident_update_along; /* of d and x */

extern const char fmident_guid[];
extern const double fmident_default_tolerance;
extern const char *const fmident_names[];         /* by value reference */
extern const double fmident_parameter_defaults[]; /* NP */
extern const double fmident_input_starts[];       /* NU */
extern const double fmident_state_starts[];       /* NX; of settable states */
extern const unsigned char fmident_state_settable[]; /* NX; the start value is a literal */
extern const double fmident_nominals[];           /* NX */
extern const int fmident_jacobian_places[];       /* of the elements in the column-major matrix */
extern const char *const fmident_assert_messages[]; /* NA */
extern const char *const fmident_relations[];       /* NR */
extern const unsigned char fmident_relation_matters[]; /* NR; to more than discrete variables */
enum { TYPE_REAL, TYPE_INTEGER, TYPE_BOOLEAN };
extern const int fmident_discrete_types[]; /* NDV */
extern const unsigned char fmident_assert_is_error[]; /* NA */

#endif
