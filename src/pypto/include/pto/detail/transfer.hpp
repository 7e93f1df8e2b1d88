// TLOAD and TSTORE: between global memory and tiles. The shape of the GlobalTensor must equal the valid region of the tile;
// otherwise the instruction records an error and copies nothing. Elements outside the valid region are not touched, unless
// the tile type names a pad value.
#ifndef PTO_DETAIL_TRANSFER_HPP
#define PTO_DETAIL_TRANSFER_HPP

#include "ahead.hpp"
#include "quant.hpp"
#include "runs.hpp"

namespace pto {

namespace detail {

// A GlobalTensor as lines of the 2-D matrix that its layout folds it to.
//   ND: row r = (d0,d1,d2,d3), column d4.  DN: column c = (d0,d1,d2,d4), row d3.
//   NZ: row r = (d2,d3), column c = (d0,d1,d4).
template <class G>
struct GlobalLines {
    static constexpr bool nd = G::layout == Layout::ND, dn = G::layout == Layout::DN, nz = G::layout == Layout::NZ;
    static_assert(nd || dn || nz, "layout of the GlobalTensor must be ND, DN or NZ");

    int64_t n[5], step[5];
    PTO_INLINE explicit GlobalLines(const G& g)
    {
        for (int i = 0; i < 5; ++i) {
            n[i] = g.GetShape(i);
            step[i] = g.GetStride(i);
        }
    }
    PTO_INLINE int64_t rows() const { return nd ? n[0] * n[1] * n[2] * n[3] : dn ? n[3] : n[2] * n[3]; }
    PTO_INLINE int64_t cols() const { return nd ? n[4] : dn ? n[0] * n[1] * n[2] * n[4] : n[0] * n[1] * n[4]; }

    // Lines follow each other in groups of `group()` with one step; a run of a line is contiguous if unit() is 1.
    PTO_INLINE int64_t group() const { return nd ? n[3] : n[4]; }
    PTO_INLINE int64_t line_step() const { return nd ? step[3] : step[4]; }
    PTO_INLINE int64_t unit() const { return nd ? step[4] : step[3]; }

