// Quantize, quantize-dequantize and stochastic quantize. The only source whose machine code the gate decides.
#include <atomic>
#include <type_traits>

#include "launch.h"
#include "types.cuh"

namespace blockgate {

constexpr int kThreads = 256;

// Eight f32 to eight E2M1 codes, the first in the lowest nibble.
__device__ __forceinline__ uint32_t to_e2m1(const float (&v)[kChunk]) {
#if BLOCKGATE_HAS_E2M1
    // cvt's first source goes to the high nibble.
    uint32_t word;
    asm("{\n .reg .b8 a, b, c, d;\n"
        " cvt.rn.satfinite.e2m1x2.f32 a, %2, %1;\n cvt.rn.satfinite.e2m1x2.f32 b, %4, %3;\n"
        " cvt.rn.satfinite.e2m1x2.f32 c, %6, %5;\n cvt.rn.satfinite.e2m1x2.f32 d, %8, %7;\n"
        " mov.b32 %0, {a, b, c, d};\n}"
        : "=r"(word)
        : "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3]), "f"(v[4]), "f"(v[5]), "f"(v[6]), "f"(v[7]));
    return word;
#else
    uint32_t word = 0;
#pragma unroll
    for (int i = 0; i < kChunk; ++i) word |= encode_e2m1(v[i]) << (4 * i);
    return word;
#endif
}

#if BLOCKGATE_HAS_E2M1_STOCHASTIC
// Four f32 to four codes in the low half, v0 in the lowest nibble, with eight of the random bits each.
__device__ __forceinline__ uint32_t to_e2m1_stochastic(float v0, float v1, float v2, float v3, uint32_t random) {
    uint16_t codes;
    asm("cvt.rs.satfinite.e2m1x4.f32 %0, {%4, %3, %2, %1}, %5;"
        : "=h"(codes)
        : "f"(v0), "f"(v1), "f"(v2), "f"(v3), "r"(random));
    return codes;
}
#endif

__device__ __forceinline__ uint2 to_e4m3(const float (&v)[kChunk]) {
    uint32_t pairs[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#if BLOCKGATE_HAS_E4M3
        uint16_t pair;
        asm("cvt.rn.satfinite.e4m3x2.f32 %0, %2, %1;" : "=h"(pair) : "f"(v[2 * i]), "f"(v[2 * i + 1]));
        pairs[i] = pair;
#else
        pairs[i] = encode_e4m3(v[2 * i]) | encode_e4m3(v[2 * i + 1]) << 8;
#endif
    }
    return make_uint2(pairs[0] | pairs[1] << 16, pairs[2] | pairs[3] << 16);
}

// A group's scale: its byte, its value, and the factor that takes x to the element's range.
struct Scale {
    uint32_t byte;
    float decoded;
    float factor;
};

__device__ __forceinline__ Scale scale_of(Nvfp4, float amax, float enc) {
    const uint32_t byte = encode_e4m3(__fmul_rn(__fdiv_rn(amax, 6.0f), enc));
    const float decoded = decode_e4m3(byte);
    return {byte, decoded, __fdiv_rn(enc, decoded)};
}

__device__ __forceinline__ Scale mx_scale(float ratio) {
    const uint32_t byte = encode_e8m0_up(ratio);
    return {byte, decode_e8m0(byte), reciprocal_e8m0(byte)};
}

__device__ __forceinline__ Scale scale_of(Mxfp4, float amax, float) { return mx_scale(__fdiv_rn(amax, 6.0f)); }
__device__ __forceinline__ Scale scale_of(Mxfp8, float amax, float) { return mx_scale(__fdiv_rn(amax, 448.0f)); }

// One chunk per thread; the threads of a group agree on its amax by exchange. Threads past the end stay in the
// exchange with zeros, because a partly filled warp still has to meet in it.
template <class Format, class Type>
struct Chunk {
    int64_t index;
    bool inside;
    float enc;
    Scale scale;
    float scaled[kChunk];

    __device__ __forceinline__ Chunk(Format format, Type type, const void *x, int64_t chunks,
                                     const float *global_amax) {
        index = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
        inside = index < chunks;
        float values[kChunk] = {};
        if (inside) load_chunk(type, static_cast<const typename Type::Storage *>(x) + index * kChunk, values);
        float amax = 0.0f;
#pragma unroll
        for (int i = 0; i < kChunk; ++i) amax = fmaxf(amax, fabsf(values[i]));
#pragma unroll
        for (int lanes = 1; lanes < Format::kGroup / kChunk; lanes *= 2)
            amax = fmaxf(amax, __shfl_xor_sync(0xffffffffu, amax, lanes));
        enc = global_amax == nullptr ? 1.0f : __fdiv_rn(kNvfp4Max, *global_amax);
        scale = scale_of(format, amax, enc);
#pragma unroll
        for (int i = 0; i < kChunk; ++i) scaled[i] = __fmul_rn(values[i], scale.factor);
    }

    __device__ __forceinline__ void store_scale(uint8_t *scales) const {
        constexpr int kChunksPerGroup = Format::kGroup / kChunk;
        if (index % kChunksPerGroup == 0) scales[index / kChunksPerGroup] = static_cast<uint8_t>(scale.byte);
    }
};

__device__ __forceinline__ E2m1Elements::Codes convert(E2m1Elements, const float (&v)[kChunk]) {
    return {to_e2m1(v)};
}
__device__ __forceinline__ E4m3Elements::Codes convert(E4m3Elements, const float (&v)[kChunk]) {
    return {to_e4m3(v)};
}

__device__ __forceinline__ void store_codes(uint32_t *packed, int64_t chunk, E2m1Elements::Codes codes) {
    packed[chunk] = codes.word;
}
__device__ __forceinline__ void store_codes(uint32_t *packed, int64_t chunk, E4m3Elements::Codes codes) {
    reinterpret_cast<uint2 *>(packed)[chunk] = codes.words;
}

template <class Format, class Type>
__device__ __forceinline__ void quantize(const void *x, int64_t chunks, const float *global_amax, uint32_t *packed,
                                         uint8_t *scales) {
    const Chunk<Format, Type> chunk(Format{}, Type{}, x, chunks, global_amax);
    if (!chunk.inside) return;
    store_codes(packed, chunk.index, convert(Format{}, chunk.scaled));
    chunk.store_scale(scales);
}

template <class Format, class Type>
__device__ __forceinline__ void quantize_dequantize(const void *x, int64_t chunks, const float *global_amax,
                                                    void *y) {
    const Chunk<Format, Type> chunk(Format{}, Type{}, x, chunks, global_amax);
    if (!chunk.inside) return;
    const typename Format::Codes codes = convert(Format{}, chunk.scaled);
    // Without a global scale enc is 1 and the product is the scale itself.
    const float scale = __fmul_rn(chunk.scale.decoded, __fdiv_rn(1.0f, chunk.enc));
    float values[kChunk];
#pragma unroll
    for (int i = 0; i < kChunk; ++i) values[i] = __fmul_rn(scale, Format::decode(codes, i));
    store_chunk(Type{}, static_cast<typename Type::Storage *>(y) + chunk.index * kChunk, values);
}

// Philox4x32-10 (Salmon et al., SC 2011); the first two words of the output.
__device__ __forceinline__ uint2 philox(uint64_t key, uint64_t low, uint64_t high) {
    uint32_t key0 = static_cast<uint32_t>(key), key1 = static_cast<uint32_t>(key >> 32);
    uint32_t c0 = static_cast<uint32_t>(low), c1 = static_cast<uint32_t>(low >> 32);
    uint32_t c2 = static_cast<uint32_t>(high), c3 = static_cast<uint32_t>(high >> 32);
#pragma unroll
    for (int round = 0; round < 10; ++round) {
        const uint32_t high0 = __umulhi(0xd2511f53u, c0), low0 = 0xd2511f53u * c0;
        const uint32_t high1 = __umulhi(0xcd9e8d57u, c2), low1 = 0xcd9e8d57u * c2;
        c0 = high1 ^ c1 ^ key0, c1 = low1, c2 = high0 ^ c3 ^ key1, c3 = low0;
        key0 += 0x9e3779b9u, key1 += 0xbb67ae85u;
    }
    return make_uint2(c0, c1);
}

template <class Format, class Type>
__device__ __forceinline__ void quantize_stochastic(const void *x, int64_t chunks, const float *global_amax,
                                                    uint64_t seed, uint64_t offset, uint32_t *packed,
                                                    uint8_t *scales) {
#if BLOCKGATE_HAS_E2M1_STOCHASTIC
    const Chunk<Format, Type> chunk(Format{}, Type{}, x, chunks, global_amax);
    if (!chunk.inside) return;
    const uint2 random = philox(seed, static_cast<uint64_t>(chunk.index), offset);
    const float (&v)[kChunk] = chunk.scaled;
    const uint32_t low = to_e2m1_stochastic(v[0], v[1], v[2], v[3], random.x);
    const uint32_t high = to_e2m1_stochastic(v[4], v[5], v[6], v[7], random.y);
    packed[chunk.index] = low | high << 16;
    chunk.store_scale(scales);
#else
    // The launcher asks the image before it launches, so this is not reached; if it ever were, it must not pass for
    // a result.
    __trap();
#endif
}

}  // namespace blockgate

#define BLOCKGATE_QUANTIZE(format, Format, type, Type)                                                           \
    extern "C" __global__ void __launch_bounds__(blockgate::kThreads) bgk_quantize_##format##_##type(            \
        const void *x, int64_t chunks, const float *global_amax, uint32_t *packed, uint8_t *scales) {            \
        blockgate::quantize<blockgate::Format, blockgate::Type>(x, chunks, global_amax, packed, scales);         \
    }                                                                                                            \
    extern "C" __global__ void __launch_bounds__(blockgate::kThreads) bgk_quantize_dequantize_##format##_##type( \
        const void *x, int64_t chunks, const float *global_amax, void *y) {                                      \
        blockgate::quantize_dequantize<blockgate::Format, blockgate::Type>(x, chunks, global_amax, y);           \
    }
