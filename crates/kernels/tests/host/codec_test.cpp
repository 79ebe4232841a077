// Holds codec.h, the software conversion, against definitions that are obvious: nearest value, ties to the even code.
//
// By default a stride of the f32 patterns and everything near a rounding boundary; `codec_test all` takes all 2^32.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "codec.h"

namespace {

using blockgate::bits_of;
using blockgate::float_of;

int failures = 0;

void expect(bool holds, const char *what, uint32_t pattern, uint32_t got, uint32_t want) {
    if (holds) return;
    if (++failures <= 20) std::printf("%s of %08x: got %02x, want %02x\n", what, pattern, got, want);
}

// Values of the non-negative codes, from the format's definition.
std::vector<double> values_of(int exponent_bits, int mantissa_bits, int bias, int count) {
    std::vector<double> values;
    for (int code = 0; code < count; ++code) {
        const int exponent = code >> mantissa_bits & ((1 << exponent_bits) - 1);
        const double mantissa = code & ((1 << mantissa_bits) - 1);
        const double scale = mantissa / (1 << mantissa_bits);
        values.push_back(exponent == 0 ? std::ldexp(scale, 1 - bias) : std::ldexp(1.0 + scale, exponent - bias));
    }
    return values;
}

const std::vector<double> e2m1 = values_of(2, 1, 1, 8);
const std::vector<double> e4m3 = values_of(4, 3, 7, 127);

// Code of the value nearest to |x|, the even code at a tie, the last code beyond the range.
uint32_t nearest(const std::vector<double> &values, double magnitude) {
    size_t low = 0, high = values.size() - 1;
    if (magnitude >= values[high]) return static_cast<uint32_t>(high);
    while (high - low > 1) {
        const size_t middle = (low + high) / 2;
        (values[middle] <= magnitude ? low : high) = middle;
    }
    const double down = magnitude - values[low], up = values[high] - magnitude;
    return static_cast<uint32_t>(down < up || (down == up && low % 2 == 0) ? low : high);
}

void check(uint32_t pattern) {
    const float x = float_of(pattern);
    const bool nan = std::isnan(x);
    const bool negative = std::signbit(x);
    const double magnitude = std::fabs(static_cast<double>(x));

    const uint32_t want2 = nan ? 7u : nearest(e2m1, magnitude) | (negative ? 8u : 0u);
    const uint32_t got2 = blockgate::encode_e2m1(x);
    expect(got2 == want2, "E2M1", pattern, got2, want2);

    const uint32_t want4 = nan ? 0x7fu : nearest(e4m3, magnitude) | (negative ? 0x80u : 0u);
    const uint32_t got4 = blockgate::encode_e4m3(x);
    expect(got4 == want4, "E4M3", pattern, got4, want4);

    if (negative && !nan && magnitude > 0) return;
    uint32_t want8 = 0xff;
    if (!nan && std::isfinite(x)) {
        int exponent = 0;
        // frexp gives a mantissa in [0.5, 1): an exact power of two is the one that must not be rounded up.
        const double mantissa = std::frexp(magnitude, &exponent);
        const int up = magnitude == 0 ? -127 : (mantissa == 0.5 ? exponent - 1 : exponent);
        want8 = static_cast<uint32_t>((up < -127 ? -127 : up > 127 ? 127 : up) + 127);
    }
    const uint32_t got8 = blockgate::encode_e8m0_up(std::fabs(x));
    expect(got8 == want8, "E8M0", pattern, got8, want8);
}

void check_decoders() {
    for (uint32_t code = 0; code < 16; ++code) {
        const double want = code & 8 ? -e2m1[code & 7] : e2m1[code & 7];
        const float got = blockgate::decode_e2m1(code | 0xfffffff0u);
        expect(got == want && std::signbit(got) == (code >= 8), "E2M1 value", code, bits_of(got), 0);
        expect(blockgate::encode_e2m1(got) == code, "E2M1 round trip", code, blockgate::encode_e2m1(got), code);
    }
    for (uint32_t code = 0; code < 256; ++code) {
        const float got = blockgate::decode_e4m3(code | 0xffffff00u);
        if ((code & 127) == 127) {
            expect(std::isnan(got), "E4M3 NaN", code, bits_of(got), 0);
        } else {
            const double want = code & 128 ? -e4m3[code & 127] : e4m3[code & 127];
            expect(got == want && std::signbit(got) == (code >= 128), "E4M3 value", code, bits_of(got), 0);
            expect(blockgate::encode_e4m3(got) == code, "E4M3 round trip", code, blockgate::encode_e4m3(got), code);
        }
        const float scale = blockgate::decode_e8m0(code);
        const float reciprocal = blockgate::reciprocal_e8m0(code);
        if (code == 255) {
            expect(std::isnan(scale) && std::isnan(reciprocal), "E8M0 NaN", code, bits_of(scale), 0);
        } else {
            expect(scale == std::ldexp(1.0, static_cast<int>(code) - 127), "E8M0 value", code, bits_of(scale), 0);
            expect(reciprocal == 1.0f / scale, "E8M0 reciprocal", code, bits_of(reciprocal), bits_of(1.0f / scale));
            expect(blockgate::encode_e8m0_up(scale) == code, "E8M0 round trip", code,
                   blockgate::encode_e8m0_up(scale), code);
        }
    }
}

// Patterns around every value and every midpoint of two values.
void check_boundaries(const std::vector<double> &values) {
    for (size_t i = 0; i + 1 < values.size(); ++i)
        for (const double at : {values[i], (values[i] + values[i + 1]) / 2, values[i + 1]})
            for (int step = -64; step <= 64; ++step)
                for (const uint32_t sign : {0u, 0x80000000u})
                    check((bits_of(static_cast<float>(at)) + static_cast<uint32_t>(step)) ^ sign);
}

}  // namespace

int main(int argc, char **argv) {
    const uint64_t stride = argc > 1 && std::strcmp(argv[1], "all") == 0 ? 1 : 1021;
    check_decoders();
    check_boundaries(e2m1);
    check_boundaries(e4m3);
    for (uint32_t exponent = 0; exponent < 256; ++exponent)
        for (int step = -64; step <= 64; ++step) check((exponent << 23) + static_cast<uint32_t>(step));
    uint64_t checked = 0;
    for (uint64_t pattern = 0; pattern < uint64_t{1} << 32; pattern += stride, ++checked)
        check(static_cast<uint32_t>(pattern));
    std::printf("%llu patterns by stride %llu and the boundaries: %d differences\n",
                static_cast<unsigned long long>(checked), static_cast<unsigned long long>(stride), failures);
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
