// Products of bfloat16 tiles on the tile registers of x86 (AMX), where the compiler targets them and the system grants them.
// The unit multiplies exactly, adds in float and rounds to nearest, as the multiply kernel of gemm.hpp does, in another
// order. It reads subnormal bfloat16 as zero; a product with such operands is therefore left to that kernel. Results below
// 2^-126 become zero here.
//
// Left and Right tiles that are moved from Mat memory whole are written in the form in which the registers read them, with a
// note of it (held.hpp); others are packed for each product.
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

// An operand as the registers read it: the block of 16 rows (or columns) i and 32 k number s is at + i * box + s * step.
struct AmxOperand {
    const uint16_t* at;
    int64_t box, step;
};

// The lines of a source, 16 elements from a multiple of 16 at once: plain ones, and those of a boxed tile.
struct PlainLines {
    static constexpr bool plain = true;
    const uint16_t* first;
    int64_t step;
    PTO_INLINE const uint16_t* at(int64_t line, int64_t pos) const { return first + line * step + pos; }
};
struct BoxedLines {
    static constexpr bool plain = false;
    static constexpr int64_t step = 16;
    const uint16_t* first;
    int64_t band_step, run_step;
    PTO_INLINE const uint16_t* at(int64_t line, int64_t pos) const
    {
        return first + line / 16 * band_step + line % 16 * step + pos / 16 * run_step;
    }
};

// Lines are rows. A Left tile `width` wide as [row band][k / 32][16][32], within the bytes of each band. False: a number is
// subnormal.
template <class Source>
PTO_NOINLINE bool amx_write_left(uint16_t* out, int64_t width, const Source& from, int64_t rows, int64_t cols)
{
    using Half = Vec<uint16_t, 16>;
    AmxLine least = ~AmxLine{};
    for (int64_t band = 0; band < rows; band += 16) {
        for (int64_t k = 0; k < cols; k += kAmxK) {
            uint16_t* to = out + band * width + k * 16;
            if constexpr (Source::plain) {
                PTO_UNROLL
                for (int i = 0; i < 16; ++i) {
                    const AmxLine x = load_vec<AmxLine>(from.at(band + i, k));
                    note_subnormal(least, x);
                    store_vec(to + i * 32, x);
                }
            } else {
                PTO_UNROLL
                for (int i = 0; i < 16; ++i) {
                    store_vec(to + i * 32, load_vec<Half>(from.at(band + i, k)));
                    store_vec(to + i * 32 + 16, load_vec<Half>(from.at(band + i, k + 16)));
                }
                for (int i = 0; i < 16; ++i) {
                    note_subnormal(least, load_vec<AmxLine>(to + i * 32));
                }
            }
        }
    }
    return !any_subnormal(least);
}

// Elements of a and b in turn: those from the first half (Part 0) or the second.
template <int Part, int... I>
PTO_INLINE AmxLine amx_zip(const AmxLine& a, const AmxLine& b, std::integer_sequence<int, I...>)
{
#if defined(__clang__)
    return __builtin_shufflevector(a, b, (Part * 16 + I / 2 + I % 2 * 32)...);
#else
    return __builtin_shuffle(a, b, AmxLine{static_cast<uint16_t>(Part * 16 + I / 2 + I % 2 * 32)...});
#endif
}

// Lines are rows (k). A Right tile as [k / 32][column box][16 pairs of k][16 columns][2].
template <class Source>
PTO_NOINLINE bool amx_write_right(uint16_t* out, int64_t width, const Source& from, int64_t rows, int64_t cols)
{
    using Half = Vec<uint16_t, 16>;
    using Wide = Vec<uint32_t, 16>;
    AmxLine least = ~AmxLine{};
    for (int64_t k = 0; k < rows; k += 2) {
        uint16_t* to = out + k / kAmxK * kAmxK * width + k % kAmxK * 16;
        int64_t n = 0;
        if constexpr (Source::plain) {
            constexpr auto all = std::make_integer_sequence<int, 32>{};
            for (; n + 32 <= cols; n += 32, to += 2 * kAmxTile) {
                const AmxLine low = load_vec<AmxLine>(from.at(k, n)), high = load_vec<AmxLine>(from.at(k + 1, n));
                note_subnormal(least, low);
                note_subnormal(least, high);
                store_vec(to, amx_zip<0>(low, high, all));
                store_vec(to + kAmxTile, amx_zip<1>(low, high, all));
            }
        }
        for (; n < cols; n += 16, to += kAmxTile) {
            const Wide low = __builtin_convertvector(load_vec<Half>(from.at(k, n)), Wide);
            const Wide high = __builtin_convertvector(load_vec<Half>(from.at(k + 1, n)), Wide);
            const AmxLine x = bit_cast<AmxLine>(low | (high << 16));
            note_subnormal(least, x);
            store_vec(to, x);
        }
    }
    return !any_subnormal(least);
}

