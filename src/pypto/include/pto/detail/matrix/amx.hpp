// Products of bfloat16 tiles on the tile registers of x86 (AMX), where the compiler targets them and the system grants them.
// The unit multiplies exactly, adds in float and rounds to nearest, like the multiply kernel of gemm.hpp but in a different
// order. It reads subnormal bfloat16 as zero; a product with such operands is therefore left to that kernel. Results below
// 2^-126 become zero here.
//
// Left and Right tiles that are moved whole from Mat memory are written in the format that the registers read, with a note
// (deferred.hpp); others are packed for each product.
#ifndef PTO_DETAIL_AMX_HPP
#define PTO_DETAIL_AMX_HPP

#include "../transfer/layout_copy.hpp"

#if defined(__AMX_TILE__) && defined(__AMX_BF16__) && defined(__AVX512BW__) && defined(__x86_64__) && \
    defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(PTO_SCALAR)
#define PTO_HAVE_AMX 1
#else
#define PTO_HAVE_AMX 0
#endif

namespace pto {
namespace detail {

#if PTO_HAVE_AMX

// The process asks once; a system without these registers, or a sandbox, refuses.
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

using AmxHalf = Vec<uint16_t, 16>;  // 16 elements of a line: half a line of a register

// Least of 2|x| - 1 as integers: below 0xff where x is subnormal (zero gives 0xffff).
template <class V>
PTO_INLINE void note_subnormal(V& least, const V& x)
{
    const V t = x + x - 1;
    least = t < least ? t : least;
}

template <class V>
PTO_COLD bool any_subnormal(const V& least)
{
    for (int i = 0; i < static_cast<int>(sizeof(V) / 2); ++i) {
        if (least[i] < 0xff) {
            return true;
        }
    }
    return false;
}

// An operand as the registers read it: the block of the i-th 16 rows (or columns) and s-th 32 k is at + i * box + s * step.
struct AmxOperand {
    const uint16_t* at;
    int64_t box, step;
};

// The lines of a source, read in runs of 16 elements that start at multiples of 16; strides of lines, of bands of 16 lines, and
// of runs. Run-time numbers, so that one function serves plain lines and the boxes of every tile.
struct AmxSource {
    const uint16_t* first;
    int64_t line, band, run;
};
PTO_INLINE AmxSource amx_plain(const void* first, int64_t step)
{
    return {static_cast<const uint16_t*>(first), step, 16 * step, 16};
}
template <class Tl>
PTO_INLINE AmxSource amx_boxes(const void* first)
{
    return {static_cast<const uint16_t*>(first), 16, TileLines<Tl>::band_step, TileLines<Tl>::run_step};
}

// Lines are rows. A Left tile `width` wide as [row band][k / 32][16][32], within the bytes of each band. False: a number is
// subnormal.
PTO_NOINLINE inline bool amx_write_left(uint16_t* out, int64_t width, const AmxSource& from, int64_t rows, int64_t cols)
{
    AmxHalf least = ~AmxHalf{};
    for (int64_t band = 0; band < rows; band += 16) {
        const uint16_t* p = from.first + band / 16 * from.band;
        uint16_t* to = out + band * width;
        for (int64_t k = 0; k < cols; k += kAmxK, p += 2 * from.run) {
            PTO_ROLLED
            for (int64_t i = 0; i < 16; ++i, to += 32) {
                const AmxHalf low = load_vec<AmxHalf>(p + i * from.line);
                const AmxHalf high = load_vec<AmxHalf>(p + i * from.line + from.run);
                note_subnormal(least, low);
                note_subnormal(least, high);
                store_vec(to, low);
                store_vec(to + 16, high);
            }
        }
    }
    return !any_subnormal(least);
}

// Elements of a and b interleaved: those from the first half (Part 0) or the second.
template <int Part, class V, int... I>
PTO_INLINE V amx_zip(const V& a, const V& b, std::integer_sequence<int, I...>)
{
#if defined(__clang__)
    return __builtin_shufflevector(a, b, (Part * 16 + I / 2 + I % 2 * 32)...);
#else
    return __builtin_shuffle(a, b, V{static_cast<uint16_t>(Part * 16 + I / 2 + I % 2 * 32)...});
#endif
}

// Lines are rows (k). A Right tile as [k / 32][column box][16 pairs of k][16 columns][2].
PTO_NOINLINE inline bool amx_write_right(uint16_t* out, int64_t width, const AmxSource& from, int64_t rows, int64_t cols)
{
    using Wide = Vec<uint32_t, 16>;
    using Line = Vec<uint16_t, 32>;
    Line least = ~Line{};
    for (int64_t k = 0; k < rows; k += 2) {
        const uint16_t* p = from.first + k / 16 * from.band + k % 16 * from.line;
        uint16_t* to = out + k / kAmxK * kAmxK * width + k % kAmxK * 16;
        int64_t n = 0;
        if (from.run == 16) {  // whole lines
            constexpr auto all = std::make_integer_sequence<int, 32>{};
            for (; n + 32 <= cols; n += 32, p += 32, to += 2 * kAmxTile) {
                const Line low = load_vec<Line>(p), high = load_vec<Line>(p + from.line);
                note_subnormal(least, low);
                note_subnormal(least, high);
                store_vec(to, amx_zip<0>(low, high, all));
                store_vec(to + kAmxTile, amx_zip<1>(low, high, all));
            }
        }
        for (; n < cols; n += 16, p += from.run, to += kAmxTile) {
            const Wide low = __builtin_convertvector(load_vec<AmxHalf>(p), Wide);
            const Wide high = __builtin_convertvector(load_vec<AmxHalf>(p + from.line), Wide);
            const Line x = bit_cast<Line>(low | (high << 16));
            note_subnormal(least, x);
            store_vec(to, x);
        }
    }
    return !any_subnormal(least);
}

// The same from lines that are columns: pairs of k are transposed as 32-bit numbers. The stride of the lines must be even.
PTO_NOINLINE inline bool amx_write_right_columns(uint16_t* out, int64_t width, const AmxSource& from, int64_t rows,
                                                 int64_t cols)
{
    using Line = Vec<uint16_t, 32>;
    Line least = ~Line{};
    for (int64_t n = 0; n < cols; n += 16) {
        for (int64_t k = 0; k < rows; k += kAmxK) {
            const uint16_t* p = from.first + n / 16 * from.band + k / 16 * from.run;
            uint16_t* to = out + k * width + n * kAmxK;
            PTO_ROLLED
            for (int64_t part = 0; part < 4; ++part) {
                transpose_block<int32_t, 8>(
                    reinterpret_cast<int32_t*>(to + part / 2 * 256 + part % 2 * 16), 16,
                    reinterpret_cast<const int32_t*>(p + part / 2 * from.run + part % 2 * 8 * from.line), from.line / 2);
            }
            for (int i = 0; i < 16; ++i) {
                note_subnormal(least, load_vec<Line>(to + i * 32));
            }
        }
    }
    return !any_subnormal(least);
}

// Which tiles are written in that format, and the note's form.
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
PTO_INLINE int64_t amx_width(uint64_t form) { return static_cast<int64_t>(form & 0xffffffffu); }
// For how many more Left and Right tiles that format is skipped, because one had to be converted back.
inline thread_local int amx_skip_count[2] = {};

// Convert them back to boxes, for readers other than products on these registers.
PTO_COLD inline void amx_settle_left(const Held& note)
{
    fence();
    uint16_t* data = reinterpret_cast<uint16_t*>(note.first);
    const int64_t width = amx_width(note.form);
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
    amx_skip_count[0] = 16;
    fence();
}
PTO_COLD inline void amx_settle_right(const Held& note)
{
    fence();
    uint16_t* data = reinterpret_cast<uint16_t*>(note.first);
    const int64_t width = amx_width(note.form);
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
    amx_skip_count[1] = 16;
    fence();
}

// Writes a Left or Right tile `width` wide in that format, and the note. False, with the tile unchanged or yet to be written,
// if it does not consist of whole blocks, the unit is missing, or a number is subnormal.
PTO_COLD inline bool amx_write(bool left, bool by_row, void* tile, int64_t elements, uint64_t form, const AmxSource& from,
                               int64_t rows, int64_t cols)
{
    const int64_t width = amx_width(form);
    // Elements outside are kept: the blocks of a Right tile are those of its whole width.
    const bool fits = left ? rows % 16 == 0 && cols % kAmxK == 0 && cols > 0 : rows % kAmxK == 0 && cols == width;
    if (!fits || rows == 0 || !amx_granted()) {
        return false;
    }
    if (amx_skip_count[left ? 0 : 1] > 0) {
        --amx_skip_count[left ? 0 : 1];
        return false;
    }
    unsigned char* first = static_cast<unsigned char*>(tile);
    hold(Held{first, first + elements * 2, form, rows, cols, nullptr, nullptr, 0, 0,
              left ? amx_settle_left : amx_settle_right});
    const auto write = left ? amx_write_left : by_row ? amx_write_right : amx_write_right_columns;
    const bool normal = write(static_cast<uint16_t*>(tile), width, from, rows, cols);
    if (!normal) {
        drop_held(kernel_state.held.count - 1);
    }
    return normal;
}

#define PTO_AMX_LOAD(REG, P, STEP) __asm__ __volatile__("tileloadd (%0,%1,1), %%" REG ::"r"(P), "r"(STEP) : "memory")
#define PTO_AMX_STORE(REG, P, STEP) __asm__ __volatile__("tilestored %%" REG ", (%0,%1,1)" ::"r"(P), "r"(STEP) : "memory")
#define PTO_AMX_ZERO(REG) __asm__ __volatile__("tilezero %%" REG ::)
#define PTO_AMX_MULTIPLY(D, A, B) __asm__ __volatile__("tdpbf16ps %%" B ", %%" A ", %%" D ::)

// Four boxes of the accumulator.
struct AmxBoxes {
    float* at[4];
};

constexpr int64_t kAmxLine = 64;  // bytes of a row of a register

// Loads the boxes, or zeros, into tmm0 to tmm3.
PTO_INLINE void amx_begin(const AmxBoxes& boxes, bool add)
{
    if (add) {
        PTO_AMX_LOAD("tmm0", boxes.at[0], kAmxLine);
        PTO_AMX_LOAD("tmm1", boxes.at[1], kAmxLine);
        PTO_AMX_LOAD("tmm2", boxes.at[2], kAmxLine);
        PTO_AMX_LOAD("tmm3", boxes.at[3], kAmxLine);
    } else {
        PTO_AMX_ZERO("tmm0");
        PTO_AMX_ZERO("tmm1");
        PTO_AMX_ZERO("tmm2");
        PTO_AMX_ZERO("tmm3");
    }
}

// Writes tmm0 to tmm3 to the boxes.
PTO_INLINE void amx_end(const AmxBoxes& boxes)
{
    PTO_AMX_STORE("tmm0", boxes.at[0], kAmxLine);
    PTO_AMX_STORE("tmm1", boxes.at[1], kAmxLine);
    PTO_AMX_STORE("tmm2", boxes.at[2], kAmxLine);
    PTO_AMX_STORE("tmm3", boxes.at[3], kAmxLine);
}

// out[2 i + j] = (add ? out[2 i + j] : 0) + a[i] b[j]; `steps` times 32 k.
PTO_INLINE void amx_block(const AmxOperand& left, const AmxOperand& right, int64_t steps, const AmxBoxes& out, bool add)
{
    const int64_t line = kAmxLine, a_box = left.box, b_box = right.box;
    const uint16_t *a = left.at, *b = right.at;
    amx_begin(out, add);
    for (int64_t s = 0; s < steps; ++s, a += left.step, b += right.step) {
        PTO_AMX_LOAD("tmm4", a, line);
        PTO_AMX_LOAD("tmm6", b, line);
        PTO_AMX_MULTIPLY("tmm0", "tmm4", "tmm6");
        PTO_AMX_LOAD("tmm7", b + b_box, line);
        PTO_AMX_MULTIPLY("tmm1", "tmm4", "tmm7");
        PTO_AMX_LOAD("tmm5", a + a_box, line);
        PTO_AMX_MULTIPLY("tmm2", "tmm5", "tmm6");
        PTO_AMX_MULTIPLY("tmm3", "tmm5", "tmm7");
    }
    amx_end(out);
}

// The same for one box of rows and four of columns: as many independent sums, which hide the latency of one.
PTO_INLINE void amx_row(const AmxOperand& left, const AmxOperand& right, int64_t steps, const AmxBoxes& out, bool add)
{
    const int64_t line = kAmxLine, b_box = right.box;
    const uint16_t *a = left.at, *b = right.at;
    amx_begin(out, add);
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
    amx_end(out);
}
#undef PTO_AMX_LOAD
#undef PTO_AMX_STORE
#undef PTO_AMX_ZERO
#undef PTO_AMX_MULTIPLY

// The addend and destination of a product on these registers: boxes of 16 x 16 floats, contiguous within a column of
// boxes.
struct AmxSink {
    float* out;
    const float* acc;   // an accumulator like out (it may be out), or nullptr
    const float* bias;  // one row, or nullptr
    int64_t column;     // stride between columns of boxes
};

// Initialises boxes with the addend. True if there is one.
PTO_NOINLINE inline bool amx_start(const AmxSink& sink, int64_t rows, int64_t first, int64_t last)
{
    for (int64_t j = first; j < last && sink.acc != sink.out; j += 16) {
        float* to = sink.out + j / 16 * sink.column;
        if (sink.acc != nullptr) {
            std::memcpy(to, sink.acc + j / 16 * sink.column, static_cast<std::size_t>(rows) * 64);
        } else if (sink.bias != nullptr) {
            for (int64_t i = 0; i < rows; ++i) {
                std::memcpy(to + i * 16, sink.bias + j, 64);
            }
        }
    }
    return sink.acc != nullptr || sink.bias != nullptr;
}

// out(0..m, 0..n) = a b [+ acc or bias]; m and n are whole boxes.
PTO_NOINLINE inline void amx_multiply(const AmxSink& sink, const AmxOperand& a, const AmxOperand& b, int64_t m, int64_t steps,
                                      int64_t n)
{
    static const AmxShape shape;
    alignas(64) float spare[256];  // for missing boxes
    __asm__ __volatile__("ldtilecfg %0" ::"m"(shape));
    fence();
    for (int64_t j = 0; j < n;) {
        const bool row = m == 16 && j + 64 <= n;
        const int64_t end = min_of<int64_t>(n, j + (row ? 64 : 32));
        const bool add = amx_start(sink, m, j, end);
        const AmxOperand bj{b.at + j / 16 * b.box, j + 16 < n ? b.box : 0, b.step};
        float* c0 = sink.out + j / 16 * sink.column;
        if (row) {
            amx_row(a, bj, steps, {{c0, c0 + sink.column, c0 + 2 * sink.column, c0 + 3 * sink.column}}, add);
        } else {
            for (int64_t i = 0; i < m; i += 32, c0 += 512) {
                const bool low = i + 16 < m, right = j + 16 < n;
                const AmxOperand ai{a.at + i / 16 * a.box, low ? a.box : 0, a.step};
                float* c1 = right ? c0 + sink.column : spare;
                amx_block(ai, bj, steps, {{c0, c1, low ? c0 + 256 : spare, low && right ? c1 + 256 : spare}}, add);
            }
        }
        j = end;
    }
    __asm__ __volatile__("tilerelease" ::);
    fence();
}

// Copies `lines` lines of `length` elements from (line, pos) on to lines `width` apart, which are zero beforehand.
PTO_COLD inline void amx_copy_part(uint16_t* out, int64_t width, const AmxSource& from, int64_t line, int64_t lines,
                                   int64_t pos, int64_t length)
{
    for (int64_t i = line; i < line + lines; ++i, out += width) {
        for (int64_t j = 0; j < length; ++j) {
            out[j] = from.first[i / 16 * from.band + i % 16 * from.line + (pos + j) / 16 * from.run + (pos + j) % 16];
        }
    }
}

// The same for operands that are not in the registers' format. False, without effect, if the unit is missing or would read
// an operand as zero.
PTO_COLD inline bool amx_multiply_boxes(const AmxSink& sink, const AmxSource& left, const AmxSource& right, int64_t m,
                                        int64_t k, int64_t n)
{
    if (!amx_granted()) {
        return false;
    }
    const int64_t steps = (k + kAmxK - 1) / kAmxK, width = steps * kAmxK, whole = k / kAmxK * kAmxK;
    const int64_t part = kAmxK * (m + n);  // room for the last step, if it is not a whole one
    uint16_t* a = reinterpret_cast<uint16_t*>(work_buffer(((m + n) * width + part) * 2));
    if (a == nullptr) {
        return false;
    }
    uint16_t *b = a + m * width, *rest = b + n * width;
    if (!amx_write_left(a, width, left, m, whole) || !amx_write_right(b, n, right, whole, n)) {
        return false;
    }
    if (whole < k) {
        std::memset(rest, 0, static_cast<std::size_t>(part) * 2);
        amx_copy_part(rest, kAmxK, left, 0, m, whole, k - whole);
        amx_copy_part(rest + m * kAmxK, n, right, whole, k - whole, 0, n);
        if (!amx_write_left(a + whole * 16, width, amx_plain(rest, kAmxK), m, kAmxK) ||
            !amx_write_right(b + whole * n, n, amx_plain(rest + m * kAmxK, n), kAmxK, n)) {
            return false;
        }
    }
    amx_multiply(sink, {a, 16 * width, kAmxTile}, {b, kAmxTile, kAmxK * n}, m, steps, n);
    return true;
}

// The same for tiles of these forms, if they are in the registers' format. False, without effect, if they are not.
PTO_COLD inline bool amx_multiply_held(const AmxSink& sink, const void* a, uint64_t a_form, const void* b, uint64_t b_form,
                                       int64_t m, int64_t k, int64_t n)
{
    const Held *left = find_held(a, a_form), *right = find_held(b, b_form);
    if (left == nullptr || right == nullptr || m > left->count || k > left->length || k > right->count ||
        n > right->length || m % 16 != 0 || k % kAmxK != 0 || n % 16 != 0 || k == 0) {
        return false;
    }
    amx_multiply(sink, {static_cast<const uint16_t*>(a), 16 * amx_width(a_form), kAmxTile},
                 {static_cast<const uint16_t*>(b), kAmxTile, kAmxK * amx_width(b_form)}, m, k / kAmxK, n);
    return true;
}

#endif

}  // namespace detail
}  // namespace pto

#endif
