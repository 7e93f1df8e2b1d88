// TLOAD and TSTORE: between global memory and tiles. The shape of the GlobalTensor must equal the valid region of the tile;
// otherwise the instruction records an error and copies nothing. Elements outside the valid region are not written, unless
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
        // One by one: static sizes are then known before any loop is unrolled, and code that they rule out is not compiled.
        n[0] = g.GetShape(0), n[1] = g.GetShape(1), n[2] = g.GetShape(2), n[3] = g.GetShape(3), n[4] = g.GetShape(4);
        step[0] = g.GetStride(0), step[1] = g.GetStride(1), step[2] = g.GetStride(2), step[3] = g.GetStride(3);
        step[4] = g.GetStride(4);
    }
    PTO_INLINE int64_t rows() const { return nd ? n[0] * n[1] * n[2] * n[3] : dn ? n[3] : n[2] * n[3]; }
    PTO_INLINE int64_t cols() const { return nd ? n[4] : dn ? n[0] * n[1] * n[2] * n[4] : n[0] * n[1] * n[4]; }

    PTO_INLINE int64_t offset(int64_t r, int64_t c) const { return place(G::layout, r, c); }

    // From the first element to the end of the last one; 0 if there is none.
    PTO_INLINE int64_t span() const
    {
        const bool empty = n[0] <= 0 || n[1] <= 0 || n[2] <= 0 || n[3] <= 0 || n[4] <= 0;
        return empty ? 0
                     : 1 + (n[0] - 1) * step[0] + (n[1] - 1) * step[1] + (n[2] - 1) * step[2] + (n[3] - 1) * step[3] +
                           (n[4] - 1) * step[4];
    }
};

// A GlobalTensor without its type, for code that is compiled once for all of them.
struct GlobalView {
    Layout layout;
    int64_t size;  // bytes of an element
    const void *data, *origin;
    uintptr_t moved;
    Sizes shape, stride;
};
template <class G>
PTO_INLINE GlobalView view_of(const G& g)
{
    constexpr int64_t size = static_cast<int64_t>(sizeof(typename G::RawDType));
    return {G::layout, size, g.data(), g.GetOrigin(), g.GetMoved(), g.GetShapes(), g.GetStrides()};
}

// GlobalLines as run-time numbers. Without NZ there are `count` lines of `length` elements, in groups of
// `group` with one stride within a group; a line is contiguous if `unit` is 1.
struct LineSizes : GlobalSizes {
    int64_t rows, cols, count, length, group, line_step, unit;
    int64_t span;  // from the first element to the end of the last one
};
constexpr LineSizes line_sizes(Layout layout, const int64_t (&shape)[5], const int64_t (&stride)[5])
{
    LineSizes made{};
    bool empty = false;
    made.span = 1;
    for (int i = 0; i < 5; ++i) {
        made.n[i] = shape[i];
        made.step[i] = stride[i];
        empty = empty || shape[i] <= 0;
        made.span += (shape[i] - 1) * stride[i];
    }
    made.span = empty ? 0 : made.span;
    const bool nd = layout == Layout::ND, nz = layout == Layout::NZ;
    const int line = nd ? 3 : 4, inner = 7 - line;
    made.group = shape[line], made.line_step = stride[line];
    made.length = shape[inner], made.unit = stride[inner];
    made.count = shape[0] * shape[1] * shape[2] * made.group;
    made.rows = nz ? shape[2] * shape[3] : nd ? made.count : made.length;
    made.cols = nz ? shape[0] * shape[1] * shape[4] : nd ? made.length : made.count;
    return made;
}
LineSizes line_sizes(const GlobalView& g);

// Those of a GlobalTensor without run-time sizes or strides, as most are.
template <class G>
constexpr LineSizes static_lines_v = line_sizes(G::layout, G::staticShape, G::staticStride);
template <class G>
PTO_INLINE decltype(auto) lines_of(const GlobalView& view)
{
    if constexpr (G::ShapeType::dynamic_count == 0 && G::StrideType::dynamic_count == 0) {
        return (static_lines_v<G>);
    } else {
        return line_sizes(view);
    }
}

// A region in memory: where it and its tensor begin, how many bytes it spans; its innermost lines are `width` elements of
// `size` bytes, `line` apart (0: unknown).
struct Region {
    uintptr_t begin, origin;
    int64_t bytes, size, line, width;
};

// True if the region is inside the tensor that the launcher named there, and its lines inside the lines of the tensor.
bool in_tensor(const Region& region);

