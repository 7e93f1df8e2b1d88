// Products of bfloat16 tiles on the tile registers of x86 (AMX), where the compiler targets them and the system grants them.
// The unit multiplies exactly, adds in float and rounds to nearest, as the multiply kernel of gemm.hpp does, in another
// order. It reads subnormal bfloat16 as zero; a product with such operands is therefore left to that kernel. Results below
// 2^-126 become zero here.
#ifndef PTO_DETAIL_AMX_HPP
#define PTO_DETAIL_AMX_HPP

#include "runs.hpp"

#if defined(__AMX_TILE__) && defined(__AMX_BF16__) && defined(__AVX512BW__) && defined(__x86_64__) && \
    defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(PTO_SCALAR)
#define PTO_HAVE_AMX 1
#else
#define PTO_HAVE_AMX 0
#endif

namespace pto {
namespace detail {

#if PTO_HAVE_AMX

// The process asks once; a system without these registers, or a sandbox, says no.
inline bool amx_granted()
{
    // arch_prctl(ARCH_REQ_XCOMP_PERM, XTILEDATA), without the names that <unistd.h> would bring into kernels.
    static const bool granted = [] {
        long result = 158;
        __asm__ __volatile__("syscall" : "+a"(result) : "D"(0x1023l), "S"(18l) : "rcx", "r11", "memory");
        return result == 0;
    }();
    return granted;
}

// Every register is 16 lines of 64 bytes: 16 x 16 floats, 16 rows x 32 k, or 16 pairs of k x 16 columns.
struct alignas(64) AmxShape {
    uint8_t palette = 1, start = 0, reserved[14] = {};
    uint16_t line_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t lines[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr int64_t kAmxK = 32, kAmxTile = 512;  // k of one step; elements of a packed operand

using AmxLine = Vec<uint16_t, 32>;

// Least of 2|x| - 1 as integers: below 0xff where x is subnormal (zero gives 0xffff).
PTO_INLINE void note_subnormal(AmxLine& least, const AmxLine& x)
{
    const AmxLine t = x + x - 1;
    least = t < least ? t : least;
}

PTO_INLINE bool any_subnormal(const AmxLine& least)
{
    uint16_t lane[32];
    store_vec(lane, least);
    bool found = false;
    for (int i = 0; i < 32; ++i) {
        found = found | (lane[i] < 0xff);
    }
    return found;
}

// Left boxes of 16 rows x 16 k, side by side in pairs: [row band][k / 32][16][32]; k beyond the last is zero.
template <class A>
PTO_NOINLINE bool amx_pack_left(const uint16_t* a, int64_t m, int64_t k, uint16_t* out)
{
    using L = TileLines<A>;
    using Half = Vec<uint16_t, 16>;
    AmxLine least = ~AmxLine{};
    for (int64_t band = 0; band < m; band += 16) {
        const uint16_t* from = a + L::start(band);
        for (int64_t k0 = 0; k0 < k; k0 += kAmxK, out += kAmxTile) {
            for (int64_t side = 0; side < 2; ++side) {
                const int64_t at = k0 + side * 16, count = min_of<int64_t>(16, k - at);
                const uint16_t* box = from + at / 16 * L::run_step;
                Half keep = {};
                for (int i = 0; i < 16; ++i) {
                    keep[i] = i < count ? 0xffff : 0;
                }
                for (int i = 0; i < 16; ++i) {
                    const Half x = count > 0 ? load_vec<Half>(box + i * 16) & keep : Half{};
                    store_vec(out + i * 32 + side * 16, x);
                }
            }
            for (int i = 0; i < 16; ++i) {
                note_subnormal(least, load_vec<AmxLine>(out + i * 32));
            }
        }
    }
    return !any_subnormal(least);
}

// Right boxes, stored as 16 k x 16 columns: [column box][k / 32][16 pairs of k][16 columns][2].
template <class B>
PTO_NOINLINE bool amx_pack_right(const uint16_t* b, int64_t k, int64_t n, uint16_t* out)
{
    using L = TileLines<B>;
    using Half = Vec<uint16_t, 16>;
    using Wide = Vec<uint32_t, 16>;
    AmxLine least = ~AmxLine{};
    for (int64_t column = 0; column < n; column += 16) {
        const uint16_t* from = b + B::offset(0, column);
        for (int64_t k0 = 0; k0 < k; k0 += kAmxK) {
            for (int pair = 0; pair < 16; ++pair, out += 32) {
                const int64_t at = k0 + 2 * pair;
                const uint16_t* line = from + at / 16 * L::band_step + at % 16 * 16;
                const Half low = at < k ? load_vec<Half>(line) : Half{};
                const Half high = at + 1 < k ? load_vec<Half>(line + 16) : Half{};
                const Wide both = __builtin_convertvector(low, Wide) | (__builtin_convertvector(high, Wide) << 16);
                const AmxLine x = bit_cast<AmxLine>(both);
                note_subnormal(least, x);
                store_vec(out, x);
            }
        }
    }
    return !any_subnormal(least);
}

#define PTO_AMX_LOAD(REG, P, STEP) __asm__ __volatile__("tileloadd (%0,%1,1), %%" REG ::"r"(P), "r"(STEP) : "memory")
#define PTO_AMX_STORE(REG, P, STEP) __asm__ __volatile__("tilestored %%" REG ", (%0,%1,1)" ::"r"(P), "r"(STEP) : "memory")
#define PTO_AMX_ZERO(REG) __asm__ __volatile__("tilezero %%" REG ::)
#define PTO_AMX_MULTIPLY(D, A, B) __asm__ __volatile__("tdpbf16ps %%" B ", %%" A ", %%" D ::)

// Boxes of the accumulator, in order (0,0) (0,1) (1,0) (1,1); nullptr: this one is not wanted.
struct AmxBoxes {
    float* at[4];
};

// out[i, j] = (add ? out[i, j] : 0) + a[i] b[j] for a block of Mt x Nt boxes; `steps` times 32 k.
template <int Mt, int Nt>
PTO_INLINE void amx_block(const uint16_t* a, int64_t a_box, const uint16_t* b, int64_t b_box, int64_t steps,
                          const AmxBoxes& out, bool add)
{
    const int64_t line = 64;
    if (add) {
        PTO_AMX_LOAD("tmm0", out.at[0], line);
        if (Nt > 1) PTO_AMX_LOAD("tmm1", out.at[1], line);
        if (Mt > 1) PTO_AMX_LOAD("tmm2", out.at[2], line);
        if (Mt > 1 && Nt > 1) PTO_AMX_LOAD("tmm3", out.at[3], line);
    } else {
        PTO_AMX_ZERO("tmm0");
        if (Nt > 1) PTO_AMX_ZERO("tmm1");
        if (Mt > 1) PTO_AMX_ZERO("tmm2");
        if (Mt > 1 && Nt > 1) PTO_AMX_ZERO("tmm3");
    }
    for (int64_t s = 0; s < steps; ++s, a += kAmxTile, b += kAmxTile) {
        PTO_AMX_LOAD("tmm4", a, line);
        PTO_AMX_LOAD("tmm6", b, line);
        PTO_AMX_MULTIPLY("tmm0", "tmm4", "tmm6");
        if (Nt > 1) {
            PTO_AMX_LOAD("tmm7", b + b_box, line);
            PTO_AMX_MULTIPLY("tmm1", "tmm4", "tmm7");
        }
        if (Mt > 1) {
            PTO_AMX_LOAD("tmm5", a + a_box, line);
            PTO_AMX_MULTIPLY("tmm2", "tmm5", "tmm6");
        }
        if (Mt > 1 && Nt > 1) PTO_AMX_MULTIPLY("tmm3", "tmm5", "tmm7");
    }
    PTO_AMX_STORE("tmm0", out.at[0], line);
    if (Nt > 1) PTO_AMX_STORE("tmm1", out.at[1], line);
    if (Mt > 1) PTO_AMX_STORE("tmm2", out.at[2], line);
    if (Mt > 1 && Nt > 1) PTO_AMX_STORE("tmm3", out.at[3], line);
}

// The same for one box of rows and four of columns: as many independent sums, which hide the latency of one.
PTO_INLINE void amx_row(const uint16_t* a, const uint16_t* b, int64_t b_box, int64_t steps, const AmxBoxes& out, bool add)
{
    const int64_t line = 64;
    if (add) {
        PTO_AMX_LOAD("tmm0", out.at[0], line);
        PTO_AMX_LOAD("tmm1", out.at[1], line);
        PTO_AMX_LOAD("tmm2", out.at[2], line);
        PTO_AMX_LOAD("tmm3", out.at[3], line);
    } else {
        PTO_AMX_ZERO("tmm0");
        PTO_AMX_ZERO("tmm1");
        PTO_AMX_ZERO("tmm2");
        PTO_AMX_ZERO("tmm3");
    }
    for (int64_t s = 0; s < steps; ++s, a += kAmxTile, b += kAmxTile) {
        PTO_AMX_LOAD("tmm4", a, line);
        PTO_AMX_LOAD("tmm5", b, line);
        PTO_AMX_MULTIPLY("tmm0", "tmm4", "tmm5");
        PTO_AMX_LOAD("tmm6", b + b_box, line);
        PTO_AMX_MULTIPLY("tmm1", "tmm4", "tmm6");
        PTO_AMX_LOAD("tmm7", b + 2 * b_box, line);
        PTO_AMX_MULTIPLY("tmm2", "tmm4", "tmm7");
        PTO_AMX_LOAD("tmm5", b + 3 * b_box, line);
        PTO_AMX_MULTIPLY("tmm3", "tmm4", "tmm5");
    }
    PTO_AMX_STORE("tmm0", out.at[0], line);
    PTO_AMX_STORE("tmm1", out.at[1], line);
    PTO_AMX_STORE("tmm2", out.at[2], line);
    PTO_AMX_STORE("tmm3", out.at[3], line);
}
#undef PTO_AMX_LOAD
#undef PTO_AMX_STORE
#undef PTO_AMX_ZERO
#undef PTO_AMX_MULTIPLY

// c(0..m, 0..n) = a b [+ in], boxes of 16 x 16 floats; m and n are whole boxes, c and in may be the same tile or in nullptr.
// False, and nothing done, if the unit is not there or would read an operand as zero.
template <class C, class A, class B>
PTO_NOINLINE bool amx_multiply(float* c, const float* in, const void* left, const void* right, int64_t m, int64_t k,
                               int64_t n)
{
    if (!amx_granted()) {
        return false;
    }
    const int64_t steps = (k + kAmxK - 1) / kAmxK, box = steps * kAmxTile;
    uint16_t* a = reinterpret_cast<uint16_t*>(work_buffer((m + n) / 16 * box * 2));
    if (a == nullptr) {
        return false;
    }
    uint16_t* b = a + m / 16 * box;
    if (!amx_pack_left<A>(static_cast<const uint16_t*>(left), m, k, a) ||
        !amx_pack_right<B>(static_cast<const uint16_t*>(right), k, n, b)) {
        return false;
    }
    static const AmxShape shape;
    __asm__ __volatile__("ldtilecfg %0" ::"m"(shape));
    fence();
    const bool add = in != nullptr;
    // Box (r, col) of the accumulator, with what is added to it; nullptr beyond the last.
    const auto box_at = [&](int64_t r, int64_t col) -> float* {
        if (r >= m || col >= n) {
            return nullptr;
        }
        float* at = c + C::offset(r, col);
        if (add && in != c) {
            std::memcpy(at, in + C::offset(r, col), 256 * sizeof(float));
        }
        return at;
    };
    int64_t j = 0;
    for (; m == 16 && j + 64 <= n; j += 64) {
        amx_row(a, b + j / 16 * box, box, steps, {{box_at(0, j), box_at(0, j + 16), box_at(0, j + 32), box_at(0, j + 48)}},
                add);
    }
    for (; j < n; j += 32) {
        const uint16_t* bj = b + j / 16 * box;
        for (int64_t i = 0; i < m; i += 32) {
            const uint16_t* ai = a + i / 16 * box;
            const AmxBoxes out{{box_at(i, j), box_at(i, j + 16), box_at(i + 16, j), box_at(i + 16, j + 16)}};
            if (out.at[3] != nullptr) {
                amx_block<2, 2>(ai, box, bj, box, steps, out, add);
            } else if (out.at[1] != nullptr) {
                amx_block<1, 2>(ai, box, bj, box, steps, out, add);
            } else if (out.at[2] != nullptr) {
                amx_block<2, 1>(ai, box, bj, box, steps, out, add);
            } else {
                amx_block<1, 1>(ai, box, bj, box, steps, out, add);
            }
        }
    }
    __asm__ __volatile__("tilerelease" ::);
    fence();
    return true;
}

#endif

}  // namespace detail
}  // namespace pto

#endif