// The same from lines that are columns: pairs of k are transposed as 32-bit numbers. The lines' distance must be even.
template <class Source>
PTO_NOINLINE bool amx_write_right_columns(uint16_t* out, int64_t width, const Source& from, int64_t rows, int64_t cols)
{
    AmxLine least = ~AmxLine{};
    for (int64_t n = 0; n < cols; n += 16) {
        for (int64_t k = 0; k < rows; k += kAmxK) {
            uint16_t* to = out + k * width + n * kAmxK;
            for (int half = 0; half < 2; ++half) {
                for (int part = 0; part < 2; ++part) {
                    transpose_block<int32_t, 8>(reinterpret_cast<int32_t*>(to + half * 256 + part * 16), 16,
                                                reinterpret_cast<const int32_t*>(from.at(n + part * 8, k + half * 16)),
                                                from.step / 2);
                }
            }
            for (int i = 0; i < 16; ++i) {
                note_subnormal(least, load_vec<AmxLine>(to + i * 32));
            }
        }
    }
    return !any_subnormal(least);
}

// Which tiles are written so, and the note's form.
template <class D>
constexpr bool amx_left_v = at_v<D, TileType::Left> && is_bf16_v<elem_t<D>> && is_zz_v<D> && D::SFractalSize == 512 &&
                            D::Rows % 16 == 0 && D::Cols % 32 == 0;
template <class D>
constexpr bool amx_right_v = at_v<D, TileType::Right> && is_bf16_v<elem_t<D>> && is_zn_v<D> && D::SFractalSize == 512 &&
                             D::Rows % 32 == 0 && D::Cols % 16 == 0;
template <class D>
constexpr uint64_t amx_form()
{
    return uint64_t{1} << 63 | static_cast<uint64_t>(D::Rows) << 32 | static_cast<uint64_t>(D::Cols);
}
// How many Left and Right tiles are not written so, because one was in vain.
inline thread_local int amx_in_vain[2] = {};

// Make boxes of them again, for who is not a product on these registers.
PTO_COLD inline void amx_settle_left(const Held& note)
{
    fence();
    uint16_t* data = reinterpret_cast<uint16_t*>(note.first);
    const int64_t width = static_cast<int64_t>(note.form & 0xffffffffu);
    uint16_t copy[kAmxTile];
    for (int64_t band = 0; band < note.count; band += 16) {
        for (int64_t k = 0; k < note.length; k += kAmxK) {
            uint16_t* block = data + band * width + k * 16;
            std::memcpy(copy, block, sizeof(copy));
            for (int64_t i = 0; i < 16; ++i) {
                std::memcpy(block + i * 16, copy + i * 32, 32);
                std::memcpy(block + 256 + i * 16, copy + i * 32 + 16, 32);
            }
        }
    }
    amx_in_vain[0] = 16;
    fence();
}
PTO_COLD inline void amx_settle_right(const Held& note)
{
    fence();
    uint16_t* data = reinterpret_cast<uint16_t*>(note.first);
    const int64_t width = static_cast<int64_t>(note.form & 0xffffffffu);
    uint16_t copy[32768];  // all of Right memory; a band of 32 k at most
    for (int64_t k = 0; k < note.count; k += kAmxK) {
        uint16_t* band = data + k * width;
        std::memcpy(copy, band, static_cast<std::size_t>(kAmxK * width) * 2);
        for (int64_t r = 0; r < kAmxK; ++r) {
            for (int64_t c = 0; c < width; ++c) {
                band[r / 16 * 16 * width + c / 16 * 256 + r % 16 * 16 + c % 16] =
                    copy[c / 16 * kAmxTile + r / 2 * 32 + c % 16 * 2 + r % 2];
            }
        }
    }
    amx_in_vain[1] = 16;
    fence();
}

