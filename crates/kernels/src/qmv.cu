// Mat-vec with affine weights, dequantized to the activations' type and summed in f32.
#include "launch.h"
#include "matvec.cuh"

namespace blockgate {

// Elements that one lane takes at a time: 32 of them are `Bits` whole words and lie in one group.
constexpr int kRun = 32;

template <int Bits, class Type>
__device__ __forceinline__ void qmv(const blockgate_matmul &shape, const void *x, const uint32_t *packed,
                                    const void *scales, const void *biases, int group_shift, void *y) {
    using Storage = typename Type::Storage;
    const int64_t runs = shape.k / kRun;
    matvec<Type>(shape, 1.0f, y, [&](int64_t batch, int64_t n, int64_t m, int lane, int rows, float (&sums)[kRows]) {
        const uint32_t *weight = packed + batch * shape.weight_stride + n * runs * Bits;
        const int64_t first_group = batch * shape.scale_stride + n * (runs >> group_shift);
        const Storage *from = static_cast<const Storage *>(x) + batch * shape.x_stride + m * shape.k;
        for (int64_t run = lane; run < runs; run += 32) {
            uint32_t words[Bits];
            load_words(weight + run * Bits, words);
            const int64_t at = first_group + (run >> group_shift);
            const float scale = load_one(Type{}, static_cast<const Storage *>(scales) + at);
            const float bias = load_one(Type{}, static_cast<const Storage *>(biases) + at);
#pragma unroll
            for (int chunk = 0; chunk < kRun / kChunk; ++chunk) {
                float weights[kChunk];
#pragma unroll
                for (int i = 0; i < kChunk; i += 2) {
                    weights[i] = static_cast<float>(extract<Bits>(words, chunk * kChunk + i));
                    weights[i + 1] = static_cast<float>(extract<Bits>(words, chunk * kChunk + i + 1));
                    affine_pair(Type{}, scale, bias, weights[i], weights[i + 1]);
                }
#pragma unroll
                for (int row = 0; row < kRows; ++row) {
                    if (row >= rows) break;
                    float values[kChunk];
                    load_chunk(Type{}, from + row * shape.k + run * kRun + chunk * kChunk, values);
#pragma unroll
                    for (int i = 0; i < kChunk; ++i) sums[row] = fmaf(values[i], weights[i], sums[row]);
                }
            }
        }
    });
}

}  // namespace blockgate

#define BLOCKGATE_QMV(bits, type, Type)                                                                     \
    extern "C" __global__ void __launch_bounds__(blockgate::kThreads)                                       \
        bgk_qmv_affine_b##bits##_##type(blockgate_matmul shape, const void *x, const uint32_t *packed,      \
                                        const void *scales, const void *biases, int group_shift, void *y) { \
        blockgate::qmv<bits, blockgate::Type>(shape, x, packed, scales, biases, group_shift, y);            \
    }
#define BLOCKGATE_EACH_WIDTH(type, Type)                                                   \
    BLOCKGATE_QMV(2, type, Type)                                                           \
    BLOCKGATE_QMV(3, type, Type)                                                           \
    BLOCKGATE_QMV(4, type, Type) BLOCKGATE_QMV(5, type, Type) BLOCKGATE_QMV(6, type, Type) \
        BLOCKGATE_QMV(8, type, Type)

BLOCKGATE_EACH_WIDTH(f32, F32)
BLOCKGATE_EACH_WIDTH(f16, F16)
BLOCKGATE_EACH_WIDTH(bf16, Bf16)

namespace blockgate {

using QmvKernel = void (*)(blockgate_matmul, const void *, const uint32_t *, const void *, const void *, int, void *);

#define BLOCKGATE_ROW(stem) {stem##_f32, stem##_f16, stem##_bf16}
constexpr QmvKernel kQmv[kAffineWidths][kDtypes] = {
    BLOCKGATE_ROW(bgk_qmv_affine_b2), BLOCKGATE_ROW(bgk_qmv_affine_b3), BLOCKGATE_ROW(bgk_qmv_affine_b4),
    BLOCKGATE_ROW(bgk_qmv_affine_b5), BLOCKGATE_ROW(bgk_qmv_affine_b6), BLOCKGATE_ROW(bgk_qmv_affine_b8)};

}  // namespace blockgate

using namespace blockgate;

extern "C" blockgate_status blockgate_affine_qmv(const blockgate_matmul *shape, int32_t bits, int32_t group,
                                                 blockgate_dtype dtype, const void *x, const uint32_t *packed,
                                                 const void *scales, const void *biases, void *y, void *stream) {
    if (shape == nullptr || !valid_dtype(dtype)) return BLOCKGATE_INVALID_ARGUMENT;
    if (!valid_affine(bits, group)) return BLOCKGATE_UNSUPPORTED_FORMAT;
    bool empty = false;
    const blockgate_status status = check_matmul(shape, shape->k, group, bits, &empty);
    if (status != BLOCKGATE_OK || empty) return status;
    if (x == nullptr || packed == nullptr || scales == nullptr || biases == nullptr || y == nullptr)
        return BLOCKGATE_INVALID_ARGUMENT;
    if (!aligned(x) || !aligned(packed) || !aligned(scales) || !aligned(biases)) return BLOCKGATE_MISALIGNED;
    if (shape->batch > 1 && shape->x_stride % kChunk != 0) return BLOCKGATE_MISALIGNED;
    const int64_t blocks = divide_up(shape->n, kWarps) * divide_up(shape->m, kRows);
    return launch(kQmv[affine_index(bits)][dtype], blocks, grid_batches(shape->batch), kThreads, stream, *shape, x,
                  packed, scales, biases, group_shift(group, kRun), y);
}
