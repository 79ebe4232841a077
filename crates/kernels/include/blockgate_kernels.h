/* The tables and formulas of the next comment keep their lines. */
/* clang-format off */
/*
 * C interface of the Blockgate CUDA kernels.
 *
 * Every function is asynchronous on `stream` unless it says otherwise, allocates nothing, and returns a status:
 * arguments are checked before anything is launched, and no exception or abort crosses this boundary. All data
 * pointers are device pointers. `stream` is a cudaStream_t (null is the legacy default stream) of the current device.
 *
 * Sizes are counts of elements, 64 bits wide; sizes in bytes say so. A matrix of `rows` x `columns` is row-major and
 * contiguous. Base pointers of matrices are aligned to 16 bytes; scale arrays of one byte per group to 1 byte.
 *
 * Block formats (OCP Microscaling Formats 1.0 for the element and scale types, NVIDIA's NVFP4 for groups of 16):
 *
 *   format | element | group | scale, one byte per group
 *   nvfp4  | E2M1    | 16    | E4M3
 *   mxfp4  | E2M1    | 32    | E8M0
 *   mxfp8  | E4M3    | 32    | E8M0
 *
 * Groups run along a row. Elements are packed into little-endian 32-bit words: element i of a row lies in bits
 * [i * bits, (i + 1) * bits) of the row's bit stream, so element 0 is the low nibble of the first byte. Scales are a
 * `rows` x `columns / group` array of bytes.
 *
 * Quantization rule, the same bits on every architecture, through the hardware conversion or through integer code:
 *   amax    = max |x| of the group in f32; NaN is ignored
 *   nvfp4   : enc = f32(2688 / global_amax), or 1 without a global scale; scale = E4M3(f32(f32(amax / 6) * enc))
 *   mx      : scale = 2^ceil(log2(f32(amax / 6))) (mxfp8: 448), clamped to [2^-127, 2^127]; an infinite amax
 *             gives 0xff
 *   code    = round-to-nearest-even, saturating, of f32(x * f32(enc / scale)); the sign of zero is kept; NaN gives +6
 *             (mxfp8: 0x7f)
 * A group of zeros has scale byte 0x00. Under nvfp4 its reciprocal is infinite, so its codes are 7, which decode to 0.
 */
/* clang-format on */
#ifndef BLOCKGATE_KERNELS_H
#define BLOCKGATE_KERNELS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Rises when a function's meaning or signature changes. */
#define BLOCKGATE_KERNELS_ABI 1

typedef int32_t blockgate_status;

enum {
    BLOCKGATE_OK = 0,
    /* A null pointer where data is needed, or an enumerator that does not exist. */
    BLOCKGATE_INVALID_ARGUMENT = 1,
    /* A negative size, or a size that is no multiple of the group. */
    BLOCKGATE_INVALID_SHAPE = 2,
    /* A base pointer that is not a multiple of 16 bytes, or a batch stride that blockgate_matmul does not allow. */
    BLOCKGATE_MISALIGNED = 3,
    /* The shape needs more thread blocks than one launch can have, or an offset beyond 63 bits. */
    BLOCKGATE_TOO_LARGE = 4,
    /* This bit count or group size is not one of the format's. */
    BLOCKGATE_UNSUPPORTED_FORMAT = 5,
    /* A global scale was given for a format that has none, or for one of two operands. */
    BLOCKGATE_INVALID_GLOBAL_SCALE = 6,
    /* The image that the driver loaded has no stochastic conversion (cvt.rs: sm_100a, sm_103a, sm_107a only). */
    BLOCKGATE_STOCHASTIC_UNAVAILABLE = 7,
    /* The archive holds no image that the current device can run. */
    BLOCKGATE_NO_IMAGE_FOR_DEVICE = 8,
    /* No device, no driver, or a driver that is too old for the runtime. */
    BLOCKGATE_NO_DEVICE = 9,
    /* Any other CUDA error; blockgate_last_cuda_error() has its number. */
    BLOCKGATE_CUDA_ERROR = 10
};

/* A sentence for a status. Never null; static storage. */
const char *blockgate_status_string(blockgate_status status);

/* The name of the enumerator, for logs and tests. Never null; static storage. */
const char *blockgate_status_name(blockgate_status status);

/* The cudaError_t behind this thread's last status from BLOCKGATE_NO_IMAGE_FOR_DEVICE on; 0 if there was none. */
int32_t blockgate_last_cuda_error(void);

/* BLOCKGATE_KERNELS_ABI of the archive that was linked. */
int32_t blockgate_kernels_abi(void);

/* Type of activations and of dense matrices. */
enum { BLOCKGATE_F32 = 0, BLOCKGATE_F16 = 1, BLOCKGATE_BF16 = 2 };
typedef int32_t blockgate_dtype;

enum { BLOCKGATE_NVFP4 = 0, BLOCKGATE_MXFP4 = 1, BLOCKGATE_MXFP8 = 2 };
typedef int32_t blockgate_format;

