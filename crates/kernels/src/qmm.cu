// Tiled matrix product with quantized weights: any m, both weight layouts, f32 sums.
//
// A block computes 64 x 64 of y. Weights are decoded into shared memory, 32 along k at a time. Where the architecture
// has mma.m16n8k16 for the type, f16 and bf16 go to the tensor cores; everything else is f32 FMA.
#include "launch.h"
#include "types.cuh"

namespace blockgate {

constexpr int kTileM = 64;
constexpr int kTileN = 64;
constexpr int kTileK = 32;
constexpr int kThreads = 128;
// Chunks of a tile operand per thread.
constexpr int kLoads = kTileM * kTileK / kChunk / kThreads;

// Weights as rows of chunks. `load` gives eight values of one row and what they still have to be multiplied with.
template <class BlockFormat>
struct BlockWeight {
    using Format = BlockFormat;
    static constexpr bool kScaled = false;
    const uint32_t *packed;
    const uint8_t *scales;

    __device__ __forceinline__ void advance(const blockgate_matmul &shape, int64_t batch) {
        packed += batch * shape.weight_stride;
        scales += batch * shape.scale_stride;
    }
    // `chunk` counts chunks of the whole matrix; rows are whole groups, so groups follow each other too.
    template <class Type>
    __device__ __forceinline__ float load(Type, int64_t chunk, float (&values)[kChunk]) const {
        const typename Format::Codes codes = Format::load(packed, chunk);
#pragma unroll
        for (int i = 0; i < kChunk; ++i) values[i] = Format::decode(codes, i);
        return Format::decode_scale(scales[chunk / (Format::kGroup / kChunk)]);
    }
};

// The bit count is a run-time value here: the decode is a small part of a tile, and one kernel serves all widths.
struct AffineWeight {
    static constexpr bool kScaled = true;
    const uint32_t *packed;
    const void *scales;
    const void *biases;
    int bits;
    // log2 of the chunks in a group.
    int group_shift;
    int64_t first_group;

