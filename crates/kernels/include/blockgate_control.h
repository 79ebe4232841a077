/*
 * C interface of the control source, which lives in an archive of its own (libblockgate_control.a).
 *
 * Its only purpose is to be code that an architecture-specific pass changes: a check that finds "nothing changed"
 * everywhere else must find a change here.
 */
#ifndef BLOCKGATE_CONTROL_H
#define BLOCKGATE_CONTROL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * d (16 x 8 f32, row-major) = a (16 x 32 E4M3, row-major) times b (8 x 32 E4M3, row-major, transposed), all on the
 * device and aligned to 4 bytes, asynchronous on `stream` (a cudaStream_t). Returns a cudaError_t.
 */
int32_t blockgate_control_product(const uint8_t *a, const uint8_t *b, float *d, void *stream);

#ifdef __cplusplus
}
#endif

#endif