/*
 * The second-level scale of nvfp4: one f32 on the device. It is used exactly once per result: dequantize multiplies
 * the group's scale by it, the matrix products multiply the f32 sum.
 */
enum {
    /* `value` is ignored and may be null. */
    BLOCKGATE_GLOBAL_NONE = 0,
    /* `*value` is the tensor's absolute maximum; the multiplier is f32(amax / 2688). */
    BLOCKGATE_GLOBAL_AMAX = 1,
    /* `*value` is the multiplier itself, as checkpoints store it. The amax form cannot express every multiplier. */
    BLOCKGATE_GLOBAL_MULTIPLIER = 2
};
typedef struct blockgate_global_scale {
    const float *value;
    int32_t form;
} blockgate_global_scale;

/* From quantize.cu */

/* Target scope of an image: plain (sm_121), family (sm_121f), specific (sm_121a). */
enum { BLOCKGATE_SCOPE_PLAIN = 0, BLOCKGATE_SCOPE_FAMILY = 1, BLOCKGATE_SCOPE_SPECIFIC = 2 };

/* Conversions that an image of quantize.cu was compiled with. */
enum {
    BLOCKGATE_CONVERTS_E2M1 = 1u << 0,
    BLOCKGATE_CONVERTS_E2M1_STOCHASTIC = 1u << 1,
    BLOCKGATE_CONVERTS_E4M3 = 1u << 2
};

/* What the driver loaded for quantize.cu, as that image says itself. */
typedef struct blockgate_image {
    /* Compute capability that the code was compiled for, times ten: 121 for sm_121a, and for PTX of compute_121. */
    uint32_t capability;
    /* BLOCKGATE_SCOPE_*. */
    uint32_t scope;
    /* Bits of BLOCKGATE_CONVERTS_*. */
    uint32_t conversions;
} blockgate_image;

/*
 * Reports the loaded image of the current device. The first call on a device launches a kernel, allocates 16 bytes
 * for a moment and waits for it, so make it before a stream capture begins; later calls read a cache.
 */
blockgate_status blockgate_quantize_image(blockgate_image *image);

/*
 * Quantizes x (`rows` x `columns` of `dtype`; `columns` is a multiple of the group).
 *   global_amax : nvfp4 only; one f32, the tensor's absolute maximum; null for none
 *   packed      : rows * columns * bits / 32 words (4 bits per element; mxfp8: 8)
 *   scales      : rows * columns / group bytes
 */
blockgate_status blockgate_quantize(blockgate_format format, blockgate_dtype dtype, const void *x, int64_t rows,
                                    int64_t columns, const float *global_amax, uint32_t *packed, uint8_t *scales,
                                    void *stream);

/*
 * Quantizes and decodes at once: y = dtype(element * f32(scale * inv)), with inv = f32(1 / enc) under a global scale.
 * y has the shape and type of x and may be x itself.
 */
blockgate_status blockgate_quantize_dequantize(blockgate_format format, blockgate_dtype dtype, const void *x,
                                               int64_t rows, int64_t columns, const float *global_amax, void *y,
                                               void *stream);

/*
 * blockgate_quantize with stochastic rounding of the elements (nvfp4 and mxfp4), by the hardware conversion alone:
 * BLOCKGATE_STOCHASTIC_UNAVAILABLE where the loaded image has none. Scales are rounded as ever. Eight random bits per
 * element come from Philox4x32-10 with key `seed` and counter {c low, c high, offset low, offset high} for the c-th
 * run of eight elements of x: output word 0 serves elements 0 to 3 of the run, word 1 elements 4 to 7.
 *
 * The first call on a device asks the image what it has, like blockgate_quantize_image: it allocates on the device,
 * launches on the legacy default stream and waits for it, so it must not be made while a stream is being captured. Call
 * blockgate_quantize_image once before to have it behind you.
 */
blockgate_status blockgate_quantize_stochastic(blockgate_format format, blockgate_dtype dtype, const void *x,
                                               int64_t rows, int64_t columns, const float *global_amax, uint64_t seed,
                                               uint64_t offset, uint32_t *packed, uint8_t *scales, void *stream);

/* From dequantize.cu */

/*
 * y (`rows` x `columns` of `dtype`) = dtype(f32(f32(scale * multiplier) * element)): one rounding to `dtype`.
 * Scale bytes 0x7f and 0xff (E4M3) and 0xff (E8M0) decode to NaN; E8M0 byte 0 to 2^-127; the sign of an E4M3 scale
 * is honoured.
 */
blockgate_status blockgate_dequantize(blockgate_format format, blockgate_dtype dtype, const uint32_t *packed,
                                      const uint8_t *scales, int64_t rows, int64_t columns,
                                      blockgate_global_scale global_scale, void *y, void *stream);

