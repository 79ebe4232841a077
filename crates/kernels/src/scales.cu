// Scale layout and factors for block-scaled tensor-core products.
#include "launch.h"
#include "types.cuh"

namespace blockgate {

constexpr int kThreads = 256;
// A tile is 128 rows by 4 columns, stored as 32 runs of 16 bytes: 128 words.
constexpr int kTileRows = 128;
constexpr int kTileColumns = 4;
constexpr int kTileWords = 128;

}  // namespace blockgate

// One thread per word of the result, which holds four columns of one row.
extern "C" __global__ void __launch_bounds__(blockgate::kThreads)
    bgk_tile_scales(const uint8_t *scales, int64_t rows, int64_t columns, int64_t words, uint32_t *tiled) {
    using namespace blockgate;
    const int64_t word = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
    if (word >= words) return;
    const int64_t column_tiles = (columns + kTileColumns - 1) / kTileColumns;
    const int64_t tile = word / kTileWords;
    const int within = static_cast<int>(word % kTileWords);
    const int64_t row = tile / column_tiles * kTileRows + within % 4 * 32 + within / 4;
    const int64_t column = tile % column_tiles * kTileColumns;
    uint32_t four = 0;
    if (row < rows) {
#pragma unroll
        for (int i = 0; i < kTileColumns; ++i)
            if (column + i < columns) four |= static_cast<uint32_t>(scales[row * columns + column + i]) << (8 * i);
    }
    tiled[word] = four;
}

extern "C" __global__ void bgk_qqmm_factors(const float *x_amax, const float *weight_amax, float *alpha,
                                            float *beta) {
    // f32(1 / 2688^2), the inverse of the range of both operands.
    const float inverse = blockgate::float_of(0x34149b93u);
    *alpha = x_amax == nullptr ? 1.0f : __fmul_rn(__fmul_rn(*x_amax, *weight_amax), inverse);
    *beta = 0.0f;
}

using namespace blockgate;

extern "C" int64_t blockgate_tiled_scale_bytes(int64_t rows, int64_t columns) {
    if (rows < 0 || columns < 0 || rows > kMaxElements || columns > kMaxElements) return -1;
    const int64_t row_tiles = divide_up(rows, kTileRows);
    const int64_t column_tiles = divide_up(columns, kTileColumns);
    if (column_tiles != 0 && row_tiles > kMaxElements / (kTileWords * 4) / column_tiles) return -1;
    return row_tiles * column_tiles * kTileWords * 4;
}

extern "C" blockgate_status blockgate_tile_scales(const uint8_t *scales, int64_t rows, int64_t columns,
                                                  uint8_t *tiled, void *stream) {
    if (rows < 0 || columns < 0) return BLOCKGATE_INVALID_SHAPE;
    const int64_t bytes = blockgate_tiled_scale_bytes(rows, columns);
    if (bytes < 0) return BLOCKGATE_TOO_LARGE;
    if (bytes == 0) return BLOCKGATE_OK;
    if (scales == nullptr || tiled == nullptr) return BLOCKGATE_INVALID_ARGUMENT;
    if (!aligned(tiled)) return BLOCKGATE_MISALIGNED;
    const int64_t words = bytes / 4;
    return launch(bgk_tile_scales, divide_up(words, kThreads), 1, kThreads, stream, scales, rows, columns, words,
                  reinterpret_cast<uint32_t *>(tiled));
}

extern "C" blockgate_status blockgate_qqmm_factors(const float *x_amax, const float *weight_amax, float *alpha,
                                                   float *beta, void *stream) {
    if (alpha == nullptr || beta == nullptr) return BLOCKGATE_INVALID_ARGUMENT;
    if ((x_amax == nullptr) != (weight_amax == nullptr)) return BLOCKGATE_INVALID_GLOBAL_SCALE;
    return launch(bgk_qqmm_factors, 1, 1, 1, stream, x_amax, weight_amax, alpha, beta);
}