#define BLOCKGATE_QUANTIZE_STOCHASTIC(format, Format, type, Type)                                                  \
    extern "C" __global__ void __launch_bounds__(blockgate::kThreads) bgk_quantize_stochastic_##format##_##type(   \
        const void *x, int64_t chunks, const float *global_amax, uint64_t seed, uint64_t offset, uint32_t *packed, \
        uint8_t *scales) {                                                                                         \
        blockgate::quantize_stochastic<blockgate::Format, blockgate::Type>(x, chunks, global_amax, seed, offset,   \
                                                                           packed, scales);                        \
    }
#define BLOCKGATE_EACH_TYPE(row, format, Format) \
    row(format, Format, f32, F32) row(format, Format, f16, F16) row(format, Format, bf16, Bf16)

BLOCKGATE_EACH_TYPE(BLOCKGATE_QUANTIZE, nvfp4, Nvfp4)
BLOCKGATE_EACH_TYPE(BLOCKGATE_QUANTIZE, mxfp4, Mxfp4)
BLOCKGATE_EACH_TYPE(BLOCKGATE_QUANTIZE, mxfp8, Mxfp8)
BLOCKGATE_EACH_TYPE(BLOCKGATE_QUANTIZE_STOCHASTIC, nvfp4, Nvfp4)
BLOCKGATE_EACH_TYPE(BLOCKGATE_QUANTIZE_STOCHASTIC, mxfp4, Mxfp4)

