// The control: a source that an architecture-specific pass compiles to other machine code.
//
// Its gate is the kind that tensor-core libraries use, a per-architecture feature macro, and it is kept apart from
// gate.cuh on purpose: it stands for code that this project does not own. It converts nothing to E2M1.
#include <cuda_runtime_api.h>

#include "blockgate_control.h"
#include "codec.h"

#if defined(__CUDA_ARCH_FEAT_SM120_ALL) || defined(__CUDA_ARCH_FEAT_SM121_ALL) || \
    (defined(__CUDA_ARCH_SPECIFIC__) && (__CUDA_ARCH_SPECIFIC__ == 1200 || __CUDA_ARCH_SPECIFIC__ == 1210))
#define BLOCKGATE_CONTROL_MMA 1
#else
#define BLOCKGATE_CONTROL_MMA 0
#endif

// One warp. Lane l holds d's rows l / 4 and l / 4 + 8, columns 2 (l % 4) and the next (PTX ISA, mma.m16n8k32).
extern "C" __global__ void __launch_bounds__(32) bgk_control_product(const uint8_t *a, const uint8_t *b, float *d) {
    const int lane = threadIdx.x;
    const int row = lane / 4;
    const int column = lane % 4 * 2;
    float sums[4] = {};
#if BLOCKGATE_CONTROL_MMA
    const uint32_t *a_words = reinterpret_cast<const uint32_t *>(a) + row * 8 + lane % 4;
    const uint32_t *b_words = reinterpret_cast<const uint32_t *>(b) + row * 8 + lane % 4;
    asm("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a_words[0]), "r"(a_words[64]), "r"(a_words[4]), "r"(a_words[68]), "r"(b_words[0]), "r"(b_words[4]));
#else
    for (int i = 0; i < 4; ++i)
        for (int k = 0; k < 32; ++k)
            sums[i] = fmaf(blockgate::decode_e4m3(a[(row + i / 2 * 8) * 32 + k]),
                           blockgate::decode_e4m3(b[(column + i % 2) * 32 + k]), sums[i]);
#endif
    for (int i = 0; i < 4; ++i) d[(row + i / 2 * 8) * 8 + column + i % 2] = sums[i];
}

extern "C" int32_t blockgate_control_product(const uint8_t *a, const uint8_t *b, float *d, void *stream) {
    void *arguments[] = {&a, &b, &d};
    return static_cast<int32_t>(cudaLaunchKernel(reinterpret_cast<const void *>(bgk_control_product), dim3(1),
                                                 dim3(32), arguments, 0, static_cast<cudaStream_t>(stream)));
}