// Writes d in that form and notes it. False: nothing is written that counts, and the tile is to be moved as usual.
template <class D, bool ByRow, class Source>
PTO_INLINE bool amx_write(D& d, const Source& from, int64_t rows, int64_t cols)
{
    constexpr bool left = amx_left_v<D>;
    // What lies outside stays: the blocks of a Right tile are those of its whole width.
    const bool fits = left ? rows % 16 == 0 && cols % kAmxK == 0 && cols > 0 : rows % kAmxK == 0 && cols == D::Cols;
    if (!fits || rows == 0 || !amx_granted()) {
        return false;
    }
    if (amx_in_vain[left ? 0 : 1] > 0) {
        --amx_in_vain[left ? 0 : 1];
        return false;
    }
    unsigned char* first = reinterpret_cast<unsigned char*>(d.GetAddress());
    hold(Held{first, first + D::StorageNumel * 2, amx_form<D>(), rows, cols, nullptr, nullptr, 0, 0,
              left ? amx_settle_left : amx_settle_right});
    uint16_t* out = reinterpret_cast<uint16_t*>(first);
    bool normal;
    if constexpr (left) {
        normal = amx_write_left(out, D::Cols, from, rows, cols);
    } else if constexpr (ByRow) {
        normal = amx_write_right(out, D::Cols, from, rows, cols);
    } else {
        normal = amx_write_right_columns(out, D::Cols, from, rows, cols);
    }
    if (!normal) {
        drop_held(held.count - 1);
    }
    return normal;
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
PTO_INLINE void amx_block(const AmxOperand& left, const AmxOperand& right, int64_t steps, const AmxBoxes& out, bool add)
{
    const int64_t line = 64, a_box = left.box, b_box = right.box;
    const uint16_t *a = left.at, *b = right.at;
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
    for (int64_t s = 0; s < steps; ++s, a += left.step, b += right.step) {
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
PTO_INLINE void amx_row(const AmxOperand& left, const AmxOperand& right, int64_t steps, const AmxBoxes& out, bool add)
{
    const int64_t line = 64, b_box = right.box;
    const uint16_t *a = left.at, *b = right.at;
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
    for (int64_t s = 0; s < steps; ++s, a += left.step, b += right.step) {
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
template <class C>
PTO_NOINLINE void amx_multiply(float* c, const float* in, const AmxOperand& a, const AmxOperand& b, int64_t m, int64_t steps,
                               int64_t n)
{
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
        const AmxOperand bj{b.at + j / 16 * b.box, b.box, b.step};
        amx_row(a, bj, steps, {{box_at(0, j), box_at(0, j + 16), box_at(0, j + 32), box_at(0, j + 48)}}, add);
    }
    for (; j < n; j += 32) {
        const AmxOperand bj{b.at + j / 16 * b.box, b.box, b.step};
        for (int64_t i = 0; i < m; i += 32) {
            const AmxOperand ai{a.at + i / 16 * a.box, a.box, a.step};
            const AmxBoxes out{{box_at(i, j), box_at(i, j + 16), box_at(i + 16, j), box_at(i + 16, j + 16)}};
            if (out.at[3] != nullptr) {
                amx_block<2, 2>(ai, bj, steps, out, add);
            } else if (out.at[1] != nullptr) {
                amx_block<1, 2>(ai, bj, steps, out, add);
            } else if (out.at[2] != nullptr) {
                amx_block<2, 1>(ai, bj, steps, out, add);
            } else {
                amx_block<1, 1>(ai, bj, steps, out, add);
            }
        }
    }
    __asm__ __volatile__("tilerelease" ::);
    fence();
}

// The same of tiles in boxes. False, and nothing done, if the unit is not there or would read an operand as zero.
template <class C, class A, class B>
PTO_NOINLINE bool amx_multiply_boxes(float* c, const float* in, const void* left, const void* right, int64_t m, int64_t k,
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
    amx_multiply<C>(c, in, {a, box, kAmxTile}, {b, box, kAmxTile}, m, steps, n);
    return true;
}

// The same of tiles that are in the registers' form. False, and nothing done, if they are not.
template <class C, class A, class B>
PTO_INLINE bool amx_multiply_held(float* c, const float* in, const A& a, const B& b, int64_t m, int64_t k, int64_t n)
{
    if constexpr (amx_left_v<A> && amx_right_v<B> && C::InnerCols == 16 && C::InnerRows == 16) {
        const Held *left = find_held(a.GetAddress(), amx_form<A>()), *right = find_held(b.GetAddress(), amx_form<B>());
        if (left == nullptr || right == nullptr || m > left->count || k > left->length || k > right->count ||
            n > right->length || m % 16 != 0 || k % kAmxK != 0 || n % 16 != 0 || k == 0) {
            return false;
        }
        amx_multiply<C>(c, in, {reinterpret_cast<const uint16_t*>(a.GetAddress()), 16 * A::Cols, kAmxTile},
                        {reinterpret_cast<const uint16_t*>(b.GetAddress()), kAmxTile, kAmxK * B::Cols}, m, k / kAmxK, n);
        return true;
    } else {
        return false;
    }
}

#endif

}  // namespace detail
}  // namespace pto

#endif