    __device__ __forceinline__ void advance(const blockgate_matmul &shape, int64_t batch) {
        packed += batch * shape.weight_stride;
        first_group = batch * shape.scale_stride;
    }
    template <class Type>
    __device__ __forceinline__ float load(Type type, int64_t chunk, float (&values)[kChunk]) const {
        using Storage = typename Type::Storage;
        const int64_t group = first_group + (chunk >> group_shift);
        const float scale = load_one(type, static_cast<const Storage *>(scales) + group);
        const float bias = load_one(type, static_cast<const Storage *>(biases) + group);
        switch (bits) {
            case 2: affine_chunk<2>(type, packed, chunk, scale, bias, values); break;
            case 3: affine_chunk<3>(type, packed, chunk, scale, bias, values); break;
            case 4: affine_chunk<4>(type, packed, chunk, scale, bias, values); break;
            case 5: affine_chunk<5>(type, packed, chunk, scale, bias, values); break;
            case 6: affine_chunk<6>(type, packed, chunk, scale, bias, values); break;
            default: affine_chunk<8>(type, packed, chunk, scale, bias, values); break;
        }
        return 1.0f;
    }
};

// Steps of k that one scale covers, in units of 16.
template <class Weight>
struct ScaleSteps {
    static constexpr int value = Weight::Format::kGroup / 16;
};
template <>
struct ScaleSteps<AffineWeight> {
    static constexpr int value = 2;
};

// Eight elements of row m of x from k on, zero outside. Rows of a length that is no multiple of 8 are not aligned.
template <class Type>
__device__ __forceinline__ void load_x(Type type, const typename Type::Storage *x, const blockgate_matmul &shape,
                                       bool vectors, int64_t m, int64_t k, float (&values)[kChunk]) {
    if (m < shape.m && k + kChunk <= shape.k && vectors) {
        load_chunk(type, x + m * shape.k + k, values);
        return;
    }
    for (int i = 0; i < kChunk; ++i) values[i] = 0.0f;
    if (m >= shape.m) return;
#pragma unroll
    for (int i = 0; i < kChunk; ++i)
        if (k + i < shape.k) values[i] = load_one(type, x + m * shape.k + k + i);
}

// A chunk of the weight tile. Layout NK: row n, chunk along k. Layout KN: row k, chunk along n.
template <bool NK, class Weight, class Type>
__device__ __forceinline__ float load_weight(Type type, const Weight &weight, const blockgate_matmul &shape,
                                             int64_t n, int64_t k, float (&values)[kChunk]) {
    if (n < shape.n && k < shape.k) {
        const int64_t element = NK ? n * shape.k + k : k * shape.n + n;
        return weight.load(type, element / kChunk, values);
    }
#pragma unroll
    for (int i = 0; i < kChunk; ++i) values[i] = 0.0f;
    return 0.0f;
}

#if BLOCKGATE_HAS_MMA
__device__ __forceinline__ void mma(F16, float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ __forceinline__ void mma(Bf16, float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Rows of a shared tile are 40 elements long: 20 words apart, eight rows meet 32 different banks.
constexpr int kTileStride = kTileK + 8;

struct TensorTile {
    alignas(16) uint16_t x[kTileM * kTileStride];
    alignas(16) uint16_t weight[kTileN * kTileStride];
    // Scale of column n for each half of the 32 along k.
    float scales[kTileN][2];
};

// Block formats keep their elements unscaled, which f16 and bf16 hold exactly for every format; the f32 sum of a
// group is multiplied with the scale. So no scale can leave the range of f16.
template <bool NK, class Weight, class Type>
__device__ __forceinline__ void tensor_product(Type type, const blockgate_matmul &shape, const uint16_t *x,
                                               bool vectors, const Weight &weight, int64_t m0, int64_t n0,
                                               float multiplier, uint16_t *y) {
    __shared__ TensorTile tile;
    const int lane = threadIdx.x % 32;
    const int warp_m = threadIdx.x / 32 % 2 * 32;
    const int warp_n = threadIdx.x / 64 * 32;
    constexpr int kSteps = ScaleSteps<Weight>::value;
    float sums[2][4][4] = {};
    for (int64_t k0 = 0; k0 < shape.k; k0 += kTileK) {
#pragma unroll
        for (int load = 0; load < kLoads; ++load) {
            const int index = load * kThreads + threadIdx.x;
            const int row = index / (kTileK / kChunk);
            const int k = index % (kTileK / kChunk) * kChunk;
            float values[kChunk];
            load_x(type, x, shape, vectors, m0 + row, k0 + k, values);
            store_chunk(type, &tile.x[row * kTileStride + k], values);
            if constexpr (NK) {
                const float scale = load_weight<NK>(type, weight, shape, n0 + row, k0 + k, values);
                store_chunk(type, &tile.weight[row * kTileStride + k], values);
                if (!Weight::kScaled && k % 16 == 0) tile.scales[row][k / 16] = scale;
            } else {
                const int weight_k = index / (kTileN / kChunk);
                const int n = index % (kTileN / kChunk) * kChunk;
                load_weight<NK>(type, weight, shape, n0 + n, k0 + weight_k, values);
#pragma unroll
                for (int i = 0; i < kChunk; ++i)
                    store_one(type, &tile.weight[(n + i) * kTileStride + weight_k], values[i]);
            }
        }
        __syncthreads();
        float partial[2][4][4] = {};
#pragma unroll
        for (int step = 0; step < 2; ++step) {
            const int k = step * 16 + lane % 4 * 2;
            uint32_t a[2][4];
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const uint16_t *from = &tile.x[(warp_m + i * 16 + lane / 4) * kTileStride + k];
                a[i][0] = *reinterpret_cast<const uint32_t *>(from);
                a[i][1] = *reinterpret_cast<const uint32_t *>(from + 8 * kTileStride);
                a[i][2] = *reinterpret_cast<const uint32_t *>(from + 8);
                a[i][3] = *reinterpret_cast<const uint32_t *>(from + 8 * kTileStride + 8);
            }
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                const uint16_t *from = &tile.weight[(warp_n + j * 8 + lane / 4) * kTileStride + k];
                const uint32_t b[2] = {*reinterpret_cast<const uint32_t *>(from),
                                       *reinterpret_cast<const uint32_t *>(from + 8)};
#pragma unroll
                for (int i = 0; i < 2; ++i) mma(type, Weight::kScaled ? sums[i][j] : partial[i][j], a[i], b);
            }
            if (!Weight::kScaled && (step + 1) % kSteps == 0) {
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    const int n = warp_n + j * 8 + lane % 4 * 2;
                    const float scale0 = tile.scales[n][step];
                    const float scale1 = tile.scales[n + 1][step];
#pragma unroll
                    for (int i = 0; i < 2; ++i) {
#pragma unroll
                        for (int c = 0; c < 4; ++c) {
                            sums[i][j][c] = fmaf(c % 2 == 0 ? scale0 : scale1, partial[i][j][c], sums[i][j][c]);
                            partial[i][j][c] = 0.0f;
                        }
                    }
                }
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
#pragma unroll
            for (int c = 0; c < 4; ++c) {
                const int64_t m = m0 + warp_m + i * 16 + lane / 4 + c / 2 * 8;
                const int64_t n = n0 + warp_n + j * 8 + lane % 4 * 2 + c % 2;
                if (m < shape.m && n < shape.n)
                    store_one(type, y + m * shape.n + n, __fmul_rn(multiplier, sums[i][j][c]));
            }
        }
    }
}
#endif

struct FmaTile {
    alignas(16) float x[kTileK][kTileM];
    alignas(16) float weight[kTileK][kTileN];
};

// Thread t has rows 4 (t / 8) .. + 4 and columns 4 (t % 8) .. + 4 of both halves of the tile.
template <bool NK, class Weight, class Type>
__device__ __forceinline__ void fma_product(Type type, const blockgate_matmul &shape, const typename Type::Storage *x,
                                            bool vectors, const Weight &weight, int64_t m0, int64_t n0,
                                            float multiplier, typename Type::Storage *y) {
    __shared__ FmaTile tile;
    const int row0 = threadIdx.x / 8 * 4;
    const int column0 = threadIdx.x % 8 * 4;
    float sums[4][8] = {};
    for (int64_t k0 = 0; k0 < shape.k; k0 += kTileK) {
#pragma unroll
        for (int load = 0; load < kLoads; ++load) {
            const int index = load * kThreads + threadIdx.x;
            // Neighbouring threads take neighbouring rows, so that the transposed stores meet no bank twice.
            const int row = index % kTileM;
            const int k = index / kTileM * kChunk;
            float values[kChunk];
            load_x(type, x, shape, vectors, m0 + row, k0 + k, values);
#pragma unroll
            for (int i = 0; i < kChunk; ++i) tile.x[k + i][row] = values[i];
            if constexpr (NK) {
                const float scale = load_weight<NK>(type, weight, shape, n0 + row, k0 + k, values);
#pragma unroll
                for (int i = 0; i < kChunk; ++i)
                    tile.weight[k + i][row] = Weight::kScaled ? values[i] : __fmul_rn(scale, values[i]);
            } else {
                const int weight_k = index / (kTileN / kChunk);
                const int n = index % (kTileN / kChunk) * kChunk;
                const float scale = load_weight<NK>(type, weight, shape, n0 + n, k0 + weight_k, values);
#pragma unroll
                for (int i = 0; i < kChunk; ++i)
                    tile.weight[weight_k][n + i] = Weight::kScaled ? values[i] : __fmul_rn(scale, values[i]);
            }
        }
        __syncthreads();
#pragma unroll 2
        for (int k = 0; k < kTileK; ++k) {
            const float4 a = *reinterpret_cast<const float4 *>(&tile.x[k][row0]);
            const float4 b = *reinterpret_cast<const float4 *>(&tile.weight[k][column0]);
            const float4 c = *reinterpret_cast<const float4 *>(&tile.weight[k][column0 + kTileN / 2]);
            const float as[4] = {a.x, a.y, a.z, a.w};
            const float bs[8] = {b.x, b.y, b.z, b.w, c.x, c.y, c.z, c.w};
#pragma unroll
            for (int i = 0; i < 4; ++i) {
#pragma unroll
                for (int j = 0; j < 8; ++j) sums[i][j] = fmaf(as[i], bs[j], sums[i][j]);
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            const int64_t m = m0 + row0 + i;
            const int64_t n = n0 + column0 + j % 4 + j / 4 * (kTileN / 2);
            if (m < shape.m && n < shape.n) store_one(type, y + m * shape.n + n, __fmul_rn(multiplier, sums[i][j]));
        }
    }
}

template <bool NK, class Type, class Weight>
__device__ __forceinline__ void qmm(const blockgate_matmul &shape, const void *x, const Weight &first,
                                    float multiplier, void *y) {
    const int64_t row_tiles = (shape.m + kTileM - 1) / kTileM;
    // Neighbouring blocks share a strip of weights, the larger operand.
    const int64_t m0 = blockIdx.x % row_tiles * kTileM;
    const int64_t n0 = blockIdx.x / row_tiles * kTileN;
    const bool vectors = shape.k % kChunk == 0 && (shape.batch == 1 || shape.x_stride % kChunk == 0);
    for (int64_t batch = blockIdx.z; batch < shape.batch; batch += gridDim.z) {
        Weight weight = first;
        weight.advance(shape, batch);
        const auto *from = static_cast<const typename Type::Storage *>(x) + batch * shape.x_stride;
        auto *to = static_cast<typename Type::Storage *>(y) + batch * shape.y_stride;
        // Under layout KN a block format's scale changes along k, so it cannot be applied to sums, and f16 cannot
        // hold every scaled element: those products take the f32 path.
        constexpr bool kOnTensorCores =
            BLOCKGATE_HAS_MMA && sizeof(typename Type::Storage) == 2 && (NK || Weight::kScaled);
        if constexpr (kOnTensorCores) {
#if BLOCKGATE_HAS_MMA
            tensor_product<NK>(Type{}, shape, from, vectors, weight, m0, n0, multiplier, to);
#endif
        } else {
            fma_product<NK>(Type{}, shape, from, vectors, weight, m0, n0, multiplier, to);
        }
    }
}

}  // namespace blockgate

#define BLOCKGATE_QMM(layout, NK, format, Format, type, Type)                                               \
    extern "C" __global__ void __launch_bounds__(blockgate::kThreads) bgk_qmm_##layout##_##format##_##type( \
        blockgate_matmul shape, const void *x, const uint32_t *packed, const uint8_t *scales,               \
        const float *global_value, int global_form, void *y) {                                              \
        const blockgate::BlockWeight<blockgate::Format> weight{packed, scales};                             \
        const float multiplier = blockgate::global_multiplier(global_value, global_form);                   \
        blockgate::qmm<NK, blockgate::Type>(shape, x, weight, multiplier, y);                               \
    }