    int64_t offset(int64_t r, int64_t c) const
    {
        if (nz) {
            const int64_t d4 = c % n[4], d1 = c / n[4] % n[1], d0 = c / n[4] / n[1];
            return d0 * step[0] + d1 * step[1] + r / n[3] * step[2] + r % n[3] * step[3] + d4 * step[4];
        }
        const int64_t line = nd ? r : c, inner = nd ? n[3] : n[4];
        const int64_t i2 = line / inner;
        return i2 / n[2] / n[1] * step[0] + i2 / n[2] % n[1] * step[1] + i2 % n[2] * step[2] +
               line % inner * line_step() + (nd ? c : r) * unit();
    }
};

// True if the region lies in one of the tensors that the launcher named; else records `message`.
template <class G>
PTO_INLINE bool inside(const G& g, const GlobalLines<G>& lines, const char* message)
{
    const Extents& known = extents;
    if (known.count == 0) {
        return true;
    }
    int64_t count = 1;
    for (int i = 0; i < 5; ++i) {
        if (lines.n[i] <= 0) {
            return true;
        }
        count += (lines.n[i] - 1) * lines.step[i];
    }
    const uintptr_t begin = reinterpret_cast<uintptr_t>(g.data());
    const uintptr_t end = begin + static_cast<uintptr_t>(count) * sizeof(typename G::RawDType);
    for (int i = 0; i < known.count; ++i) {
        if (begin >= known.of[i].begin && end <= known.of[i].end) {
            return true;
        }
    }
    record_error(kOutOfBounds, message);
    return false;
}

// Loads that wait and read what is about to be written come first.
template <class G>
PTO_INLINE void before_write(const G& g, const GlobalLines<G>& lines)
{
    if (__builtin_expect(held.count != 0, 0)) {
        int64_t low = 0, high = 1;
        for (int i = 0; i < 5; ++i) {
            const int64_t reach = (lines.n[i] - 1) * lines.step[i];
            (reach < 0 ? low : high) += reach;
        }
        constexpr int64_t size = static_cast<int64_t>(sizeof(typename G::RawDType));
        const uintptr_t begin = reinterpret_cast<uintptr_t>(g.data());
        settle_readers(begin + static_cast<uintptr_t>(low * size), begin + static_cast<uintptr_t>(high * size));
    }
}

// The tensor has moved since its last transfer: expect as large a step again.
template <bool ToTile, class G>
PTO_INLINE void expect_next(const G& g, const GlobalLines<G>& lines)
{
    using T = typename G::RawDType;
    if constexpr (!GlobalLines<G>::nz) {
        const int64_t count = GlobalLines<G>::nd ? lines.rows() : lines.cols();
        const int64_t length = GlobalLines<G>::nd ? lines.cols() : lines.rows();
        const int64_t bytes = length * static_cast<int64_t>(sizeof(T));
        forget(reinterpret_cast<const char*>(g.data()));
        if (g.GetMoved() != 0 && lines.group() == count && lines.unit() == 1 && count * bytes >= 1024) {
            expect(reinterpret_cast<const char*>(reinterpret_cast<uintptr_t>(g.data()) + g.GetMoved()),
                   lines.line_step() * static_cast<int64_t>(sizeof(T)), count, bytes, !ToTile);
        }
    }
}

// Runs `op(dst, src, n)` over the whole transfer. ToTile: global -> tile, else tile -> global.
template <bool ToTile, class Tl, class G, class RunOp, class D, class S>
PTO_INLINE void transfer(RunOp op, const GlobalLines<G>& g, D* dst, const S* src)
{
    using L = TileLines<Tl>;
    using GL = GlobalLines<G>;
    const int64_t rows = g.rows(), cols = g.cols();
    if (rows <= 0 || cols <= 0) {
        return;
    }
    if constexpr (GL::nd || GL::dn) {
        if constexpr (L::by_row == GL::nd) {
            if (__builtin_expect(g.unit() == 1, 1)) {
                const int64_t count = GL::nd ? rows : cols, length = GL::nd ? cols : rows, group = g.group();
                for (int64_t first = 0; first < count; first += group) {
                    const int64_t at = group == count ? 0 : GL::nd ? g.offset(first, 0) : g.offset(0, first);
                    D* d = dst + (ToTile ? 0 : at);
                    const S* s = src + (ToTile ? at : 0);
                    if constexpr (Tl::isBoxedLayout) {
                        copy_boxed<ToTile, L>(op, d, s, g.line_step(), first, group, length);
                    } else if constexpr (ToTile) {
                        copy_lines(op, d + first * L::line_step, L::line_step, s, g.line_step(), group, length);
                    } else {
                        copy_lines(op, d, g.line_step(), s + first * L::line_step, L::line_step, group, length);
                    }
                }
                return;
            }
        }
    } else if constexpr (L::by_row && Tl::isBoxedLayout) {
        if (g.n[4] == L::run && g.step[4] == 1) {
            for (int64_t c = 0; c < cols; c += L::run) {
                for (int64_t r = 0; r < rows; r += g.n[3]) {
                    const int64_t at = g.offset(r, c);
                    for (int64_t i = 0; i < g.n[3]; ++i) {
                        const int64_t t = L::offset(r + i, c), p = at + i * g.step[3];
                        op(dst + (ToTile ? t : p), src + (ToTile ? p : t), L::run);
                    }
                }
            }
            return;
        }
    }
    for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < cols; ++c) {
            const int64_t t = Tl::offset(r, c), p = g.offset(r, c);
            op(dst + (ToTile ? t : p), src + (ToTile ? p : t), 1);
        }
    }
}

template <class Tl, class G>
PTO_INLINE bool matches(const Tl& tile, const GlobalLines<G>& g, const char* message)
{
    return require(g.rows() == tile.GetValidRow() && g.cols() == tile.GetValidCol(), message);
}

// Value that a tile type pads with.
template <class Tl>
PTO_INLINE elem_t<Tl> pad_element()
{
    using T = elem_t<Tl>;
    using C = compute_t<T>;
    constexpr uint64_t code = static_cast<uint64_t>(Tl::PadVal);
    C value = 0;
    if constexpr (code == static_cast<uint64_t>(PadValue::Max)) {
        value = std::numeric_limits<C>::has_infinity ? std::numeric_limits<C>::infinity()
                                                     : std::numeric_limits<C>::max();
    } else if constexpr (code == static_cast<uint64_t>(PadValue::Min)) {
        value = std::numeric_limits<C>::has_infinity ? static_cast<C>(-std::numeric_limits<C>::infinity())
                                                     : std::numeric_limits<C>::min();
    } else if constexpr (code > 0xffffffffu) {
        value = static_cast<C>(bit_cast<float>(static_cast<uint32_t>(code & 0xffffffffu)));
    }
    return from_compute<T>(value);
}

