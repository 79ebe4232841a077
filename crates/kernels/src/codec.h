// Element and scale codecs as plain arithmetic, for every architecture and for the host.
//
// They give the bits of the hardware conversions. Nothing here depends on the target.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define BLOCKGATE_HOST_DEVICE __host__ __device__ __forceinline__
#else
#include <cmath>
#include <cstring>
#define BLOCKGATE_HOST_DEVICE inline
#endif

namespace blockgate {

BLOCKGATE_HOST_DEVICE uint32_t bits_of(float value) {
#if defined(__CUDA_ARCH__)
    return __float_as_uint(value);
#else
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
#endif
}

BLOCKGATE_HOST_DEVICE float float_of(uint32_t bits) {
#if defined(__CUDA_ARCH__)
    return __uint_as_float(bits);
#else
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
#endif
}

// E2M1 (OCP MX 1.0, 5.3.3): values 0, 0.5, 1, 1.5, 2, 3, 4, 6; code = sign << 3 | index. Round to nearest even,
// saturating; the sign of zero is kept; NaN gives +6, as cvt.satfinite does.
BLOCKGATE_HOST_DEVICE uint32_t encode_e2m1(float value) {
    // The comparison is false for a NaN, which leaves 6. (C libraries let fminf return a signalling NaN.)
    const float magnitude = fabsf(value) < 6.0f ? fabsf(value) : 6.0f;
    const uint32_t bits = bits_of(magnitude);
    // Below 1 the grid is uniform with step 0.5, which is the unit in the last place of 2^22: the addition rounds.
    const uint32_t low = bits_of(magnitude + 4194304.0f) & 7u;
    // From 1 on, E2M1 is f32 cut to one mantissa bit; 0xfc moves the exponent bias from 127 to 1.
    const uint32_t high = ((bits + 0x1fffffu + ((bits >> 22) & 1u)) >> 22) - 0xfcu;
    const uint32_t sign = value != value ? 0u : (bits_of(value) >> 28) & 8u;
    return (magnitude < 1.0f ? low : high) | sign;
}

// Exact: the code is placed on f32's exponent and top mantissa bit, then the bias is corrected by 2^126.
BLOCKGATE_HOST_DEVICE float decode_e2m1(uint32_t code) {
    return float_of(((code & 7u) << 22) | ((code & 8u) << 28)) * 8.50705917302346158658e37f;
}

// E4M3 (OCP MX 1.0, 5.3.1): round to nearest even, saturating at 448; NaN gives 0x7f, as cvt.satfinite does.
BLOCKGATE_HOST_DEVICE uint32_t encode_e4m3(float value) {
    const uint32_t bits = bits_of(value);
    const uint32_t magnitude = bits & 0x7fffffffu;
    const uint32_t sign = (bits >> 24) & 0x80u;
    // 2^14 has the unit in the last place 2^-9, which is E4M3's subnormal step: the addition rounds.
    const uint32_t low = bits_of(float_of(magnitude) + 16384.0f) - 0x46800000u;
    // Cut to three mantissa bits; the constant also moves the exponent bias from 127 to 7.
    const uint32_t high = (magnitude + 0xc407ffffu + ((magnitude >> 20) & 1u)) >> 20;
    const uint32_t finite = magnitude < 0x3c800000u ? low : high;
    if (magnitude > 0x7f800000u) return 0x7fu;
    return (magnitude >= 0x43e00000u ? 0x7eu : finite) | sign;
}

// Exact, with 0x7f and 0xff as NaN. The bias is corrected by 2^120.
BLOCKGATE_HOST_DEVICE float decode_e4m3(uint32_t code) {
    const float value = float_of(((code & 0x7fu) << 20) | ((code & 0x80u) << 24)) * 1.32922799578491587290e36f;
    return (code & 0x7fu) == 0x7fu ? float_of(0x7fffffffu) : value;
}

// E8M0 (OCP MX 1.0, 5.4.1) of a non-negative value, rounded up: 127 + ceil(log2 value), at least 0. Infinity and NaN
// give 0xff, so that a group with an infinite element decodes to NaN instead of to plausible numbers.
BLOCKGATE_HOST_DEVICE uint32_t encode_e8m0_up(float value) {
    const uint32_t bits = bits_of(value);
    if (bits >= 0x7f800000u) return 0xffu;
    const uint32_t exponent = bits >> 23;
    const uint32_t mantissa = bits & 0x7fffffu;
    // Below 2^-126 the exponent field is 0 and the mantissa counts in units of 2^-149: 0x400000 of them are 2^-127.
    if (exponent == 0) return mantissa > 0x400000u ? 1u : 0u;
    const uint32_t up = exponent + (mantissa != 0 ? 1u : 0u);
    return up < 254u ? up : 254u;
}

// 2^(code - 127); 0xff is NaN; 0 is the f32 subnormal 2^-127.
BLOCKGATE_HOST_DEVICE float decode_e8m0(uint32_t code) {
    if (code == 0xffu) return float_of(0x7fffffffu);
    return float_of(code == 0 ? 0x00400000u : code << 23);
}

// 1 / decode_e8m0(code), which is exact in f32 for every code.
BLOCKGATE_HOST_DEVICE float reciprocal_e8m0(uint32_t code) {
    if (code == 0xffu) return float_of(0x7fffffffu);
    return float_of(code == 254 ? 0x00400000u : (254u - code) << 23);
}

}  // namespace blockgate