// Says which image of this source the driver loaded. It stands here, because another source may have other images.
extern "C" __global__ void bgk_quantize_image(blockgate_image *image) {
    image->capability = BLOCKGATE_ARCH / 10;
    image->scope = BLOCKGATE_SCOPE;
    image->conversions = (BLOCKGATE_HAS_E2M1 ? BLOCKGATE_CONVERTS_E2M1 : 0u) |
                         (BLOCKGATE_HAS_E2M1_STOCHASTIC ? BLOCKGATE_CONVERTS_E2M1_STOCHASTIC : 0u) |
                         (BLOCKGATE_HAS_E4M3 ? BLOCKGATE_CONVERTS_E4M3 : 0u);
}

namespace blockgate {

using QuantizeKernel = void (*)(const void *, int64_t, const float *, uint32_t *, uint8_t *);
using QuantizeDequantizeKernel = void (*)(const void *, int64_t, const float *, void *);
using StochasticKernel = void (*)(const void *, int64_t, const float *, uint64_t, uint64_t, uint32_t *, uint8_t *);

#define BLOCKGATE_ROW(verb, format) \
    {bgk_##verb##_##format##_f32, bgk_##verb##_##format##_f16, bgk_##verb##_##format##_bf16}
constexpr QuantizeKernel kQuantize[kFormats][kDtypes] = {
    BLOCKGATE_ROW(quantize, nvfp4), BLOCKGATE_ROW(quantize, mxfp4), BLOCKGATE_ROW(quantize, mxfp8)};
constexpr QuantizeDequantizeKernel kQuantizeDequantize[kFormats][kDtypes] = {
    BLOCKGATE_ROW(quantize_dequantize, nvfp4), BLOCKGATE_ROW(quantize_dequantize, mxfp4),
    BLOCKGATE_ROW(quantize_dequantize, mxfp8)};
constexpr StochasticKernel kStochastic[2][kDtypes] = {BLOCKGATE_ROW(quantize_stochastic, nvfp4),
                                                      BLOCKGATE_ROW(quantize_stochastic, mxfp4)};

// Checks what every launcher here shares; `chunks` is the number of threads that have work.
static blockgate_status check(blockgate_format format, blockgate_dtype dtype, const void *x, int64_t rows,
                              int64_t columns, const float *global_amax, const void *output, int64_t *chunks) {
    if (!valid_format(format) || !valid_dtype(dtype)) return BLOCKGATE_INVALID_ARGUMENT;
    if (global_amax != nullptr && format != BLOCKGATE_NVFP4) return BLOCKGATE_INVALID_GLOBAL_SCALE;
    int64_t elements = 0;
    const blockgate_status status = check_matrix(rows, columns, format_group(format), &elements);
    if (status != BLOCKGATE_OK) return status;
    if (elements != 0 && (x == nullptr || output == nullptr)) return BLOCKGATE_INVALID_ARGUMENT;
    if (!aligned(x) || !aligned(output)) return BLOCKGATE_MISALIGNED;
    *chunks = elements / kChunk;
    return BLOCKGATE_OK;
}

// One slot per device ordinal. Two threads that race store the same value.
constexpr int kCachedDevices = 64;
constexpr uint64_t kKnown = uint64_t{1} << 63;
static std::atomic<uint64_t> cached_images[kCachedDevices];

static blockgate_status ask_image(blockgate_image *image) {
    blockgate_image *on_device = nullptr;
    cudaError_t error = cudaMalloc(reinterpret_cast<void **>(&on_device), sizeof *on_device);
    if (error != cudaSuccess) return status_of(error);
    blockgate_status status = launch(bgk_quantize_image, 1, 1, 1, nullptr, on_device);
    if (status == BLOCKGATE_OK) {
        error = cudaMemcpy(image, on_device, sizeof *image, cudaMemcpyDeviceToHost);
        if (error != cudaSuccess) status = status_of(error);
    }
    error = cudaFree(on_device);
    if (status == BLOCKGATE_OK && error != cudaSuccess) status = status_of(error);
    return status;
}

}  // namespace blockgate

using namespace blockgate;

extern "C" blockgate_status blockgate_quantize_image(blockgate_image *image) {
    if (image == nullptr) return BLOCKGATE_INVALID_ARGUMENT;
    int device = 0;
    const cudaError_t error = cudaGetDevice(&device);
    if (error != cudaSuccess) return status_of(error);
    const bool cacheable = device >= 0 && device < kCachedDevices;
    if (cacheable) {
        const uint64_t cached = cached_images[device].load(std::memory_order_relaxed);
        if ((cached & kKnown) != 0) {
            image->capability = static_cast<uint32_t>(cached & 0xffff);
            image->scope = static_cast<uint32_t>(cached >> 16 & 0xff);
            image->conversions = static_cast<uint32_t>(cached >> 24 & 0xff);
            return BLOCKGATE_OK;
        }
    }
    const blockgate_status status = ask_image(image);
    if (status == BLOCKGATE_OK && cacheable)
        cached_images[device].store(kKnown | static_cast<uint64_t>(image->conversions) << 24 |
                                        static_cast<uint64_t>(image->scope) << 16 | image->capability,
                                    std::memory_order_relaxed);
    return status;
}

extern "C" blockgate_status blockgate_quantize(blockgate_format format, blockgate_dtype dtype, const void *x,
                                               int64_t rows, int64_t columns, const float *global_amax,
                                               uint32_t *packed, uint8_t *scales, void *stream) {
    int64_t chunks = 0;
    const blockgate_status status = check(format, dtype, x, rows, columns, global_amax, packed, &chunks);
    if (status != BLOCKGATE_OK || chunks == 0) return status;
    if (scales == nullptr) return BLOCKGATE_INVALID_ARGUMENT;
    return launch(kQuantize[format][dtype], divide_up(chunks, kThreads), 1, kThreads, stream, x, chunks, global_amax,
                  packed, scales);
}

extern "C" blockgate_status blockgate_quantize_dequantize(blockgate_format format, blockgate_dtype dtype,
                                                          const void *x, int64_t rows, int64_t columns,
                                                          const float *global_amax, void *y, void *stream) {
    int64_t chunks = 0;
    const blockgate_status status = check(format, dtype, x, rows, columns, global_amax, y, &chunks);
    if (status != BLOCKGATE_OK || chunks == 0) return status;
    return launch(kQuantizeDequantize[format][dtype], divide_up(chunks, kThreads), 1, kThreads, stream, x, chunks,
                  global_amax, y);
}

extern "C" blockgate_status blockgate_quantize_stochastic(blockgate_format format, blockgate_dtype dtype,
                                                          const void *x, int64_t rows, int64_t columns,
                                                          const float *global_amax, uint64_t seed, uint64_t offset,
                                                          uint32_t *packed, uint8_t *scales, void *stream) {
    int64_t chunks = 0;
    blockgate_status status = check(format, dtype, x, rows, columns, global_amax, packed, &chunks);
    if (status != BLOCKGATE_OK) return status;
    if (format == BLOCKGATE_MXFP8) return BLOCKGATE_UNSUPPORTED_FORMAT;
    blockgate_image image;
    status = blockgate_quantize_image(&image);
    if (status != BLOCKGATE_OK) return status;
    if ((image.conversions & BLOCKGATE_CONVERTS_E2M1_STOCHASTIC) == 0) return BLOCKGATE_STOCHASTIC_UNAVAILABLE;
    if (chunks == 0) return BLOCKGATE_OK;
    if (scales == nullptr) return BLOCKGATE_INVALID_ARGUMENT;
    return launch(kStochastic[format][dtype], divide_up(chunks, kThreads), 1, kThreads, stream, x, chunks,
                  global_amax, seed, offset, packed, scales);
}
