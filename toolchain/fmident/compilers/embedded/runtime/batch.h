/* The extension that docs/reference/batches.md specifies. */
#ifndef FMIDENT_BATCH_H
#define FMIDENT_BATCH_H

#include "instance.h"

typedef struct Batch Batch;

enum { BATCH_OPEN, BATCH_DONE, BATCH_ALONE };

/* NULL: not on this machine, or not these simulations. */
FMIDENT_EXPORT Batch *fmidentStartBatch(double tolerance, const double times[], size_t n_times,
                         const fmi2ValueReference inputs[], size_t n_inputs,
                         const double samples[], fmi2Boolean lines,
                         const fmi2ValueReference known[], size_t n_known, const double values[],
                         size_t count, const fmi2ValueReference outputs[], size_t n_outputs,
                         double *const results[]);
FMIDENT_EXPORT size_t fmidentAdvanceBatch(Batch *batch, size_t steps, unsigned char states[]);
FMIDENT_EXPORT void fmidentEndBatch(Batch *batch);

#endif
