// Sorting: TSORT32 orders groups of 32 columns, TMRGSORT merges sorted lists. A sorted element is a record of 8 bytes: a
// 4-byte value and a 4-byte index; a 16-bit value is followed by 2 bytes of padding.
//  - Descending, stable: of equal values the earlier one stays first. NaN comes before infinity.
#ifndef PTO_DETAIL_SORT_HPP
#define PTO_DETAIL_SORT_HPP

#include "elementwise.hpp"

namespace pto {

namespace detail {

// An integer that orders like the value. Both zeros are equal, NaN is the largest.
template <class T>
PTO_INLINE int32_t sort_key(T value)
{
    if constexpr (is_float_v<T>) {
        const float v = static_cast<float>(to_compute(value));
        const int32_t bits = bit_cast<int32_t>(v + 0.0f);
        const int32_t key = bits ^ static_cast<int32_t>(static_cast<uint32_t>(bits >> 31) >> 1);
        return v == v ? key : std::numeric_limits<int32_t>::max();
    } else {
        return static_cast<int32_t>(value);
    }
}

template <class T>
PTO_INLINE void put_record(unsigned char* at, T value, uint32_t index)
{
    uint64_t word = 0;
    std::memcpy(&word, &value, sizeof(T));
    word |= static_cast<uint64_t>(index) << 32;
    std::memcpy(at, &word, sizeof(word));
}

// The records of n <= 32 elements, in order. Every element counts those before it: 32 short loops without branches.
template <class T>
PTO_NOINLINE void sort_group(unsigned char* dst, const T* src, const uint32_t* index, int64_t n)
{
    int32_t key[32], rank[32];
    for (int64_t i = 0; i < 32; ++i) {
        key[i] = i < n ? sort_key(src[i]) : 0;
        rank[i] = 0;
    }
    for (int64_t i = 0; i < n; ++i) {
        int32_t before = 0;
        for (int64_t j = 0; j < n; ++j) {
            before += static_cast<int32_t>((key[j] > key[i]) | ((key[j] == key[i]) & (j < i)));
        }
        rank[i] = before;
    }
    for (int64_t i = 0; i < n; ++i) {
        put_record(dst + 8 * rank[i], src[i], index[i]);
    }
}

template <class T>
PTO_INLINE int32_t record_key(const unsigned char* record)
{
    T value;
    std::memcpy(&value, record, sizeof(T));
    return sort_key(value);
}

// Up to four sorted lists of records into one.
template <class T>
PTO_NOINLINE void merge_lists(unsigned char* dst, const unsigned char* const* list, const int64_t* length, int lists)
{
    int64_t next[4] = {0, 0, 0, 0};
    for (;;) {
        int best = -1;
        int32_t best_key = 0;
        for (int k = 0; k < lists; ++k) {
            if (next[k] < length[k]) {
                const int32_t key = record_key<T>(list[k] + 8 * next[k]);
                if (best < 0 || key > best_key) {
                    best = k;
                    best_key = key;
                }
            }
        }
        if (best < 0) {
            return;
        }
        std::memcpy(dst, list[best] + 8 * next[best], 8);
        ++next[best];
        dst += 8;
    }
}

template <class D, class S>
PTO_INLINE void sort_rule()
{
    static_assert(same_element_v<D, S>, "sort: source and destination must have the same element type");
    static_assert(is_any_v<typename S::DType, float, half, bfloat16_t, int32_t, int16_t>,
                  "sort: unsupported element type (f32, f16; i32 and i16 on a CPU)");
    PTO_NPU_RULE((is_any_v<typename S::DType, float, half>), "sort: element type must be f32 or f16");
    static_assert(is_nd_v<D> && is_nd_v<S>, "sort: all tiles must be RowMajor without boxes");
    PTO_NPU_RULE((at_v<D, TileType::Vec> && at_v<S, TileType::Vec>), "sort: all tiles must be Vec tiles");
}

}  // namespace detail

// Every 32 columns of s in descending order, as records of value and index. d holds 8 bytes for each element.
template <class D, class S, class I, class... E, detail::if_tiles<D, S, I> = 0, detail::if_events<E...> = 0>
PTO_INSTRUCTION RecordEvent TSORT32(D& d, S& s, I& index, E&... events)
{
    using namespace detail;
    using T = typename S::DType;
    sort_rule<D, S>();
    static_assert(std::is_same<typename I::DType, uint32_t>::value && is_nd_v<I>, "TSORT32: the index tile must be uint32_t");
    wait_all(events...);
    fence();
    const int64_t rows = s.GetValidRow(), cols = s.GetValidCol();
    if (addressed(d, s, index) && covers(index, static_cast<int>(rows), static_cast<int>(cols)) &&
        require(d.GetValidRow() >= rows && cols * 8 <= D::Cols * static_cast<int64_t>(sizeof(T)),
                "TSORT32: the destination must hold 8 bytes for each element")) {
        for (int64_t r = 0; r < rows; ++r) {
            unsigned char* to = reinterpret_cast<unsigned char*>(elements(d) + r * D::Cols);
            for (int64_t c = 0; c < cols; c += 32) {
                sort_group(to + 8 * c, static_cast<const T*>(elements(s)) + r * S::Cols + c,
                           static_cast<const uint32_t*>(elements(index)) + r * I::Cols + c, min_of<int64_t>(32, cols - c));
            }
        }
    }
    fence();
    return {};
}
// With a scratch tile, which only the NPU needs.
template <class D, class S, class I, class T, class... E, detail::if_tiles<D, S, I, T> = 0>
PTO_INSTRUCTION RecordEvent TSORT32(D& d, S& s, I& index, T&, E&... events)
{
    return TSORT32(d, s, index, events...);
}

// Merges every four sorted blocks of a row into one. A block is as many elements of the tile as its records take.
template <class D, class S, class... E, detail::if_tiles<D, S> = 0>
PTO_INSTRUCTION RecordEvent TMRGSORT(D& d, S& s, uint32_t block, E&... events)
{
    using namespace detail;
    using T = typename S::DType;
    sort_rule<D, S>();
    static_assert(D::Rows == 1 && S::Rows == 1, "TMRGSORT: tiles must be one row");
    wait_all(events...);
    fence();
    const int64_t total = s.GetValidCol() * static_cast<int64_t>(sizeof(T)) / 8;
    const int64_t length = static_cast<int64_t>(block) * static_cast<int64_t>(sizeof(T)) / 8;
    if (addressed(d, s) && require(length > 0 && d.GetValidCol() >= s.GetValidCol(),
                                   "TMRGSORT: blocks of at least one record, and a destination as large as the source") &&
        require(elements(d) != elements(s), "TMRGSORT: cannot work in place")) {
        const unsigned char* from = reinterpret_cast<const unsigned char*>(elements(s));
        unsigned char* to = reinterpret_cast<unsigned char*>(elements(d));
        for (int64_t at = 0; at < total; at += 4 * length) {
            const unsigned char* list[4];
            int64_t count[4];
            int lists = 0;
            for (int64_t first = at; lists < 4 && first < total; first += length) {
                list[lists] = from + 8 * first;
                count[lists] = min_of(length, total - first);
                ++lists;
            }
            merge_lists<T>(to + 8 * at, list, count, lists);
        }
    }
    fence();
    return {};
}

}  // namespace pto

#endif