// Fills the part of the physical tile outside rows x cols.
template <class Tl>
PTO_NOINLINE void fill_outside(elem_t<Tl>* data, int64_t rows, int64_t cols, elem_t<Tl> value)
{
    for (int64_t r = 0; r < Tl::Rows; ++r) {
        for (int64_t c = r < rows ? cols : 0; c < Tl::Cols; ++c) {
            data[Tl::offset(r, c)] = value;
        }
    }
}

template <class Tl, Layout L>
constexpr bool plain_pair_v = (L == Layout::ND && is_nd_v<Tl>) || (L == Layout::DN && is_dn_v<Tl>) ||
                              (L == Layout::NZ && is_nz_v<Tl>);

}  // namespace detail

namespace detail {

// Which Mat tiles may be loaded by the move that reads them (held.hpp): those whose lines are those of the tensor. The form
// of such a tile: Zn is Nz with rows and columns exchanged, so that one load serves both views of the bytes.
template <class Tl>
constexpr bool line_boxes_v = at_v<Tl, TileType::Mat> && (is_nz_v<Tl> || is_zn_v<Tl>) && Tl::SFractalSize == 512;
template <class Tl>
constexpr uint64_t line_form()
{
    using L = TileLines<Tl>;
    return static_cast<uint64_t>(L::count) << 32 | static_cast<uint64_t>(L::length) << 8 | sizeof(elem_t<Tl>);
}
// Below this a load costs less than keeping a note of it.
constexpr int64_t kLeastHeldBytes = 2048;

// Carries a load out.
template <class Tl>
void settle_load(const Held& note)
{
    using T = elem_t<Tl>;
    constexpr int64_t size = static_cast<int64_t>(sizeof(T));
    fence();
    copy_boxed<true, TileLines<Tl>>(CopyRun<T>{}, reinterpret_cast<T*>(note.first), reinterpret_cast<const T*>(note.from),
                                    note.step / size, 0, note.count, note.length / size);
    fence();
}

// True if the load is left to who reads the tile.
PTO_COLD inline bool hold_lines(const void* tile, int64_t tile_bytes, uint64_t form, const void* src, int64_t step,
                                int64_t count, int64_t bytes, void (*settle)(const Held&))
{
    if (extents.count == 0 || step < bytes || bytes <= 0 || count * bytes < kLeastHeldBytes) {
        return false;
    }
    unsigned char* first = static_cast<unsigned char*>(const_cast<void*>(tile));
    const char* from = static_cast<const char*>(src);
    hold(Held{first, first + tile_bytes, form, count, bytes, from, from + (count - 1) * step + bytes, step, count * bytes,
              settle});
    return true;
}
template <class D, class G, class T>
PTO_INLINE bool hold_load(const D& d, const GlobalLines<G>& lines, const T* src)
{
    if constexpr (line_boxes_v<D> && D::PadVal == PadValue::Null && (GlobalLines<G>::nd || GlobalLines<G>::dn)) {
        if constexpr (TileLines<D>::by_row == GlobalLines<G>::nd) {
            constexpr int64_t size = static_cast<int64_t>(sizeof(T));
            const int64_t count = GlobalLines<G>::nd ? lines.rows() : lines.cols();
            const int64_t length = GlobalLines<G>::nd ? lines.cols() : lines.rows();
            return lines.unit() == 1 && lines.group() == count &&
                   hold_lines(d.GetAddress(), D::StorageNumel * size, line_form<D>(), src, lines.line_step() * size, count,
                              length * size, settle_load<D>);
        }
    }
    return false;
}

// Where a waiting load lets its reader find the element at (row, col): nullptr if there is none, or it is better done.
struct Waiting {
    const char* from;
    int64_t step;  // bytes between lines
};
PTO_COLD inline Waiting waiting_lines(const void* tile, uint64_t form, int64_t line, int64_t lines, int64_t pos,
                                      int64_t bytes)
{
    Held* note = find_held(tile, form);
    if (note == nullptr || note->from == nullptr || line + lines > note->count || pos + bytes > note->length ||
        lines * bytes > note->budget) {
        return {nullptr, 0};
    }
    note->budget -= lines * bytes;
    return {note->from + line * note->step + pos, note->step};
}
template <class S>
PTO_INLINE Waiting waiting_load(const S& s, int64_t row, int64_t col, int64_t rows, int64_t cols)
{
    constexpr int64_t size = static_cast<int64_t>(sizeof(elem_t<S>));
    return TileLines<S>::by_row ? waiting_lines(s.GetAddress(), line_form<S>(), row, rows, col * size, cols * size)
                                : waiting_lines(s.GetAddress(), line_form<S>(), col, cols, row * size, rows * size);
}

}  // namespace detail

