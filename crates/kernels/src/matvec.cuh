// The mat-vecs' common frame: one warp per output column, up to four rows of x per pass over a weight row.
#pragma once

#include "blockgate_kernels.h"
#include "types.cuh"

namespace blockgate {

constexpr int kWarps = 8;
constexpr int kThreads = 32 * kWarps;
constexpr int kRows = 4;

// Calls `dot(batch, n, m, rows, sums)`, which adds the lane's share of columns n and rows m .. m + rows to sums, then
// reduces over the warp and stores f32 sum * multiplier in y's type.
template <class Type, class Dot>
__device__ __forceinline__ void matvec(const blockgate_matmul &shape, float multiplier, void *y, Dot dot) {
    const int lane = threadIdx.x % 32;
    const int64_t column_tiles = (shape.n + kWarps - 1) / kWarps;
    const int64_t n = blockIdx.x % column_tiles * kWarps + threadIdx.x / 32;
    const int64_t m = blockIdx.x / column_tiles * kRows;
    if (n >= shape.n) return;
    const int rows = static_cast<int>(shape.m - m < kRows ? shape.m - m : kRows);
    for (int64_t batch = blockIdx.z; batch < shape.batch; batch += gridDim.z) {
        float sums[kRows] = {};
        dot(batch, n, m, lane, rows, sums);
        auto *out = static_cast<typename Type::Storage *>(y) + batch * shape.y_stride;
#pragma unroll
        for (int row = 0; row < kRows; ++row) {
            if (row >= rows) break;
            const float sum = warp_sum(sums[row]);
            if (lane == 0) store_one(Type{}, out + (m + row) * shape.n + n, __fmul_rn(multiplier, sum));
        }
    }
}

}  // namespace blockgate
