// The same conversion behind this project's gate: one macro decides for the converter and for its caller.
#include <cstdint>

#include "codec.h"
#include "gate.cuh"

__device__ __forceinline__ uint32_t convert_pair(float low, float high) {
#if BLOCKGATE_HAS_E2M1
    uint32_t codes;
    asm("{\n .reg .b8 pair;\n cvt.rn.satfinite.e2m1x2.f32 pair, %2, %1;\n mov.b32 %0, {pair, pair, pair, pair};\n}"
        : "=r"(codes)
        : "f"(low), "f"(high));
    return codes & 0xffu;
#else
    return blockgate::encode_e2m1(low) | blockgate::encode_e2m1(high) << 4;
#endif
}

extern "C" __global__ void marker_one_gate(const float2 *x, uint8_t *codes) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    codes[i] = static_cast<uint8_t>(convert_pair(x[i].x, x[i].y));
}
