// Comparing and selecting: TCMP and TCMPS write a mask of one bit for each element, TSEL and TSELS read one.
//  - Bit k of byte w of a row of the mask belongs to column 8 w + k. Row r begins where row r of the mask tile does; its valid
//    width does not matter. The bits from the last column to the end of its byte are 0.
//  - A NaN is unequal to everything and neither less nor greater.
#ifndef PTO_DETAIL_COMPARE_HPP
#define PTO_DETAIL_COMPARE_HPP

#include "elementwise.hpp"

namespace pto {

namespace detail {

// The three comparisons from which the others follow, with operands exchanged or the result negated.
enum class Relation { Equal, Below, AtMost };

// Bytes of 0 or 1 to bits; n <= kChunk. The product moves byte j of a word to bit 56 + j.
PTO_INLINE void pack_bits(uint8_t* bits, const uint8_t* flags, int64_t n)
{
    for (int64_t i = 0; i < n; i += 8) {
        uint64_t word;
        std::memcpy(&word, flags + i, sizeof(word));
        bits[i / 8] = static_cast<uint8_t>((word * 0x0102040810204080ull) >> 56);
    }
}

// The inverse, 8 bytes at a time: bit j of a byte is kept in byte j of a word, and becomes its lowest bit.
PTO_INLINE void unpack_bits(uint8_t* flags, const uint8_t* bits, int64_t n)
{
    constexpr uint64_t low = 0x0101010101010101ull, rest = 0x7f7f7f7f7f7f7f7full;
    for (int64_t i = 0; i < n; i += 8) {
        const uint64_t kept = (bits[i / 8] * low) & 0x8040201008040201ull;
        const uint64_t word = ((((kept & rest) + rest) | kept) >> 7) & low;
        std::memcpy(flags + i, &word, sizeof(word));
    }
}

// AVX-512 compares into bits, and selects by them, 16 elements of 4 bytes at a time. Both return how many were processed.
#if defined(__GNUC__) && !defined(__clang__) && defined(__AVX512F__) && !defined(PTO_SCALAR)
template <Relation R, class C>
PTO_INLINE int64_t compare_vectors(uint8_t* bits, const C* a, const C* b, int64_t n, bool flip)
{
    constexpr unsigned short all = 0xffff;
    const unsigned short change = flip ? all : 0;
    constexpr bool equal = R == Relation::Equal, below = R == Relation::Below;
    int64_t i = 0;
    if constexpr (is_any_v<C, float, int32_t>) {
        using V = Vec<C, 16>;
        for (; i + 16 <= n; i += 16) {
            const V x = load_vec<V>(a + i), y = load_vec<V>(b + i);
            unsigned short found;
            if constexpr (std::is_same<C, float>::value) {
                found = static_cast<unsigned short>(__builtin_ia32_cmpps512_mask(x, y, equal ? 0 : below ? 17 : 18, all, 4));
            } else {
                found = static_cast<unsigned short>(__builtin_ia32_cmpd512_mask(x, y, equal ? 0 : below ? 1 : 2, all));
            }
            found = static_cast<unsigned short>(found ^ change);
            std::memcpy(bits + i / 8, &found, sizeof(found));
        }
    }
    return i;
}
template <class T>
constexpr bool selects_vectors_v = sizeof(T) == 4;
template <class C>
constexpr bool compares_vectors_v = is_any_v<C, float, int32_t>;
template <class T>
PTO_INLINE int64_t select_vectors(T* dst, const uint8_t* bits, const T* a, const T* b, int64_t n, bool one)
{
    int64_t i = 0;
    if constexpr (selects_vectors_v<T>) {
        using V = Vec<int32_t, 16>;
        const V other = V{} + static_cast<int32_t>(b[0]);
        for (; i + 16 <= n; i += 16) {
            unsigned short keep;
            std::memcpy(&keep, bits + i / 8, sizeof(keep));
            const V left = load_vec<V>(a + i), right = one ? other : load_vec<V>(b + i);
            store_vec(dst + i, __builtin_ia32_blendmd_512_mask(right, left, keep));
        }
    }
    return i;
}
#else
template <Relation R, class C>
PTO_INLINE int64_t compare_vectors(uint8_t*, const C*, const C*, int64_t, bool)
{
    return 0;
}
template <class T>
constexpr bool selects_vectors_v = false;
template <class C>
constexpr bool compares_vectors_v = false;
template <class T>
PTO_INLINE int64_t select_vectors(T*, const uint8_t*, const T*, const T*, int64_t, bool)
{
    return 0;
}
#endif

// At most kChunk elements, as bytes. One loop for all relations.
template <class C>
PTO_INLINE void compare_bytes(Relation relation, uint8_t* bits, const C* a, const C* b, int64_t n, bool flip)
{
    const uint8_t below = relation != Relation::Equal, equal = relation != Relation::Below, change = flip;
    uint8_t flags[kChunk + 8];
    PTO_IVDEP
    for (int64_t i = 0; i < n; ++i) {
        flags[i] = static_cast<uint8_t>((((a[i] < b[i]) & below) | ((a[i] == b[i]) & equal)) ^ change);
    }
    for (int64_t i = n; i % 8 != 0; ++i) {
        flags[i] = 0;
    }
    pack_bits(bits, flags, n);
}

template <class C>
PTO_NOINLINE void compare_by_bytes(Relation relation, uint8_t* bits, const C* a, const C* b, int64_t n, bool flip)
{
    compare_bytes(relation, bits, a, b, n, flip);
}
template <class C>
PTO_COLD void compare_rest(Relation relation, uint8_t* bits, const C* a, const C* b, int64_t n, bool flip)
{
    compare_bytes(relation, bits, a, b, n, flip);
}

// One chunk of at most kChunk elements.
template <class C>
PTO_NOINLINE void compare_chunk(CmpMode mode, uint8_t* bits, const C* a, const C* b, int64_t n)
{
    if (mode == CmpMode::GT || mode == CmpMode::GE) {
        const C* first = a;
        a = b;
        b = first;
    }
    const bool equal = mode == CmpMode::EQ || mode == CmpMode::NE, flip = mode == CmpMode::NE;
    const Relation relation = equal                                        ? Relation::Equal
                              : mode == CmpMode::LT || mode == CmpMode::GT ? Relation::Below
                                                                           : Relation::AtMost;
    if constexpr (!compares_vectors_v<C>) {
        compare_by_bytes(relation, bits, a, b, n, flip);
        return;
    }
    const int64_t done = relation == Relation::Equal   ? compare_vectors<Relation::Equal>(bits, a, b, n, flip)
                         : relation == Relation::Below ? compare_vectors<Relation::Below>(bits, a, b, n, flip)
                                                       : compare_vectors<Relation::AtMost>(bits, a, b, n, flip);
    if (done < n) {
        compare_rest(relation, bits + done / 8, a + done, b + done, n - done, flip);
    }
}

// A row of a tile, `n` elements from column `at`, in its computing type; gathered if the row is not contiguous.
template <class Tl>
struct RowChunk {
    using T = elem_t<Tl>;
    using C = compute_t<T>;
    C buffer[kChunk];
    const C* at;

