// Statuses as text, and the last CUDA error of the thread. Host code only: no architecture has a part in it.
#include "launch.h"

namespace {

thread_local cudaError_t last_error = cudaSuccess;

struct Row {
    blockgate_status status;
    const char *name;
    const char *text;
};

constexpr Row kRows[] = {
    {BLOCKGATE_OK, "BLOCKGATE_OK", "no error"},
    {BLOCKGATE_INVALID_ARGUMENT, "BLOCKGATE_INVALID_ARGUMENT",
     "a needed pointer is null, or an enumerator does not exist"},
    {BLOCKGATE_INVALID_SHAPE, "BLOCKGATE_INVALID_SHAPE", "a size is negative or not a multiple of the group"},
    {BLOCKGATE_MISALIGNED, "BLOCKGATE_MISALIGNED",
     "a base pointer is not a multiple of 16 bytes, or a batch stride splits a group"},
    {BLOCKGATE_TOO_LARGE, "BLOCKGATE_TOO_LARGE", "the shape is beyond what one launch or a 64-bit offset can reach"},
    {BLOCKGATE_UNSUPPORTED_FORMAT, "BLOCKGATE_UNSUPPORTED_FORMAT",
     "the format has no such bit count, group size or kernel"},
    {BLOCKGATE_INVALID_GLOBAL_SCALE, "BLOCKGATE_INVALID_GLOBAL_SCALE",
     "a global scale belongs to nvfp4 alone, and to both operands of a product or to neither"},
    {BLOCKGATE_STOCHASTIC_UNAVAILABLE, "BLOCKGATE_STOCHASTIC_UNAVAILABLE",
     "the loaded image has no stochastic conversion; images of sm_100a, sm_103a and sm_107a have it"},
    {BLOCKGATE_NO_IMAGE_FOR_DEVICE, "BLOCKGATE_NO_IMAGE_FOR_DEVICE",
     "the archive holds no image that the device can run"},
    {BLOCKGATE_NO_DEVICE, "BLOCKGATE_NO_DEVICE", "no CUDA device, no driver, or a driver older than the runtime"},
    {BLOCKGATE_CUDA_ERROR, "BLOCKGATE_CUDA_ERROR", "a CUDA call failed; blockgate_last_cuda_error has its number"},
};

}  // namespace

namespace blockgate {

blockgate_status status_of(cudaError_t error) {
    last_error = error;
    // The runtime keeps an error until somebody asks. Reported here, it must not surprise an unrelated caller.
    if (error != cudaSuccess) cudaGetLastError();
    switch (error) {
        case cudaSuccess: return BLOCKGATE_OK;
        case cudaErrorNoKernelImageForDevice:
        case cudaErrorUnsupportedPtxVersion: return BLOCKGATE_NO_IMAGE_FOR_DEVICE;
        case cudaErrorNoDevice:
        case cudaErrorInsufficientDriver: return BLOCKGATE_NO_DEVICE;
        default: return BLOCKGATE_CUDA_ERROR;
    }
}

}  // namespace blockgate

extern "C" const char *blockgate_status_string(blockgate_status status) {
    for (const Row &row : kRows)
        if (row.status == status) return row.text;
    return "unknown status";
}

extern "C" const char *blockgate_status_name(blockgate_status status) {
    for (const Row &row : kRows)
        if (row.status == status) return row.name;
    return "BLOCKGATE_UNKNOWN_STATUS";
}

extern "C" int32_t blockgate_last_cuda_error(void) { return static_cast<int32_t>(last_error); }

extern "C" int32_t blockgate_kernels_abi(void) { return BLOCKGATE_KERNELS_ABI; }
