// Mat-vec with block-format weights: f32 sums per group, scaled once per group.
#include "launch.h"
#include "matvec.cuh"

namespace blockgate {

template <class Format, class Type>
__device__ __forceinline__ void fp_qmv(const blockgate_matmul &shape, const void *x, const uint32_t *packed,
                                       const uint8_t *scales, const float *global_value, int global_form, void *y) {
    constexpr int kGroup = Format::kGroup;
    constexpr int kWords = kGroup * Format::kBits / 32;
    const int64_t groups = shape.k / kGroup;
    const float multiplier = global_multiplier(global_value, global_form);
    matvec<Type>(
        shape, multiplier, y, [&](int64_t batch, int64_t n, int64_t m, int lane, int rows, float (&sums)[kRows]) {
            const uint32_t *weight = packed + batch * shape.weight_stride + n * groups * kWords;
            const uint8_t *scale_row = scales + batch * shape.scale_stride + n * groups;
            const auto *from = static_cast<const typename Type::Storage *>(x) + batch * shape.x_stride + m * shape.k;
            for (int64_t group = lane; group < groups; group += 32) {
                uint32_t words[kWords];
                load_words(weight + group * kWords, words);
                const float scale = Format::decode_scale(scale_row[group]);
                float partial[kRows] = {};
#pragma unroll
                for (int chunk = 0; chunk < kGroup / kChunk; ++chunk) {
                    float elements[kChunk];
#pragma unroll
                    for (int i = 0; i < kChunk; ++i)
                        elements[i] = Format::decode_code(extract<Format::kBits>(words, chunk * kChunk + i));
#pragma unroll
                    for (int row = 0; row < kRows; ++row) {
                        if (row >= rows) break;
                        float values[kChunk];
                        load_chunk(Type{}, from + row * shape.k + group * kGroup + chunk * kChunk, values);
#pragma unroll
                        for (int i = 0; i < kChunk; ++i) partial[row] = fmaf(values[i], elements[i], partial[row]);
                    }
                }
#pragma unroll
                for (int row = 0; row < kRows; ++row) sums[row] = fmaf(scale, partial[row], sums[row]);
            }
        });
}

}  // namespace blockgate

#define BLOCKGATE_FP_QMV(format, Format, type, Type)                                                               \
    extern "C" __global__ void __launch_bounds__(blockgate::kThreads)                                              \
        bgk_qmv_##format##_##type(blockgate_matmul shape, const void *x, const uint32_t *packed,                   \
                                  const uint8_t *scales, const float *global_value, int global_form, void *y) {    \
        blockgate::fp_qmv<blockgate::Format, blockgate::Type>(shape, x, packed, scales, global_value, global_form, \
                                                              y);                                                  \
    }
#define BLOCKGATE_EACH_FORMAT(type, Type)      \
    BLOCKGATE_FP_QMV(nvfp4, Nvfp4, type, Type) \
    BLOCKGATE_FP_QMV(mxfp4, Mxfp4, type, Type) \
    BLOCKGATE_FP_QMV(mxfp8, Mxfp8, type, Type)

BLOCKGATE_EACH_FORMAT(f32, F32)
BLOCKGATE_EACH_FORMAT(f16, F16)
BLOCKGATE_EACH_FORMAT(bf16, Bf16)

namespace blockgate {

using FpQmvKernel = void (*)(blockgate_matmul, const void *, const uint32_t *, const uint8_t *, const float *, int,
                             void *);

constexpr FpQmvKernel kFpQmv[kFormats][kDtypes] = {{bgk_qmv_nvfp4_f32, bgk_qmv_nvfp4_f16, bgk_qmv_nvfp4_bf16},
                                                   {bgk_qmv_mxfp4_f32, bgk_qmv_mxfp4_f16, bgk_qmv_mxfp4_bf16},
                                                   {bgk_qmv_mxfp8_f32, bgk_qmv_mxfp8_f16, bgk_qmv_mxfp8_bf16}};

}  // namespace blockgate

using namespace blockgate;

extern "C" blockgate_status blockgate_fp_qmv(const blockgate_matmul *shape, blockgate_format format,
                                             blockgate_dtype dtype, const void *x, const uint32_t *packed,
                                             const uint8_t *scales, blockgate_global_scale global_scale, void *y,
                                             void *stream) {
    if (shape == nullptr || !valid_format(format) || !valid_dtype(dtype)) return BLOCKGATE_INVALID_ARGUMENT;
    blockgate_status status = check_global(format, global_scale);
    if (status != BLOCKGATE_OK) return status;
    bool empty = false;
    status =
        check_matmul(shape, shape->k, format_group(format), format_group(format) * format_bits(format) / 32, &empty);
    if (status != BLOCKGATE_OK || empty) return status;
    if (x == nullptr || packed == nullptr || scales == nullptr || y == nullptr) return BLOCKGATE_INVALID_ARGUMENT;
    if (!aligned(x) || !aligned(packed)) return BLOCKGATE_MISALIGNED;
    if (shape->batch > 1 && shape->x_stride % kChunk != 0) return BLOCKGATE_MISALIGNED;
    const int64_t blocks = divide_up(shape->n, kWarps) * divide_up(shape->m, kRows);
    return launch(kFpQmv[format][dtype], blocks, grid_batches(shape->batch), kThreads, stream, *shape, x, packed,
                  scales, global_scale.value, global_scale.form, y);
}
