// Host side shared by the launchers: argument checks, launches, and CUDA errors as statuses.
//
// A .cu file has no unnamed namespace, not even for host code: the compiler would name it after a hash of the file's
// path, and the object would depend on the folder. Host functions of one file are static instead.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <type_traits>

#include "blockgate_kernels.h"

namespace blockgate {

// Keeps `error` for blockgate_last_cuda_error and names its class.
blockgate_status status_of(cudaError_t error);

constexpr int kDtypes = 3;
constexpr int kFormats = 3;

inline bool valid_dtype(blockgate_dtype dtype) { return dtype >= 0 && dtype < kDtypes; }
inline bool valid_format(blockgate_format format) { return format >= 0 && format < kFormats; }
inline int64_t dtype_bytes(blockgate_dtype dtype) { return dtype == BLOCKGATE_F32 ? 4 : 2; }
inline int64_t format_group(blockgate_format format) { return format == BLOCKGATE_NVFP4 ? 16 : 32; }
inline int64_t format_bits(blockgate_format format) { return format == BLOCKGATE_MXFP8 ? 8 : 4; }
inline bool valid_affine(int32_t bits, int32_t group) {
    const bool known_bits = bits == 2 || bits == 3 || bits == 4 || bits == 5 || bits == 6 || bits == 8;
    return known_bits && (group == 32 || group == 64 || group == 128);
}

// log2 of the runs of `run` elements in an affine group, all of which are powers of two.
inline int group_shift(int32_t group, int32_t run) {
    int shift = 0;
    while (run << shift < group) ++shift;
    return shift;
}

// Index of a bit count in tables of affine kernels: 2, 3, 4, 5, 6, 8.
constexpr int kAffineWidths = 6;
inline int affine_index(int32_t bits) { return bits == 8 ? 5 : bits - 2; }

inline bool aligned(const void *pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

// Sizes stay below 2^60 bytes, so that sums and small multiples of offsets cannot overflow.
constexpr int64_t kMaxElements = int64_t{1} << 57;

// Checks a matrix whose rows are whole groups; `elements` is rows * columns.
inline blockgate_status check_matrix(int64_t rows, int64_t columns, int64_t group, int64_t *elements) {
    if (rows < 0 || columns < 0 || columns % group != 0) return BLOCKGATE_INVALID_SHAPE;
    if (columns != 0 && rows > kMaxElements / columns) return BLOCKGATE_TOO_LARGE;
    *elements = rows * columns;
    return BLOCKGATE_OK;
}

inline blockgate_status check_global(blockgate_format format, blockgate_global_scale global_scale) {
    if (global_scale.form == BLOCKGATE_GLOBAL_NONE) return BLOCKGATE_OK;
    if (global_scale.form != BLOCKGATE_GLOBAL_AMAX && global_scale.form != BLOCKGATE_GLOBAL_MULTIPLIER)
        return BLOCKGATE_INVALID_ARGUMENT;
    if (format != BLOCKGATE_NVFP4) return BLOCKGATE_INVALID_GLOBAL_SCALE;
    return global_scale.value == nullptr ? BLOCKGATE_INVALID_ARGUMENT : BLOCKGATE_OK;
}

// Launches with exactly the kernel's parameter types. `blocks` counts thread blocks along x.
template <class... Parameters>
blockgate_status launch(void (*kernel)(Parameters...), int64_t blocks, unsigned batches, unsigned threads,
                        void *stream, typename std::common_type<Parameters>::type... arguments) {
    if (blocks > std::numeric_limits<int32_t>::max()) return BLOCKGATE_TOO_LARGE;
    void *addresses[] = {static_cast<void *>(&arguments)...};
    const dim3 grid(static_cast<unsigned>(blocks), 1, batches);
    const cudaError_t error = cudaLaunchKernel(reinterpret_cast<const void *>(kernel), grid, dim3(threads), addresses,
                                               0, static_cast<cudaStream_t>(stream));
    return error == cudaSuccess ? BLOCKGATE_OK : status_of(error);
}

inline int64_t divide_up(int64_t value, int64_t by) { return value / by + (value % by != 0); }

// Batches run along the grid's z axis, which has 65535 places; kernels stride over the rest.
inline unsigned grid_batches(int64_t batch) { return static_cast<unsigned>(batch < 65535 ? batch : 65535); }

// Checks a product. `group_axis` is the axis that groups run along, `words` the 32-bit words of the smallest run that
// a kernel loads at once. On success with `*empty` there is nothing to compute.
inline blockgate_status check_matmul(const blockgate_matmul *shape, int64_t group_axis, int64_t group, int64_t words,
                                     bool *empty) {
    if (shape->m < 0 || shape->n < 0 || shape->k < 0 || shape->batch < 0 || group_axis % group != 0)
        return BLOCKGATE_INVALID_SHAPE;
    if (shape->x_stride < 0 || shape->weight_stride < 0 || shape->scale_stride < 0 || shape->y_stride < 0)
        return BLOCKGATE_INVALID_SHAPE;
    // An empty sum would need a fill of y, which is not a product's business.
    *empty = shape->m == 0 || shape->n == 0 || shape->batch == 0;
    if (*empty) return BLOCKGATE_OK;
    if (shape->k == 0) return BLOCKGATE_INVALID_SHAPE;
    if (shape->m > kMaxElements / shape->k || shape->n > kMaxElements / shape->k ||
        shape->m > kMaxElements / shape->n)
        return BLOCKGATE_TOO_LARGE;
    if (shape->batch == 1) return BLOCKGATE_OK;
    const int64_t last = shape->batch - 1;
    for (const int64_t stride : {shape->x_stride, shape->weight_stride, shape->scale_stride, shape->y_stride})
        if (stride > kMaxElements / last) return BLOCKGATE_TOO_LARGE;
    if (shape->y_stride == 0) return BLOCKGATE_INVALID_SHAPE;
    return shape->weight_stride % words == 0 ? BLOCKGATE_OK : BLOCKGATE_MISALIGNED;
}

}  // namespace blockgate