/*
 * Affine groups: y = dtype(dtype(q * scale) + bias), two roundings to `dtype`, no fused multiply-add.
 *   bits   : 2, 3, 4, 5, 6 or 8; group: 32, 64 or 128
 *   packed : rows * columns * bits / 32 words; scales, biases: rows * columns / group of `dtype`
 */
blockgate_status blockgate_affine_dequantize(int32_t bits, int32_t group, blockgate_dtype dtype,
                                             const uint32_t *packed, const void *scales, const void *biases,
                                             int64_t rows, int64_t columns, void *y, void *stream);

/*
 * y (m x n) = x (m x k) times the dequantized weight, `batch` times. Sums are f32; x, scales, biases and y have one
 * `dtype`. A weight of a block format is the exact f32 product element * scale; an affine weight is what
 * blockgate_affine_dequantize gives. With w the weights and y64 the product in exact arithmetic,
 *   |y - y64| <= 2 k 2^-23 |multiplier| sum |x w| + half an ulp of y's type,
 * and equal inputs give equal bits in every run.
 */
typedef struct blockgate_matmul {
    int64_t m;
    int64_t n;
    int64_t k;
    /* Number of products; 1 for plain matrices. */
    int64_t batch;
    /*
     * Distance between consecutive matrices of a batch, not negative; 0 uses the same matrix for all (y excepted).
     * Ignored when batch is 1.
     */
    int64_t x_stride;      /* elements; the mat-vecs want a multiple of 8 */
    int64_t weight_stride; /* 32-bit words; whole groups (affine: whole runs of 32 elements) */
    int64_t scale_stride;  /* scales, and biases too */
    int64_t y_stride;      /* elements */
} blockgate_matmul;

/* How the weight lies in memory. */
enum {
    /* n rows packed along k; groups run along k, so k is a multiple of the group. */
    BLOCKGATE_WEIGHT_NK = 0,
    /* k rows packed along n; groups run along n, so n is a multiple of the group. */
    BLOCKGATE_WEIGHT_KN = 1
};
typedef int32_t blockgate_weight_layout;

/* qmv.cu and fp_qmv.cu: for few rows (m up to about 8; any m is right). Weight layout NK. */
blockgate_status blockgate_affine_qmv(const blockgate_matmul *shape, int32_t bits, int32_t group,
                                      blockgate_dtype dtype, const void *x, const uint32_t *packed,
                                      const void *scales, const void *biases, void *y, void *stream);
blockgate_status blockgate_fp_qmv(const blockgate_matmul *shape, blockgate_format format, blockgate_dtype dtype,
                                  const void *x, const uint32_t *packed, const uint8_t *scales,
                                  blockgate_global_scale global_scale, void *y, void *stream);

/* qmm.cu: any m, both weight layouts. f16 and bf16 use tensor cores where the architecture has them for the type. */
blockgate_status blockgate_affine_qmm(const blockgate_matmul *shape, blockgate_weight_layout layout, int32_t bits,
                                      int32_t group, blockgate_dtype dtype, const void *x, const uint32_t *packed,
                                      const void *scales, const void *biases, void *y, void *stream);
blockgate_status blockgate_fp_qmm(const blockgate_matmul *shape, blockgate_weight_layout layout,
                                  blockgate_format format, blockgate_dtype dtype, const void *x,
                                  const uint32_t *packed, const uint8_t *scales, blockgate_global_scale global_scale,
                                  void *y, void *stream);

/* From scales.cu */

/*
 * Bytes of the 128x4 tiled form of a `rows` x `columns` scale matrix (columns = groups per row):
 * 128 ceil(rows / 128) * 4 ceil(columns / 4); -1 for negative sizes or a result beyond 63 bits.
 */
int64_t blockgate_tiled_scale_bytes(int64_t rows, int64_t columns);

/*
 * Rearranges scale bytes for block-scaled tensor-core products: the scale of (row, column) moves to byte
 *   ((row / 128) * ceil(columns / 4) + column / 4) * 512 + (row % 32) * 16 + (row % 128) / 32 * 4 + column % 4,
 * and every byte of a row or column out of range is zero. `tiled` is aligned to 16 bytes and is not `scales`.
 */
blockgate_status blockgate_tile_scales(const uint8_t *scales, int64_t rows, int64_t columns, uint8_t *tiled,
                                       void *stream);

/*
 * Factors of a product of two nvfp4 operands, for a GEMM that reads them from the device:
 *   *alpha = f32(f32(x_amax * weight_amax) * 0x34149b93), the constant being f32(1 / 2688^2), and *beta = 0.
 * Both amax pointers null: *alpha = 1. One null: BLOCKGATE_INVALID_GLOBAL_SCALE.
 */
blockgate_status blockgate_qqmm_factors(const float *x_amax, const float *weight_amax, float *alpha, float *beta,
                                        void *stream);

#ifdef __cplusplus
}
#endif

#endif
