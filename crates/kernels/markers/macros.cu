// Kernels whose names tell which macros the compiler defined for the target, and with which value:
//
//   marker_arch_1210            __CUDA_ARCH__ is 1210; every image has one of these
//   marker_specific_1210        __CUDA_ARCH_SPECIFIC__ is 1210
//   marker_family_1210          __CUDA_ARCH_FAMILY_SPECIFIC__ is 1210
//   marker_feat_sm121_all       __CUDA_ARCH_FEAT_SM121_ALL is defined
//
// They are defined in the device passes alone and cannot be launched: only their names are of use.
#define MARKER_JOIN(a, b) a##b
#define MARKER_NAME(prefix, value) MARKER_JOIN(prefix, value)
#define MARKER(name) \
    extern "C" __global__ void name() {}

// The compiler's host code names the kernels of every device pass, so the host pass has to declare them. A target
// that is missing here does not compile to an object: "was not declared in this scope".
#if !defined(__CUDA_ARCH__)
#define DECLARE(name) extern "C" __global__ void name();
#define DECLARE_TARGET(value) \
    DECLARE(marker_arch_##value) DECLARE(marker_specific_##value) DECLARE(marker_family_##value)
DECLARE_TARGET(700)
DECLARE_TARGET(720)
DECLARE_TARGET(750)
DECLARE_TARGET(800)
DECLARE_TARGET(860)
DECLARE_TARGET(870)
DECLARE_TARGET(880)
DECLARE_TARGET(890)
DECLARE_TARGET(900)
DECLARE_TARGET(1000)
DECLARE_TARGET(1010)
DECLARE_TARGET(1030)
DECLARE_TARGET(1070)
DECLARE_TARGET(1100)
DECLARE_TARGET(1200)
DECLARE_TARGET(1210)
DECLARE(marker_feat_sm90_all)
DECLARE(marker_feat_sm100_all)
DECLARE(marker_feat_sm101_all)
DECLARE(marker_feat_sm103_all)
DECLARE(marker_feat_sm107_all)
DECLARE(marker_feat_sm110_all)
DECLARE(marker_feat_sm120_all)
DECLARE(marker_feat_sm121_all)
#endif

#if defined(__CUDA_ARCH__)
MARKER(MARKER_NAME(marker_arch_, __CUDA_ARCH__))
#endif
#if defined(__CUDA_ARCH_SPECIFIC__)
MARKER(MARKER_NAME(marker_specific_, __CUDA_ARCH_SPECIFIC__))
#endif
#if defined(__CUDA_ARCH_FAMILY_SPECIFIC__)
MARKER(MARKER_NAME(marker_family_, __CUDA_ARCH_FAMILY_SPECIFIC__))
#endif
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
MARKER(marker_feat_sm90_all)
#endif
#if defined(__CUDA_ARCH_FEAT_SM100_ALL)
MARKER(marker_feat_sm100_all)
#endif
#if defined(__CUDA_ARCH_FEAT_SM101_ALL)
MARKER(marker_feat_sm101_all)
#endif
#if defined(__CUDA_ARCH_FEAT_SM103_ALL)
MARKER(marker_feat_sm103_all)
#endif
#if defined(__CUDA_ARCH_FEAT_SM107_ALL)
MARKER(marker_feat_sm107_all)
#endif
#if defined(__CUDA_ARCH_FEAT_SM110_ALL)
MARKER(marker_feat_sm110_all)
#endif
#if defined(__CUDA_ARCH_FEAT_SM120_ALL)
MARKER(marker_feat_sm120_all)
#endif
#if defined(__CUDA_ARCH_FEAT_SM121_ALL)
MARKER(marker_feat_sm121_all)
#endif