// d = g. A tile type with a pad value gets it everywhere outside the valid region.
template <class D, class G, class... E>
PTO_INSTRUCTION RecordEvent TLOAD(D& d, G& g, E&... events)
{
    using namespace detail;
    static_assert(is_tile_data_v<D> && is_global_data_v<G>, "TLOAD: operands must be (Tile, GlobalTensor)");
    if constexpr (is_tile_data_v<D> && is_global_data_v<G>) {
        using From = stored_t<typename G::RawDType>;
        using To = elem_t<D>;
        static_assert(sizeof(From) == sizeof(To), "TLOAD: element sizes of tile and GlobalTensor must be equal");
        PTO_NPU_RULE((at_v<D, TileType::Vec, TileType::Mat>), "TLOAD: destination must be a Vec or Mat tile");
        PTO_NPU_RULE((std::is_same<From, To>::value || (std::is_integral<From>::value && std::is_integral<To>::value)),
                     "TLOAD: tile and GlobalTensor must have the same element type");
        PTO_NPU_RULE((!at_v<D, TileType::Vec> || plain_pair_v<D, G::layout>),
                     "TLOAD: a Vec tile loads ND to ND, DN to DN or NZ to Nz");
        PTO_NPU_RULE((!at_v<D, TileType::Mat> || plain_pair_v<D, G::layout> ||
                      (G::layout == Layout::ND && is_nz_v<D>) || (G::layout == Layout::DN && is_zn_v<D>)),
                     "TLOAD: a Mat tile loads ND to ND or Nz, DN to DN or Zn, NZ to Nz");
        wait_all(events...);
        fence();
        const GlobalLines<G> lines(g);
        if (addressed(d) &&
            matches(d, lines, "TLOAD: shape of the GlobalTensor differs from the tile's valid region") &&
            inside(g, lines, "a load reads outside the tensors that the kernel was given")) {
            const From* src = reinterpret_cast<const From*>(g.data());
            if constexpr (sizeof(From) == sizeof(To) &&
                          (std::is_same<From, To>::value ||
                           (std::is_integral<From>::value && std::is_integral<To>::value))) {
                if (!hold_load(d, lines, reinterpret_cast<const To*>(src))) {
                    transfer<true, D, G>(CopyRun<To>{}, lines, elements(d), reinterpret_cast<const To*>(src));
                }
            } else if constexpr (sizeof(From) == sizeof(To)) {
                transfer<true, D, G>(CastRun<To, From, false, false>{}, lines, elements(d), src);
            }
            expect_next<true>(g, lines);
            if constexpr (D::PadVal != PadValue::Null) {
                fill_outside<D>(elements(d), d.GetValidRow(), d.GetValidCol(), pad_element<D>());
            }
        }
        fence();
    }
    return {};
}