// True if the region is inside a tensor that the launcher named; otherwise records an error that begins with `verb`. The
// innermost dimension is checked by in_tensor, as most tensors have two.
bool in_some_tensor(Region region, const Asked& asked, bool dn, bool flat);

bool inside(const GlobalView& g, const LineSizes& lines, const char* verb);

// Deferred loads that read what is about to be written are done first.
void before_write(const GlobalView& g, const LineSizes& lines);

// The tensor has moved since its last transfer: expect the same step again.
void expect_next(bool to_tile, const GlobalView& g, const LineSizes& lines);

// One element at a time.
void copy_elements(bool to_tile, int64_t size, const Places& tile, GlobalSizes g, Layout layout, Bytes* dst,
                   const Bytes* src, int64_t rows, int64_t cols);
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

// Boxes whose runs are equal to those of boxes in global memory.
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
PTO_INLINE void transfer(const RunOp& op, const LineSizes& g, D* dst, const S* src)
{
    using L = TileLines<Tl>;
    constexpr bool nz = G::layout == Layout::NZ;
    const int64_t rows = g.rows, cols = g.cols;
    if (rows <= 0 || cols <= 0) {
        return;
    }
    if constexpr (!nz && L::by_row == (G::layout == Layout::ND)) {
        if (__builtin_expect(g.unit == 1, 1)) {
            const int64_t length = g.length, group = g.group;
            int64_t first = 0;
            for (int64_t i = 0; i < g.n[0]; ++i) {
                for (int64_t j = 0; j < g.n[1]; ++j) {
                    for (int64_t k = 0; k < g.n[2]; ++k, first += group) {
                        const int64_t at = i * g.step[0] + j * g.step[1] + k * g.step[2];
                        D* d = dst + (ToTile ? 0 : at);
                        const S* s = src + (ToTile ? at : 0);
                        if constexpr (Tl::isBoxedLayout) {
                            copy_boxed<ToTile, L>(op, d, s, g.line_step, first, group, length);
                        } else if constexpr (ToTile) {
                            copy_lines(op, d + first * L::line_step, L::line_step, s, g.line_step, group, length);
                        } else {
                            copy_lines(op, d, g.line_step, s + first * L::line_step, L::line_step, group, length);
                        }
                    }
                }
            }
            return;
        }
    } else if constexpr (nz && L::by_row && Tl::isBoxedLayout) {
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

// True if a transfer may begin: the tile has an address and the tensor's sizes, and the region is in bounds.
bool is_ready(bool to_tile, const GlobalView& g, const LineSizes& lines, const void* tile, int64_t rows,
              int64_t cols);

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

// Carries out a deferred load.
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

// True if the load is deferred until the tile is read.
bool hold_lines(const void* tile, int64_t tile_bytes, uint64_t form, const void* src, int64_t step,
                int64_t count, int64_t bytes, void (*settle)(const Held&));

// What the types determine about a transfer that copies lines unchanged, between an ND or DN GlobalTensor and a tile with
// lines of the same direction. Nearly all transfers do, each with its own types; so the types make a table, and the code that
// reads it is compiled once. What few tiles need is called by address, so that the others do without the code.
struct LineCopy {
    int64_t line_step;  // bytes between the lines of a plain tile
    // For a boxed tile: copy_box_bytes.
    void (*boxes)(bool to_tile, Bytes* dst, const Bytes* src, int64_t plain_step, int64_t first, int64_t count, int64_t length,
                  const BoxSteps& box);
    BoxSteps box;
    // Where lines need not be contiguous: copy_elements.
    void (*elements)(bool to_tile, int64_t size, const Places& tile, GlobalSizes g, Layout layout, Bytes* dst,
                     const Bytes* src, int64_t rows, int64_t cols);
    const Places* places;
    // For a tile that may have deferred work: does that, or returns true if this load is deferred as well.
    bool (*deferred)(const LineCopy&, bool to_tile, const GlobalView&, const LineSizes&, void* tile);
    int64_t tile_bytes;
    uint64_t form;  // of a tile whose load may be deferred, else 0
    void (*settle)(const Held&);
};

bool deferred_lines(const LineCopy& kind, bool to_tile, const GlobalView& g, const LineSizes& lines, void* tile);

template <class Tl, Layout L>
constexpr bool copies_lines()
{
    using Lines = TileLines<Tl>;
    constexpr int64_t run = Lines::run * static_cast<int64_t>(sizeof(elem_t<Tl>));
    return L != Layout::NZ && Lines::by_row == (L == Layout::ND) &&
           (!Tl::isBoxedLayout || (Lines::line_step == Lines::run && (run == 32 || run == 64)));
}
template <class Tl, bool Contiguous>
constexpr LineCopy line_copy()
{
    using Lines = TileLines<Tl>;
    using T = elem_t<Tl>;
    constexpr int64_t size = static_cast<int64_t>(sizeof(T));
    LineCopy made{Lines::line_step * size, nullptr, {0, 0, 0}, nullptr, nullptr, nullptr, 0, 0, nullptr};
    if constexpr (Tl::isBoxedLayout) {
        made.boxes = copy_box_bytes<Lines::run * size>;
        made.box = box_steps_v<Lines, T>;
    }
    if constexpr (!Contiguous) {
        made.elements = copy_elements;
        made.places = &places_v<Tl>;
    }
    if constexpr (!at_v<Tl, TileType::Vec, TileType::Acc>) {
        made.deferred = deferred_lines;
        made.tile_bytes = Tl::StorageNumel * size;
        if constexpr (line_boxes_v<Tl> && Tl::PadVal == PadValue::Null) {
            made.form = line_form<Tl>();
            made.settle = settle_load<Tl>;
        }
    }
    return made;
}
template <class Tl, bool Contiguous>
constexpr LineCopy line_copy_v = line_copy<Tl, Contiguous>();

bool copy_by_lines(bool to_tile, const LineCopy& kind, const GlobalView& g, const LineSizes& lines, void* address,
                   int64_t rows, int64_t cols);

// A whole transfer; true if it is done. `op` is the operation on runs that are copied.
template <bool ToTile, class To, class From, class Tl, class G, class RunOp>
PTO_INLINE bool transfer_all(const RunOp& op, Tl& tile, G& g)
{
    const GlobalView view = view_of(g);
    const LineSizes& lines = lines_of<G>(view);
    if constexpr (is_copy_v<RunOp> && copies_lines<Tl, G::layout>()) {
        constexpr bool contiguous = G::staticStride[G::layout == Layout::ND ? 4 : 3] == 1;
        return copy_by_lines(ToTile, line_copy_v<Tl, contiguous>, view, lines, tile.GetAddress(), tile.GetValidRow(),
                             tile.GetValidCol());
    } else {
        if (!is_ready(ToTile, view, lines, tile.GetAddress(), tile.GetValidRow(), tile.GetValidCol())) {
            return false;
        }
        if constexpr (ToTile) {
            transfer<true, Tl, G>(op, lines, elements(tile), reinterpret_cast<const From*>(g.data()));
        } else {
            before_write(view, lines);
            transfer<false, Tl, G>(op, lines, reinterpret_cast<To*>(g.data()), static_cast<const From*>(elements(tile)));
        }
        if constexpr (G::layout != Layout::NZ) {
            expect_next(ToTile, view, lines);
        }
        return true;
    }
}

// Where the reader of a deferred load finds the element at (row, col): nullptr if there is none, or carrying it out pays.
struct Waiting {
    const char* from;
    int64_t step;  // bytes between lines
};
Waiting waiting_lines(const void* tile, uint64_t form, int64_t line, int64_t lines, int64_t pos,
                      int64_t bytes);
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
        constexpr bool copies = std::is_same<From, To>::value || (std::is_integral<From>::value && std::is_integral<To>::value);
        bool done = false;
        if constexpr (sizeof(From) == sizeof(To) && copies) {
            done = transfer_all<true, To, To>(CopyRun<To>{}, d, g);
        } else if constexpr (sizeof(From) == sizeof(To)) {
            done = transfer_all<true, To, From>(CastRun<To, From, false, false>{}, d, g);
        }
        if constexpr (D::PadVal != PadValue::Null) {
            if (done) {
                fill_outside<D>(elements(d), d.GetValidRow(), d.GetValidCol(), pad_element<D>());
            }
        }
        fence();
    }
    return {};
}

// Prefetches g. The device moves it through the tile, which is the buffer of the transfer: the tile's contents are undefined
// afterwards.
template <class D, class G, class... E>
PTO_LIGHT RecordEvent TPREFETCH(D& d, G& g, E&... events)
{
    return TLOAD(d, g, events...);
}

namespace detail {

// The operand rules of TSTORE. Quant tells whether a quant value is given.
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
    fence();
    transfer_all<false, stored_t<typename G::RawDType>, elem_t<S>>(op, s, g);
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
