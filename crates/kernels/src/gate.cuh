// The one place that decides between a hardware conversion and code of our own.
//
// Each capability is a macro that is 0 or 1 in every pass, the host's included. The converter and whoever calls it
// test the same macro, so that no target can open one gate and leave the other shut.
//
// What the compiler defines for a target NN, and since which toolkit:
//
//   target | __CUDA_ARCH_SPECIFIC__ (12.9) | __CUDA_ARCH_FAMILY_SPECIFIC__ (12.9) | __CUDA_ARCH_FEAT_SMNN_ALL (12.0)
//   NN     | -                             | -                                   | -
//   NNf    | -                             | NN0                                 | -
//   NNa    | NN0                           | NN0                                 | defined
//
// Toolkit 12.8 has the `a` targets 100a, 101a and 120a but defines only the last column, so all three are asked.
#pragma once

#if !defined(__CUDA_ARCH__)
#define BLOCKGATE_ARCH 0
#else
#define BLOCKGATE_ARCH __CUDA_ARCH__
#endif

// Scope of the target: 0 plain, 1 family, 2 specific (the values of BLOCKGATE_SCOPE_* in the C interface).
#if defined(__CUDA_ARCH_SPECIFIC__) || defined(__CUDA_ARCH_FEAT_SM90_ALL) || defined(__CUDA_ARCH_FEAT_SM100_ALL) || \
    defined(__CUDA_ARCH_FEAT_SM101_ALL) || defined(__CUDA_ARCH_FEAT_SM103_ALL) ||                                   \
    defined(__CUDA_ARCH_FEAT_SM107_ALL) || defined(__CUDA_ARCH_FEAT_SM110_ALL) ||                                   \
    defined(__CUDA_ARCH_FEAT_SM120_ALL) || defined(__CUDA_ARCH_FEAT_SM121_ALL)
#define BLOCKGATE_SCOPE 2
#elif defined(__CUDA_ARCH_FAMILY_SPECIFIC__)
#define BLOCKGATE_SCOPE 1
#else
#define BLOCKGATE_SCOPE 0
#endif

// cvt.rn.satfinite.e2m1x2.f32 (PTX ISA, cvt): every family and specific target of the Blackwell capabilities, never a
// plain one. A capability that is not listed takes our own code, which is slower and right.
#if BLOCKGATE_SCOPE >= 1 &&                                                                                  \
    (BLOCKGATE_ARCH == 1000 || BLOCKGATE_ARCH == 1010 || BLOCKGATE_ARCH == 1030 || BLOCKGATE_ARCH == 1070 || \
     BLOCKGATE_ARCH == 1100 || BLOCKGATE_ARCH == 1200 || BLOCKGATE_ARCH == 1210)
#define BLOCKGATE_HAS_E2M1 1
#else
#define BLOCKGATE_HAS_E2M1 0
#endif

// cvt.rs.satfinite.e2m1x4.f32 (PTX ISA, cvt): sm_100a, sm_103a and sm_107a. No family target has it, and neither has
// sm_110a, sm_120a or sm_121a.
#if BLOCKGATE_SCOPE == 2 && (BLOCKGATE_ARCH == 1000 || BLOCKGATE_ARCH == 1030 || BLOCKGATE_ARCH == 1070)
#define BLOCKGATE_HAS_E2M1_STOCHASTIC 1
#else
#define BLOCKGATE_HAS_E2M1_STOCHASTIC 0
#endif

// cvt.rn.satfinite.e4m3x2.f32 (PTX ISA, cvt): sm_89 and later, plain targets too, so no suffix changes it.
#if BLOCKGATE_ARCH >= 890
#define BLOCKGATE_HAS_E4M3 1
#else
#define BLOCKGATE_HAS_E4M3 0
#endif

// cvt.rn.bf16x2.f32 and mma.m16n8k16 for bf16 and f16 (PTX ISA, cvt and mma): sm_80 and later, plain targets too.
#if BLOCKGATE_ARCH >= 800
#define BLOCKGATE_HAS_BF16 1
#define BLOCKGATE_HAS_MMA 1
#else
#define BLOCKGATE_HAS_BF16 0
#define BLOCKGATE_HAS_MMA 0
#endif
