// TLOAD and TSTORE: between global memory and tiles. The shape of the GlobalTensor must equal the valid region of the tile;
// otherwise the instruction records an error and copies nothing. Elements outside the valid region are not touched, unless
// the tile type names a pad value.
#ifndef PTO_DETAIL_TRANSFER_HPP
#define PTO_DETAIL_TRANSFER_HPP

#include "prefetch.hpp"
#include "../core/bounds.hpp"
#include "quantized_store.hpp"
#include "layout_copy.hpp"

namespace pto {

namespace detail {

// Sizes and steps of a GlobalTensor, and which of its dimensions are those of a tile:
//   ND: row r = (d0,d1,d2,d3), column d4.  DN: column c = (d0,d1,d2,d4), row d3.
//   NZ: row r = (d2,d3), column c = (d0,d1,d4).
struct GlobalSizes {
    int64_t n[5], step[5];

    PTO_INLINE int64_t place(Layout layout, int64_t r, int64_t c) const
    {
        if (layout == Layout::NZ) {
            const int64_t d4 = c % n[4], d1 = c / n[4] % n[1], d0 = c / n[4] / n[1];
            return d0 * step[0] + d1 * step[1] + r / n[3] * step[2] + r % n[3] * step[3] + d4 * step[4];
        }
        const int line_dim = layout == Layout::ND ? 3 : 4;
        const int64_t line = line_dim == 3 ? r : c, pos = line_dim == 3 ? c : r;
        const int64_t i2 = line / n[line_dim];
        return i2 / n[2] / n[1] * step[0] + i2 / n[2] % n[1] * step[1] + i2 % n[2] * step[2] +
               line % n[line_dim] * step[line_dim] + pos * step[7 - line_dim];
    }
};

// A GlobalTensor as lines of the 2-D matrix that its layout folds it to.
template <class G>
struct GlobalLines : GlobalSizes {
    static constexpr bool nd = G::layout == Layout::ND, dn = G::layout == Layout::DN, nz = G::layout == Layout::NZ;
    static_assert(nd || dn || nz, "layout of the GlobalTensor must be ND, DN or NZ");

    PTO_INLINE explicit GlobalLines(const G& g)
    {
        // One by one: what is static is then known before any loop is unrolled, and what it rules out is not compiled.
        n[0] = g.GetShape(0), n[1] = g.GetShape(1), n[2] = g.GetShape(2), n[3] = g.GetShape(3), n[4] = g.GetShape(4);
        step[0] = g.GetStride(0), step[1] = g.GetStride(1), step[2] = g.GetStride(2), step[3] = g.GetStride(3);
        step[4] = g.GetStride(4);
    }
    PTO_INLINE int64_t rows() const { return nd ? n[0] * n[1] * n[2] * n[3] : dn ? n[3] : n[2] * n[3]; }
    PTO_INLINE int64_t cols() const { return nd ? n[4] : dn ? n[0] * n[1] * n[2] * n[4] : n[0] * n[1] * n[4]; }

    // Lines follow each other in groups of `group()` with one step; a run of a line is contiguous if unit() is 1.
    PTO_INLINE int64_t group() const { return nd ? n[3] : n[4]; }
    PTO_INLINE int64_t line_step() const { return nd ? step[3] : step[4]; }
    PTO_INLINE int64_t unit() const { return nd ? step[4] : step[3]; }

    PTO_INLINE int64_t offset(int64_t r, int64_t c) const { return place(G::layout, r, c); }