#define BLOCKGATE_AFFINE_QMM(layout, NK, type, Type)                                                           \
    extern "C" __global__ void __launch_bounds__(blockgate::kThreads) bgk_qmm_##layout##_affine_##type(        \
        blockgate_matmul shape, const void *x, const uint32_t *packed, const void *scales, const void *biases, \
        int bits, int group_shift, void *y) {                                                                  \
        const blockgate::AffineWeight weight{packed, scales, biases, bits, group_shift, 0};                    \
        blockgate::qmm<NK, blockgate::Type>(shape, x, weight, 1.0f, y);                                        \
    }
#define BLOCKGATE_EACH_WEIGHT(layout, NK, type, Type)   \
    BLOCKGATE_QMM(layout, NK, nvfp4, Nvfp4, type, Type) \
    BLOCKGATE_QMM(layout, NK, mxfp4, Mxfp4, type, Type) \
    BLOCKGATE_QMM(layout, NK, mxfp8, Mxfp8, type, Type) \
    BLOCKGATE_AFFINE_QMM(layout, NK, type, Type)
#define BLOCKGATE_EACH_LAYOUT(type, Type)       \
    BLOCKGATE_EACH_WEIGHT(nk, true, type, Type) \
    BLOCKGATE_EACH_WEIGHT(kn, false, type, Type)