namespace detail {

// The operand rules of TSTORE. Quant says whether a quant value is given.
template <AtomicType Atomic, ReluPreMode Relu, bool Quant, class S, class G>
PTO_INLINE void store_rule()
{
    using From = elem_t<S>;
    using To = stored_t<typename G::RawDType>;
    constexpr bool acc = at_v<S, TileType::Acc>;
    PTO_NPU_RULE((at_v<S, TileType::Vec, TileType::Mat, TileType::Acc>),
                 "TSTORE: source must be a Vec, Mat or Acc tile");
    PTO_NPU_RULE((acc || std::is_same<From, To>::value ||
                  (std::is_integral<From>::value && std::is_integral<To>::value && sizeof(From) == sizeof(To))),
                 "TSTORE: a Vec or Mat tile and the GlobalTensor must have the same element type");
    PTO_NPU_RULE((!acc || Quant || (std::is_same<From, float>::value && is_float_v<To>) || std::is_same<From, To>::value),
                 "TSTORE: an Acc tile stores f32 to f32, f16 or bf16 and i32 to i32; other pairs need a quant value");
    PTO_NPU_RULE((acc || plain_pair_v<S, G::layout> || S::Rows == 1 || S::Cols == 1),
                 "TSTORE: layouts of tile and GlobalTensor must match (ND, DN or NZ)");
    PTO_NPU_RULE((!acc || G::layout != Layout::DN), "TSTORE: an Acc tile cannot be stored to a DN GlobalTensor");
    PTO_NPU_RULE((acc || Relu == ReluPreMode::NoRelu), "TSTORE: relu is for Acc tiles");
    PTO_NPU_RULE((acc || !Quant), "TSTORE: a quant value is for Acc tiles");
}

template <class RunOp, class G, class S>
PTO_INLINE RecordEvent store(const RunOp& op, G& g, S& s)
{
    using To = stored_t<typename G::RawDType>;
    fence();
    const GlobalLines<G> lines(g);
    if (addressed(s) && matches(s, lines, "TSTORE: shape of the GlobalTensor differs from the tile's valid region") &&
        inside(g, lines, "a store writes outside the tensors that the kernel was given")) {
        before_write(g, lines);
        transfer<false, S, G>(op, lines, reinterpret_cast<To*>(g.data()), static_cast<const elem_t<S>*>(elements(s)));
        expect_next<false>(g, lines);
    }
    fence();
    return {};
}

template <AtomicType Atomic, ReluPreMode Relu, class S, class G, class... E>
PTO_INLINE RecordEvent store_plain(G& g, S& s, E&... events)
{
    static_assert(is_tile_data_v<S> && is_global_data_v<G>, "TSTORE: operands must be (GlobalTensor, Tile)");
    if constexpr (is_tile_data_v<S> && is_global_data_v<G>) {
        store_rule<Atomic, Relu, false, S, G>();
        wait_all(events...);
        using From = elem_t<S>;
        using To = stored_t<typename G::RawDType>;
        constexpr bool add = Atomic == AtomicType::AtomicAdd, relu = Relu == ReluPreMode::NormalRelu;
        if constexpr (std::is_same<From, To>::value && !add && !relu) {
            return store(CopyRun<To>{}, g, s);
        } else {
            return store(CastRun<To, From, relu, add>{}, g, s);
        }
    }
    return {};
}

}  // namespace detail

// g = s; the explicit forms add to global memory atomically or apply relu first.
template <class S, class G, AtomicType Atomic = AtomicType::AtomicNone, ReluPreMode Relu = ReluPreMode::NoRelu,
          class... E, detail::if_events<E...> = 0>
PTO_INSTRUCTION RecordEvent TSTORE(G& g, S& s, E&... events)
{
    return detail::store_plain<Atomic, Relu>(g, s, events...);
}
// The phase only steers a flag of the NPU.
template <STPhase, class S, class G, AtomicType Atomic = AtomicType::AtomicNone,
          ReluPreMode Relu = ReluPreMode::NoRelu, class... E>
PTO_INSTRUCTION RecordEvent TSTORE(G& g, S& s, E&... events)
{
    return detail::store_plain<Atomic, Relu>(g, s, events...);
}
// g = quantised s.
template <class S, class G, AtomicType Atomic = AtomicType::AtomicNone, ReluPreMode Relu = ReluPreMode::NoRelu>
PTO_INSTRUCTION RecordEvent TSTORE(G& g, S& s, const uint64_t& quant)
{
    using namespace detail;
    static_assert(is_tile_data_v<S> && is_global_data_v<G>, "TSTORE: operands must be (GlobalTensor, Tile)");
    store_rule<Atomic, Relu, true, S, G>();
    using Run = QuantRun<stored_t<typename G::RawDType>, elem_t<S>, Relu == ReluPreMode::NormalRelu,
                         Atomic == AtomicType::AtomicAdd>;
    return store(Run(quant), g, s);
}

}  // namespace pto

#endif