    // Elements from the address to the end of the region, and (not positive) to its begin.
    PTO_INLINE int64_t reach(bool up) const
    {
        return (up ? 1 : 0) + part(0, up) + part(1, up) + part(2, up) + part(3, up) + part(4, up);
    }
    PTO_INLINE int64_t part(int i, bool up) const
    {
        const int64_t far = (n[i] - 1) * step[i];
        return (far > 0) == up ? far : 0;
    }
    // From the first element to the end of the one at the last place of every dimension; 0 if there is none.
    PTO_INLINE int64_t span() const
    {
        const bool empty = n[0] <= 0 || n[1] <= 0 || n[2] <= 0 || n[3] <= 0 || n[4] <= 0;
        return empty ? 0
                     : 1 + (n[0] - 1) * step[0] + (n[1] - 1) * step[1] + (n[2] - 1) * step[2] + (n[3] - 1) * step[3] +
                           (n[4] - 1) * step[4];
    }
};

// A region in memory: where it and its tensor begin, how many bytes it spans; its innermost lines are `width` elements of
// `size` bytes, `line` apart (0: nothing is known of them).
struct Region {
    uintptr_t begin, origin;
    int64_t bytes, size, line, width;
};

// True if the region lies in the tensor that the launcher named there, and so do its lines in the lines of the tensor.
PTO_LIGHT inline bool in_tensor(const Region& region)
{
    const Extents& known = kernel_state.extents;
    for (int i = 0; i < known.count; ++i) {
        if (known.of[i].begin == region.origin && region.begin >= region.origin &&
            region.begin + static_cast<uintptr_t>(region.bytes) <= known.of[i].end) {
            const uint64_t place = (region.begin - region.origin) / static_cast<uint64_t>(region.size);
            const uint64_t line = static_cast<uint64_t>(region.line);
            if (line == 0 || place % line + static_cast<uint64_t>(region.width) <= line) {
                return true;
            }
        }
    }
    return known.count == 0;
}

// True if the region lies in a tensor that the launcher named; else records an error that begins with `verb`. Of the dimensions
// the innermost is looked at by in_tensor, as most tensors have two.
PTO_COLD inline bool in_some_tensor(Region region, const Asked& asked, bool dn, bool flat)
{
    if (region.bytes == 0) {
        take_refusal();
        return true;
    }
    do {
        const int64_t place = static_cast<int64_t>(region.begin - region.origin) / region.size;
        if (in_tensor(region) && (flat || kernel_state.extents.count == 0 || keeps_dimensions(place, asked.n, asked.step, dn))) {
            return true;
        }
        region.origin = another_origin(asked, region.origin);
    } while (region.origin != 0);
    return false;
}

template <class G>
PTO_INLINE bool inside(const G& g, const GlobalLines<G>& lines, const char* verb)
{
    constexpr int64_t size = static_cast<int64_t>(sizeof(typename G::RawDType));
    constexpr bool dn = GlobalLines<G>::dn;
    constexpr bool flat = G::staticStride[0] == 1 && G::staticStride[1] == 1 && G::staticStride[2] == 1;
    constexpr int inner = dn ? 3 : 4, outer = 7 - inner;
    const Region region{reinterpret_cast<uintptr_t>(g.data()),
                        reinterpret_cast<uintptr_t>(g.GetOrigin()),
                        lines.span() * size,
                        size,
                        flat && lines.step[inner] == 1 && G::staticStride[outer] != 1 ? lines.step[outer] : 0,
                        lines.n[inner]};
    return (flat && in_tensor(region)) ||
           in_some_tensor(region, Asked{g.data(), size, g.GetShapes(), g.GetStrides(), verb}, dn, flat);
}

// Loads that wait and read what is about to be written come first.
template <class G>
PTO_INLINE void before_write(const G& g, const GlobalLines<G>& lines)
{
    if (__builtin_expect(kernel_state.held.count != 0, 0)) {
        constexpr int64_t size = static_cast<int64_t>(sizeof(typename G::RawDType));
        const uintptr_t begin = reinterpret_cast<uintptr_t>(g.data());
        settle_readers(begin + static_cast<uintptr_t>(lines.reach(false) * size),
                       begin + static_cast<uintptr_t>(lines.reach(true) * size));
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
        const bool plain = lines.group() == count && lines.unit() == 1;
        expect(reinterpret_cast<uintptr_t>(g.data()), plain ? g.GetMoved() : 0,
               lines.line_step() * static_cast<int64_t>(sizeof(T)), count, length * static_cast<int64_t>(sizeof(T)), !ToTile);
    }
}

// One element at a time.
PTO_COLD inline void copy_elements(bool to_tile, int64_t size, const Places& tile, GlobalSizes g, Layout layout, Bytes* dst,
                                   const Bytes* src, int64_t rows, int64_t cols)
{
    for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < cols; ++c) {
            const int64_t t = tile.offset(r, c) * size, p = g.place(layout, r, c) * size;
            std::memcpy(dst + (to_tile ? t : p), src + (to_tile ? p : t), static_cast<std::size_t>(size));
        }
    }
}
template <bool ToTile, class RunOp, class D, class S>
PTO_COLD void convert_elements(const RunOp& op, const Places& tile, GlobalSizes g, Layout layout, D* dst, const S* src,
                                int64_t rows, int64_t cols)
{
    for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < cols; ++c) {
            const int64_t t = tile.offset(r, c), p = g.place(layout, r, c);
            op(dst + (ToTile ? t : p), src + (ToTile ? p : t), 1);
        }
    }
}