BLOCKGATE_EACH_LAYOUT(f32, F32)
BLOCKGATE_EACH_LAYOUT(f16, F16)
BLOCKGATE_EACH_LAYOUT(bf16, Bf16)

namespace blockgate {

using FpKernel = void (*)(blockgate_matmul, const void *, const uint32_t *, const uint8_t *, const float *, int,
                          void *);
using AffineKernel = void (*)(blockgate_matmul, const void *, const uint32_t *, const void *, const void *, int, int,
                              void *);

constexpr int kLayouts = 2;

#define BLOCKGATE_ROW(stem) {stem##_f32, stem##_f16, stem##_bf16}
constexpr FpKernel kFp[kLayouts][kFormats][kDtypes] = {
    {BLOCKGATE_ROW(bgk_qmm_nk_nvfp4), BLOCKGATE_ROW(bgk_qmm_nk_mxfp4), BLOCKGATE_ROW(bgk_qmm_nk_mxfp8)},
    {BLOCKGATE_ROW(bgk_qmm_kn_nvfp4), BLOCKGATE_ROW(bgk_qmm_kn_mxfp4), BLOCKGATE_ROW(bgk_qmm_kn_mxfp8)}};
constexpr AffineKernel kAffine[kLayouts][kDtypes] = {BLOCKGATE_ROW(bgk_qmm_nk_affine),
                                                     BLOCKGATE_ROW(bgk_qmm_kn_affine)};

static int64_t blocks_of(const blockgate_matmul &shape) {
    return divide_up(shape.m, kTileM) * divide_up(shape.n, kTileN);
}

}  // namespace blockgate