    PTO_INLINE RowChunk(const Tl& tile, int64_t row, int64_t col, int64_t n) : at(buffer)
    {
        const T* data = elements(tile);
        if constexpr (is_nd_v<Tl>) {
            const T* line = data + row * Tl::Cols + col;
            if constexpr (is_narrow_v<T>) {
                widen(line, buffer, n);
            } else {
                at = line;
            }
        } else {
            for (int64_t i = 0; i < n; ++i) {
                buffer[i] = to_compute(data[Tl::offset(row, col + i)]);
            }
        }
    }
};

// The bytes of a row of a mask.
template <class M>
PTO_INLINE uint8_t* mask_row(const M& mask, int64_t row)
{
    return reinterpret_cast<uint8_t*>(mask.data()) + row * M::Cols * static_cast<int64_t>(sizeof(typename M::DType));
}
// Writes `count` bytes of a row of a mask, from byte `at` on; they are strided where the mask is not RowMajor.
template <class M>
PTO_INLINE void write_mask(const M& mask, int64_t row, int64_t at, const uint8_t* bits, int64_t count)
{
    constexpr int64_t size = static_cast<int64_t>(sizeof(typename M::DType));
    uint8_t* data = reinterpret_cast<uint8_t*>(mask.data());
    for (int64_t i = 0; i < count; ++i) {
        data[M::offset(row, (at + i) / size) * size + (at + i) % size] = bits[i];
    }
}
template <class M>
PTO_INLINE bool mask_holds(int rows, int cols)
{
    return require(rows <= M::Rows && (cols + 7) / 8 <= M::Cols * static_cast<int>(sizeof(typename M::DType)),
                   "compare, select: the mask tile has too few bits for the valid region");
}

template <class M, class S>
PTO_INLINE void mask_rule()
{
    static_assert(is_tile_data_v<M> && is_tile_data_v<S>, "compare, select: operands must be tiles");
    static_assert(std::is_integral<typename M::DType>::value, "compare, select: the mask must be of integers");
    static_assert(is_number_v<typename S::DType>, "compare, select: unsupported element type");
    PTO_NPU_RULE((std::is_same<typename M::DType, uint8_t>::value), "compare, select: the mask must be uint8_t");
    PTO_NPU_RULE((at_v<M, TileType::Vec> && at_v<S, TileType::Vec>), "compare, select: all tiles must be Vec tiles");
    PTO_NPU_RULE((is_nd_v<S>), "compare, select: all tiles must be RowMajor without boxes");
}

template <class M, class S>
PTO_INLINE void select_rule()
{
    mask_rule<M, S>();
    static_assert(is_nd_v<M>, "select: the mask must be RowMajor without boxes");
}

template <class M, class S>
PTO_INLINE void compare_rule()
{
    mask_rule<M, S>();
    static_assert(is_any_v<typename M::DType, uint8_t, uint32_t>, "compare: the mask must be uint8_t or uint32_t");
    PTO_NPU_RULE((is_nd_v<M>), "compare: the mask must be RowMajor without boxes");
}

// mask = s compared with `right(row, col, n)`, a pointer to n elements.
template <class M, class S, class Right>
PTO_INLINE RecordEvent compare(M& mask, S& s, CmpMode mode, const Right& right)
{
    fence();
    const int rows = s.GetValidRow(), cols = s.GetValidCol();
    if (addressed(mask, s) && mask_holds<M>(rows, cols) && right.ready(rows, cols)) {
        for (int64_t r = 0; r < rows; ++r) {
            for (int64_t c = 0; c < cols; c += kChunk) {
                const int64_t n = min_of<int64_t>(kChunk, cols - c);
                const RowChunk<S> left(s, r, c, n);
                if constexpr (is_nd_v<M>) {
                    right.compare(mode, mask_row(mask, r) + c / 8, left.at, r, c, n);
                } else {
                    uint8_t bits[kChunk / 8];
                    right.compare(mode, bits, left.at, r, c, n);
                    write_mask(mask, r, c / 8, bits, (n + 7) / 8);
                }
            }
        }
    }
    fence();
    return {};
}

template <class S>
struct RightTile {
    const S& tile;
    PTO_INLINE bool ready(int rows, int cols) const { return addressed(tile) && covers(tile, rows, cols); }
    template <class C>
    PTO_INLINE void compare(CmpMode mode, uint8_t* bits, const C* left, int64_t r, int64_t c, int64_t n) const
    {
        const RowChunk<S> right(tile, r, c, n);
        compare_chunk(mode, bits, left, right.at, n);
    }
};
template <class C>
struct RightValue {
    C value[kChunk];
    PTO_INLINE explicit RightValue(C x)
    {
        for (C& each : value) {
            each = x;
        }
    }
    PTO_INLINE bool ready(int, int) const { return true; }
    PTO_INLINE void compare(CmpMode mode, uint8_t* bits, const C* left, int64_t, int64_t, int64_t n) const
    {
        compare_chunk(mode, bits, left, &value[0], n);
    }
};

// dst[i] = bit i ? a[i] : b[i], or b[0] if there is `one`.
template <class T>
PTO_COLD void select_each(T* dst, const uint8_t* bits, const T* a, const T* b, int64_t n, bool one)
{
    for (int64_t i = 0; i < n; ++i) {
        dst[i] = ((bits[i / 8] >> (i % 8)) & 1) != 0 ? a[i] : b[one ? 0 : i];
    }
}
template <class T>
PTO_NOINLINE void select_run(T* dst, const uint8_t* bits, const T* a, const T* b, int64_t n, bool one)
{
    if constexpr (selects_vectors_v<T>) {
        const int64_t done = select_vectors(dst, bits, a, b, n, one);
        if (done < n) {
            select_each(dst + done, bits + done / 8, a + done, one ? b : b + done, n - done, one);
        }
        return;
    }
    for (int64_t i = 0; i < n; i += kChunk) {
        const int64_t m = min_of<int64_t>(kChunk, n - i);
        uint8_t keep[kChunk + 8];
        unpack_bits(keep, bits + i / 8, m);
        if (one) {
            const T other = b[0];
            PTO_IVDEP
            for (int64_t j = 0; j < m; ++j) {
                dst[i + j] = keep[j] != 0 ? a[i + j] : other;
            }
        } else {
            PTO_IVDEP
            for (int64_t j = 0; j < m; ++j) {
                const T left = a[i + j], right = b[i + j];
                dst[i + j] = keep[j] != 0 ? left : right;
            }
        }
    }
}

// The unsigned type of the size of T.
template <class T>
using bits_t = std::conditional_t<sizeof(T) == 1, uint8_t,
                                  std::conditional_t<sizeof(T) == 2, uint16_t,
                                                     std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;

template <class Tl>
PTO_INLINE bits_t<typename Tl::DType>* raw(const Tl& tile)
{
    return reinterpret_cast<bits_t<typename Tl::DType>*>(tile.data());
}

// d = mask ? s : other, where other is a tile like s, or one value.
template <bool One, class D, class M, class S>
PTO_INLINE void select(D& d, const M& mask, const S& s, const bits_t<typename S::DType>* other)
{
    const int rows = d.GetValidRow(), cols = d.GetValidCol();
    for (int64_t r = 0; r < rows; ++r) {
        const uint8_t* bits = mask_row(mask, r);
        if constexpr (is_nd_v<D> && is_nd_v<S>) {
            select_run(raw(d) + r * D::Cols, bits, raw(s) + r * S::Cols, One ? other : other + r * S::Cols, cols, One);
        } else {
            for (int64_t c = 0; c < cols; ++c) {
                const bool keep = (bits[c / 8] >> (c % 8)) & 1;
                raw(d)[D::offset(r, c)] = keep ? raw(s)[S::offset(r, c)] : One ? *other : other[S::offset(r, c)];
            }
        }
    }
}

}  // namespace detail

// mask = s0 compared with s1.
template <class M, class A, class B, class... E, detail::if_tiles<M, A, B> = 0>
PTO_INSTRUCTION RecordEvent TCMP(M& mask, A& s0, B& s1, CmpMode mode, E&... events)
{
    using namespace detail;
    compare_rule<M, A>();
    static_assert(same_element_v<A, B>, "TCMP: both sources must have the same element type");
    using T = typename A::DType;
    static_assert(std::is_same<typename M::DType, uint32_t>::value || is_narrow_v<T> || is_any_v<T, float, int32_t>,
                  "TCMP: unsupported element type (f32, f16, i32)");
    PTO_NPU_RULE((at_v<B, TileType::Vec> && is_nd_v<B>), "TCMP: all tiles must be RowMajor Vec tiles");
    wait_all(events...);
    return compare(mask, s0, mode, RightTile<B>{s1});
}

// mask = s compared with a value, or with the first element of a tile.
template <class M, class S, class... E, detail::if_tiles<M, S> = 0>
PTO_INSTRUCTION RecordEvent TCMPS(M& mask, S& s, typename S::DType x, CmpMode mode, E&... events)
{
    using namespace detail;
    compare_rule<M, S>();
    wait_all(events...);
    using C = decltype(scalar_value(x));
    return compare(mask, s, mode, RightValue<C>(scalar_value(x)));
}
template <class M, class S, class V, class... E, detail::if_tiles<M, S, V> = 0>
PTO_INSTRUCTION RecordEvent TCMPS(M& mask, S& s, V& value, CmpMode mode, E&... events)
{
    static_assert(detail::same_element_v<S, V>, "TCMPS: both sources must have the same element type");
    return detail::addressed(value) ? TCMPS(mask, s, value.data()[0], mode, events...) : RecordEvent{};
}

// d = mask ? s0 : s1; the scratch tile is for the NPU.
template <class D, class M, class T, class... E, detail::if_tiles<D, M, T> = 0>
PTO_INSTRUCTION RecordEvent TSEL(D& d, M& mask, D& s0, D& s1, T&, E&... events)
{
    using namespace detail;
    select_rule<M, D>();
    wait_all(events...);
    fence();
    const int rows = d.GetValidRow(), cols = d.GetValidCol();
    if (addressed(d, mask, s0, s1) && mask_holds<M>(rows, cols) && covers(s0, rows, cols) && covers(s1, rows, cols)) {
        select<false>(d, mask, s0, raw(s1));
    }
    fence();
    return {};
}

// d = mask ? s : x; the scratch tile is for the NPU.
template <class D, class M, class S, class T, class... E, detail::if_tiles<D, M, S, T> = 0>
PTO_INSTRUCTION RecordEvent TSELS(D& d, M& mask, S& s, T&, typename S::DType x, E&... events)
{
    using namespace detail;
    select_rule<M, S>();
    static_assert(same_element_v<D, S>, "TSELS: source and destination must have the same element type");
    PTO_NPU_RULE((at_v<D, TileType::Vec> && is_nd_v<D>), "TSELS: all tiles must be RowMajor Vec tiles");
    wait_all(events...);
    fence();
    const int rows = d.GetValidRow(), cols = d.GetValidCol();
    if (addressed(d, mask, s) && mask_holds<M>(rows, cols) && covers(s, rows, cols)) {
        const bits_t<typename S::DType> other = bit_cast<bits_t<typename S::DType>>(x);
        select<true>(d, mask, s, &other);
    }
    fence();
    return {};
}

}  // namespace pto

#endif
