// Dequantize: block formats and affine groups to dense f32, f16 or bf16. One thread per eight elements.
#include <type_traits>

#include "launch.h"
#include "types.cuh"

namespace blockgate {

constexpr int kThreads = 256;

template <class Format, class Type>
__device__ __forceinline__ void dequantize(const uint32_t *packed, const uint8_t *scales, int64_t chunks,
                                           const float *global_value, int global_form, void *y) {
    const int64_t chunk = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
    if (chunk >= chunks) return;
    const typename Format::Codes codes = Format::load(packed, chunk);
    const float scale = __fmul_rn(Format::decode_scale(scales[chunk / (Format::kGroup / kChunk)]),
                                  global_multiplier(global_value, global_form));
    float values[kChunk];
#pragma unroll
    for (int i = 0; i < kChunk; ++i) values[i] = __fmul_rn(scale, Format::decode(codes, i));
    store_chunk(Type{}, static_cast<typename Type::Storage *>(y) + chunk * kChunk, values);
}

template <int Bits, class Type>
__device__ __forceinline__ void dequantize_affine(const uint32_t *packed, const void *scales, const void *biases,
                                                  int64_t chunks, int group_shift, void *y) {
    const int64_t chunk = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
    if (chunk >= chunks) return;
    using Storage = typename Type::Storage;
    const int64_t group = chunk >> group_shift;
    float values[kChunk];
    affine_chunk<Bits>(Type{}, packed, chunk, load_one(Type{}, static_cast<const Storage *>(scales) + group),
                       load_one(Type{}, static_cast<const Storage *>(biases) + group), values);
    store_chunk(Type{}, static_cast<Storage *>(y) + chunk * kChunk, values);
}

}  // namespace blockgate

#define BLOCKGATE_DEQUANTIZE(format, Format, type, Type)                                                             \
    extern "C" __global__ void __launch_bounds__(blockgate::kThreads)                                                \
        bgk_dequantize_##format##_##type(const uint32_t *packed, const uint8_t *scales, int64_t chunks,              \
                                         const float *global_value, int global_form, void *y) {                      \
        blockgate::dequantize<blockgate::Format, blockgate::Type>(packed, scales, chunks, global_value, global_form, \
                                                                  y);                                                \
    }
#define BLOCKGATE_DEQUANTIZE_AFFINE(bits, type, Type)                                                               \
    extern "C" __global__ void __launch_bounds__(blockgate::kThreads) bgk_dequantize_affine_b##bits##_##type(       \
        const uint32_t *packed, const void *scales, const void *biases, int64_t chunks, int group_shift, void *y) { \
        blockgate::dequantize_affine<bits, blockgate::Type>(packed, scales, biases, chunks, group_shift, y);        \
    }
#define BLOCKGATE_EACH_FORMAT(type, Type)          \
    BLOCKGATE_DEQUANTIZE(nvfp4, Nvfp4, type, Type) \
    BLOCKGATE_DEQUANTIZE(mxfp4, Mxfp4, type, Type) \
    BLOCKGATE_DEQUANTIZE(mxfp8, Mxfp8, type, Type)
#define BLOCKGATE_EACH_WIDTH(type, Type)                                                  \
    BLOCKGATE_DEQUANTIZE_AFFINE(2, type, Type)                                            \
    BLOCKGATE_DEQUANTIZE_AFFINE(3, type, Type)                                            \
    BLOCKGATE_DEQUANTIZE_AFFINE(4, type, Type) BLOCKGATE_DEQUANTIZE_AFFINE(5, type, Type) \
        BLOCKGATE_DEQUANTIZE_AFFINE(6, type, Type) BLOCKGATE_DEQUANTIZE_AFFINE(8, type, Type)

BLOCKGATE_EACH_FORMAT(f32, F32)
BLOCKGATE_EACH_FORMAT(f16, F16)
BLOCKGATE_EACH_FORMAT(bf16, Bf16)
BLOCKGATE_EACH_WIDTH(f32, F32)
BLOCKGATE_EACH_WIDTH(f16, F16)
BLOCKGATE_EACH_WIDTH(bf16, Bf16)

namespace blockgate {

using DequantizeKernel = void (*)(const uint32_t *, const uint8_t *, int64_t, const float *, int, void *);
using AffineKernel = void (*)(const uint32_t *, const void *, const void *, int64_t, int, void *);

#define BLOCKGATE_ROW(stem) {stem##_f32, stem##_f16, stem##_bf16}
constexpr DequantizeKernel kDequantize[kFormats][kDtypes] = {
    BLOCKGATE_ROW(bgk_dequantize_nvfp4), BLOCKGATE_ROW(bgk_dequantize_mxfp4), BLOCKGATE_ROW(bgk_dequantize_mxfp8)};
constexpr AffineKernel kAffine[kAffineWidths][kDtypes] = {
    BLOCKGATE_ROW(bgk_dequantize_affine_b2), BLOCKGATE_ROW(bgk_dequantize_affine_b3),
    BLOCKGATE_ROW(bgk_dequantize_affine_b4), BLOCKGATE_ROW(bgk_dequantize_affine_b5),
    BLOCKGATE_ROW(bgk_dequantize_affine_b6), BLOCKGATE_ROW(bgk_dequantize_affine_b8)};

}  // namespace blockgate

using namespace blockgate;

extern "C" blockgate_status blockgate_dequantize(blockgate_format format, blockgate_dtype dtype,
                                                 const uint32_t *packed, const uint8_t *scales, int64_t rows,
                                                 int64_t columns, blockgate_global_scale global_scale, void *y,
                                                 void *stream) {
    if (!valid_format(format) || !valid_dtype(dtype)) return BLOCKGATE_INVALID_ARGUMENT;
    blockgate_status status = check_global(format, global_scale);
    if (status != BLOCKGATE_OK) return status;
    int64_t elements = 0;
    status = check_matrix(rows, columns, format_group(format), &elements);
    if (status != BLOCKGATE_OK || elements == 0) return status;
    if (packed == nullptr || scales == nullptr || y == nullptr) return BLOCKGATE_INVALID_ARGUMENT;
    if (!aligned(packed) || !aligned(y)) return BLOCKGATE_MISALIGNED;
    const int64_t chunks = elements / kChunk;
    return launch(kDequantize[format][dtype], divide_up(chunks, kThreads), 1, kThreads, stream, packed, scales,
                  chunks, global_scale.value, global_scale.form, y);
}

extern "C" blockgate_status blockgate_affine_dequantize(int32_t bits, int32_t group, blockgate_dtype dtype,
                                                        const uint32_t *packed, const void *scales,
                                                        const void *biases, int64_t rows, int64_t columns, void *y,
                                                        void *stream) {
    if (!valid_dtype(dtype)) return BLOCKGATE_INVALID_ARGUMENT;
    if (!valid_affine(bits, group)) return BLOCKGATE_UNSUPPORTED_FORMAT;
    int64_t elements = 0;
    const blockgate_status status = check_matrix(rows, columns, group, &elements);
    if (status != BLOCKGATE_OK || elements == 0) return status;
    if (packed == nullptr || scales == nullptr || biases == nullptr || y == nullptr)
        return BLOCKGATE_INVALID_ARGUMENT;
    if (!aligned(packed) || !aligned(scales) || !aligned(biases) || !aligned(y)) return BLOCKGATE_MISALIGNED;
    const int64_t chunks = elements / kChunk;
    return launch(kAffine[affine_index(bits)][dtype], divide_up(chunks, kThreads), 1, kThreads, stream, packed,
                  scales, biases, chunks, group_shift(group, kChunk), y);
}
