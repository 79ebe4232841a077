// Two gates that disagree, as they are found in the wild: the converter is defined for architecture-specific targets,
// while its caller takes the fast path on family-specific ones too. For a target such as 121f the caller names a
// function that does not exist, and the compiler stops with: identifier "..." is undefined.
#include <cstdint>

#if defined(__CUDA_ARCH_SPECIFIC__)
__device__ __forceinline__ uint32_t convert_pair_in_hardware(float low, float high) {
    uint32_t codes;
    asm("{\n .reg .b8 pair;\n cvt.rn.satfinite.e2m1x2.f32 pair, %2, %1;\n"
        " mov.b32 %0, {pair, pair, pair, pair};\n}"
        : "=r"(codes)
        : "f"(low), "f"(high));
    return codes & 0xffu;
}
#endif

__device__ __forceinline__ uint32_t convert_one(float value) {
    const float magnitude = fabsf(value);
    const uint32_t code = (magnitude > 0.25f) + (magnitude >= 0.75f) + (magnitude > 1.25f) + (magnitude >= 1.75f) +
                          (magnitude > 2.5f) + (magnitude >= 3.5f) + (magnitude > 5.0f);
    return code | (__float_as_uint(value) >> 28 & 8u);
}

extern "C" __global__ void marker_two_gates(const float2 *x, uint8_t *codes) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
#if defined(__CUDA_ARCH_FAMILY_SPECIFIC__) && __CUDA_ARCH_FAMILY_SPECIFIC__ >= 1000
    codes[i] = static_cast<uint8_t>(convert_pair_in_hardware(x[i].x, x[i].y));
#else
    codes[i] = static_cast<uint8_t>(convert_one(x[i].x) | convert_one(x[i].y) << 4);
#endif
}