using namespace blockgate;

extern "C" blockgate_status blockgate_fp_qmm(const blockgate_matmul *shape, blockgate_weight_layout layout,
                                             blockgate_format format, blockgate_dtype dtype, const void *x,
                                             const uint32_t *packed, const uint8_t *scales,
                                             blockgate_global_scale global_scale, void *y, void *stream) {
    if (shape == nullptr || !valid_format(format) || !valid_dtype(dtype) || layout < 0 || layout >= kLayouts)
        return BLOCKGATE_INVALID_ARGUMENT;
    blockgate_status status = check_global(format, global_scale);
    if (status != BLOCKGATE_OK) return status;
    bool empty = false;
    const int64_t group = format_group(format);
    status = check_matmul(shape, layout == BLOCKGATE_WEIGHT_NK ? shape->k : shape->n, group,
                          group * format_bits(format) / 32, &empty);
    if (status != BLOCKGATE_OK || empty) return status;
    if (x == nullptr || packed == nullptr || scales == nullptr || y == nullptr) return BLOCKGATE_INVALID_ARGUMENT;
    if (!aligned(x) || !aligned(packed)) return BLOCKGATE_MISALIGNED;
    return launch(kFp[layout][format][dtype], blocks_of(*shape), grid_batches(shape->batch), kThreads, stream, *shape,
                  x, packed, scales, global_scale.value, global_scale.form, y);
}

extern "C" blockgate_status blockgate_affine_qmm(const blockgate_matmul *shape, blockgate_weight_layout layout,
                                                 int32_t bits, int32_t group, blockgate_dtype dtype, const void *x,
                                                 const uint32_t *packed, const void *scales, const void *biases,
                                                 void *y, void *stream) {
    if (shape == nullptr || !valid_dtype(dtype) || layout < 0 || layout >= kLayouts)
        return BLOCKGATE_INVALID_ARGUMENT;
    if (!valid_affine(bits, group)) return BLOCKGATE_UNSUPPORTED_FORMAT;
    bool empty = false;
    const blockgate_status status =
        check_matmul(shape, layout == BLOCKGATE_WEIGHT_NK ? shape->k : shape->n, group, bits, &empty);
    if (status != BLOCKGATE_OK || empty) return status;
    if (x == nullptr || packed == nullptr || scales == nullptr || biases == nullptr || y == nullptr)
        return BLOCKGATE_INVALID_ARGUMENT;
    if (!aligned(x) || !aligned(packed) || !aligned(scales) || !aligned(biases)) return BLOCKGATE_MISALIGNED;
    return launch(kAffine[layout][dtype], blocks_of(*shape), grid_batches(shape->batch), kThreads, stream, *shape, x,
                  packed, scales, biases, bits, group_shift(group, kChunk), y);
}
