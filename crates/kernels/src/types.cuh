// Activation types and block formats: how eight consecutive elements move between memory and f32 registers.
//
// f16 and bf16 are handled as bit patterns, which keeps the large vendor headers out of every pass.
#pragma once

#include "codec.h"
#include "gate.cuh"

namespace blockgate {

// The unit of work everywhere: eight elements, which divide every group and are 16 bytes of a two-byte type.
constexpr int kChunk = 8;

struct F32 {
    using Storage = float;
};
struct F16 {
    using Storage = uint16_t;
};
struct Bf16 {
    using Storage = uint16_t;
};

// Two f32 to two f16, first value in the low half, round to nearest even.
__device__ __forceinline__ uint32_t pack(F16, float low, float high) {
    uint32_t packed;
    asm("{\n .reg .b16 l, h;\n cvt.rn.f16.f32 l, %1;\n cvt.rn.f16.f32 h, %2;\n mov.b32 %0, {l, h};\n}"
        : "=r"(packed)
        : "f"(low), "f"(high));
    return packed;
}

// Two f32 to two bf16, first value in the low half, round to nearest even; NaN becomes 0x7fff on every architecture.
__device__ __forceinline__ uint32_t pack(Bf16, float low, float high) {
#if BLOCKGATE_HAS_BF16
    uint32_t packed;
    asm("cvt.rn.bf16x2.f32 %0, %2, %1;" : "=r"(packed) : "f"(low), "f"(high));
    return packed;
#else
    const uint32_t l = bits_of(low);
    const uint32_t h = bits_of(high);
    const uint32_t rounded_low = low != low ? 0x7fffu : (l + 0x7fffu + ((l >> 16) & 1u)) >> 16;
    const uint32_t rounded_high = high != high ? 0x7fffu : (h + 0x7fffu + ((h >> 16) & 1u)) >> 16;
    return rounded_high << 16 | rounded_low;
#endif
}

__device__ __forceinline__ void unpack(F16, uint32_t packed, float &low, float &high) {
    asm("{\n .reg .b16 l, h;\n mov.b32 {l, h}, %2;\n cvt.f32.f16 %0, l;\n cvt.f32.f16 %1, h;\n}"
        : "=f"(low), "=f"(high)
        : "r"(packed));
}

__device__ __forceinline__ void unpack(Bf16, uint32_t packed, float &low, float &high) {
    low = float_of(packed << 16);
    high = float_of(packed & 0xffff0000u);
}

// Loads and stores of one chunk; the address is aligned to min(16, sizeof(chunk)) bytes.
__device__ __forceinline__ void load_chunk(F32, const float *from, float (&values)[kChunk]) {
    const float4 a = reinterpret_cast<const float4 *>(from)[0];
    const float4 b = reinterpret_cast<const float4 *>(from)[1];
    values[0] = a.x, values[1] = a.y, values[2] = a.z, values[3] = a.w;
    values[4] = b.x, values[5] = b.y, values[6] = b.z, values[7] = b.w;
}

template <class Type>
__device__ __forceinline__ void load_chunk(Type type, const uint16_t *from, float (&values)[kChunk]) {
    const uint4 words = *reinterpret_cast<const uint4 *>(from);
    unpack(type, words.x, values[0], values[1]);
    unpack(type, words.y, values[2], values[3]);
    unpack(type, words.z, values[4], values[5]);
    unpack(type, words.w, values[6], values[7]);
}

__device__ __forceinline__ void store_chunk(F32, float *to, const float (&values)[kChunk]) {
    reinterpret_cast<float4 *>(to)[0] = make_float4(values[0], values[1], values[2], values[3]);
    reinterpret_cast<float4 *>(to)[1] = make_float4(values[4], values[5], values[6], values[7]);
}

template <class Type>
__device__ __forceinline__ void store_chunk(Type type, uint16_t *to, const float (&values)[kChunk]) {
    *reinterpret_cast<uint4 *>(to) = make_uint4(pack(type, values[0], values[1]), pack(type, values[2], values[3]),
                                                pack(type, values[4], values[5]), pack(type, values[6], values[7]));
}

__device__ __forceinline__ float load_one(F32, const float *from) { return *from; }

template <class Type>
__device__ __forceinline__ float load_one(Type type, const uint16_t *from) {
    float value, unused;
    unpack(type, *from, value, unused);
    return value;
}

__device__ __forceinline__ void store_one(F32, float *to, float value) { *to = value; }

template <class Type>
__device__ __forceinline__ void store_one(Type type, uint16_t *to, float value) {
    *to = static_cast<uint16_t>(pack(type, value, 0.0f));
}

// Rounds two f32 to the type and widens them again.
__device__ __forceinline__ void round_pair(F32, float &, float &) {}

template <class Type>
__device__ __forceinline__ void round_pair(Type type, float &low, float &high) {
    unpack(type, pack(type, low, high), low, high);
}

// The affine weight: two roundings to the type, so that no contraction changes it.
template <class Type>
__device__ __forceinline__ void affine_pair(Type type, float scale, float bias, float &low, float &high) {
    low = __fmul_rn(low, scale), high = __fmul_rn(high, scale);
    round_pair(type, low, high);
    low = __fadd_rn(low, bias), high = __fadd_rn(high, bias);
    round_pair(type, low, high);
}

// One row per block format: bits of an element, elements of a group, words of a chunk, the codecs.
struct E2m1Elements {
    static constexpr int kBits = 4;
    struct Codes {
        uint32_t word;
    };
    static __device__ __forceinline__ Codes load(const uint32_t *packed, int64_t chunk) { return {packed[chunk]}; }
    static __device__ __forceinline__ float decode(Codes codes, int i) { return decode_code(codes.word >> (4 * i)); }
    // `code` may have other bits above its own.
    static __device__ __forceinline__ float decode_code(uint32_t code) { return decode_e2m1(code); }
};

struct E4m3Elements {
    static constexpr int kBits = 8;
    struct Codes {
        uint2 words;
    };
    static __device__ __forceinline__ Codes load(const uint32_t *packed, int64_t chunk) {
        return {reinterpret_cast<const uint2 *>(packed)[chunk]};
    }
    static __device__ __forceinline__ float decode(Codes codes, int i) {
        return decode_code((i < 4 ? codes.words.x : codes.words.y) >> (8 * (i & 3)));
    }
    static __device__ __forceinline__ float decode_code(uint32_t code) { return decode_e4m3(code); }
};

struct Nvfp4 : E2m1Elements {
    static constexpr int kGroup = 16;
    static __device__ __forceinline__ float decode_scale(uint8_t scale) { return decode_e4m3(scale); }
};
struct Mxfp4 : E2m1Elements {
    static constexpr int kGroup = 32;
    static __device__ __forceinline__ float decode_scale(uint8_t scale) { return decode_e8m0(scale); }
};
struct Mxfp8 : E4m3Elements {
    static constexpr int kGroup = 32;
    static __device__ __forceinline__ float decode_scale(uint8_t scale) { return decode_e8m0(scale); }
};

// Largest finite nvfp4 value without a global scale: 6 times 448. A global scale in amax form is relative to it.
constexpr float kNvfp4Max = 2688.0f;

// `Words` consecutive words whose address is aligned to the largest load that divides them.
template <int Words>
__device__ __forceinline__ void load_words(const uint32_t *from, uint32_t (&words)[Words]) {
    if constexpr (Words % 4 == 0) {
#pragma unroll
        for (int i = 0; i < Words; i += 4) {
            const uint4 four = *reinterpret_cast<const uint4 *>(from + i);
            words[i] = four.x, words[i + 1] = four.y, words[i + 2] = four.z, words[i + 3] = four.w;
        }
    } else if constexpr (Words % 2 == 0) {
#pragma unroll
        for (int i = 0; i < Words; i += 2) {
            const uint2 two = *reinterpret_cast<const uint2 *>(from + i);
            words[i] = two.x, words[i + 1] = two.y;
        }
    } else {
#pragma unroll
        for (int i = 0; i < Words; ++i) words[i] = from[i];
    }
}

// The `Bits` bits that start at bit `Bits * i` of a run of words.
template <int Bits, int Words>
__device__ __forceinline__ uint32_t extract(const uint32_t (&words)[Words], int i) {
    const int bit = Bits * i;
    const int word = bit / 32;
    const int shift = bit % 32;
    uint32_t value = words[word] >> shift;
    if (shift + Bits > 32) value |= words[word + 1] << (32 - shift);
    return value & ((1u << Bits) - 1);
}

// Sum over the warp, the same in every lane and in every run.
__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
    for (int lanes = 16; lanes > 0; lanes /= 2) value += __shfl_xor_sync(0xffffffffu, value, lanes);
    return value;
}