// Boxes whose runs are those of boxes in global memory.
template <bool ToTile, class L, class RunOp, class D, class S>
PTO_NOINLINE void transfer_boxes(const RunOp& op, const GlobalSizes& g, D* dst, const S* src)
{
    for (int64_t column = 0; column < g.n[0] * g.n[1]; ++column) {
        const int64_t from = column / g.n[1] * g.step[0] + column % g.n[1] * g.step[1];
        for (int64_t i = 0; i < g.n[2]; ++i) {
            for (int64_t j = 0; j < g.n[3]; ++j) {
                const int64_t t = L::offset(i * g.n[3] + j, column * L::run), p = from + i * g.step[2] + j * g.step[3];
                op(dst + (ToTile ? t : p), src + (ToTile ? p : t), L::run);
            }
        }
    }
}

// Runs `op(dst, src, n)` over the whole transfer. ToTile: global -> tile, else tile -> global.
template <bool ToTile, class Tl, class G, class RunOp, class D, class S>
PTO_INLINE void transfer(const RunOp& op, const GlobalLines<G>& g, D* dst, const S* src)
{
    using L = TileLines<Tl>;
    using GL = GlobalLines<G>;
    const int64_t rows = g.rows(), cols = g.cols();
    if (rows <= 0 || cols <= 0) {
        return;
    }
    if constexpr (!GL::nz && L::by_row == GL::nd) {
        if (__builtin_expect(g.unit() == 1, 1)) {
            const int64_t length = GL::nd ? cols : rows, group = g.group();
            int64_t first = 0;
            for (int64_t i = 0; i < g.n[0]; ++i) {
                for (int64_t j = 0; j < g.n[1]; ++j) {
                    for (int64_t k = 0; k < g.n[2]; ++k, first += group) {
                        const int64_t at = i * g.step[0] + j * g.step[1] + k * g.step[2];
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
                }
            }
            return;
        }
    } else if constexpr (GL::nz && L::by_row && Tl::isBoxedLayout) {
        if (g.n[4] == L::run && g.step[4] == 1) {
            transfer_boxes<ToTile, L>(op, g, dst, src);
            return;
        }
    }
    if constexpr (is_copy_v<RunOp>) {
        copy_elements(ToTile, sizeof(D), places_v<Tl>, g, G::layout, reinterpret_cast<Bytes*>(dst),
                      reinterpret_cast<const Bytes*>(src), rows, cols);
    } else {
        convert_elements<ToTile>(op, places_v<Tl>, g, G::layout, dst, src, rows, cols);
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

// Which Mat tiles may be loaded by the move that reads them (deferred.hpp): those whose lines are those of the tensor. The form
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
    if (kernel_state.extents.count == 0 || step < bytes || bytes <= 0 || count * bytes < kLeastHeldBytes) {
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
PTO_LIGHT RecordEvent TLOAD(D& d, G& g, E&... events)
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
            inside(g, lines, "a load reads")) {
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

// Brings g nearer. The device moves it through the tile, which is the buffer of the transfer: what the tile holds afterwards
// is not to be relied on.
template <class D, class G, class... E>
PTO_LIGHT RecordEvent TPREFETCH(D& d, G& g, E&... events)
{
    return TLOAD(d, g, events...);
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
        inside(g, lines, "a store writes")) {
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
PTO_LIGHT RecordEvent TSTORE(G& g, S& s, E&... events)
{
    return detail::store_plain<Atomic, Relu>(g, s, events...);
}
// The phase only steers a flag of the NPU.
template <STPhase, class S, class G, AtomicType Atomic = AtomicType::AtomicNone,
          ReluPreMode Relu = ReluPreMode::NoRelu, class... E>
PTO_LIGHT RecordEvent TSTORE(G& g, S& s, E&... events)
{
    return detail::store_plain<Atomic, Relu>(g, s, events...);
}
// g = quantised s.
template <class S, class G, AtomicType Atomic = AtomicType::AtomicNone, ReluPreMode Relu = ReluPreMode::NoRelu>
PTO_LIGHT RecordEvent TSTORE(G& g, S& s, const uint64_t& quant)
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