// Multiplier of a global scale; `form` holds the values of BLOCKGATE_GLOBAL_* in the C interface.
__device__ __forceinline__ float global_multiplier(const float *value, int form) {
    if (form == 0) return 1.0f;
    return form == 1 ? __fdiv_rn(*value, kNvfp4Max) : *value;
}

// Codes of eight affine elements, chunk `chunk` of a bit stream with `Bits` bits per element.
template <int Bits>
__device__ __forceinline__ uint64_t affine_codes(const uint32_t *packed, int64_t chunk) {
    const uint8_t *bytes = reinterpret_cast<const uint8_t *>(packed) + chunk * Bits;
    if constexpr (Bits == 8) {
        const uint2 words = *reinterpret_cast<const uint2 *>(bytes);
        return static_cast<uint64_t>(words.y) << 32 | words.x;
    } else if constexpr (Bits == 4) {
        return *reinterpret_cast<const uint32_t *>(bytes);
    } else if constexpr (Bits % 2 == 0) {
        uint64_t codes = 0;
        for (int i = 0; i < Bits / 2; ++i)
            codes |= static_cast<uint64_t>(reinterpret_cast<const uint16_t *>(bytes)[i]) << (16 * i);
        return codes;
    } else {
        uint64_t codes = 0;
        for (int i = 0; i < Bits; ++i) codes |= static_cast<uint64_t>(bytes[i]) << (8 * i);
        return codes;
    }
}

template <int Bits, class Type>
__device__ __forceinline__ void affine_chunk(Type type, const uint32_t *packed, int64_t chunk, float scale,
                                             float bias, float (&values)[kChunk]) {
    const uint64_t codes = affine_codes<Bits>(packed, chunk);
#pragma unroll
    for (int i = 0; i < kChunk; i += 2) {
        values[i] = static_cast<float>(static_cast<uint32_t>(codes >> (Bits * i)) & ((1u << Bits) - 1));
        values[i + 1] = static_cast<float>(static_cast<uint32_t>(codes >> (Bits * (i + 1))) & ((1u << Bits) - 1));
        affine_pair(type, scale, bias, values[i], values[i + 1]);
    }
}

}  // namespace blockgate
