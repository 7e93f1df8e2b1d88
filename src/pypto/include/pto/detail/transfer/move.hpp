// Moves between tiles: TMOV, TRESHAPE, TSUBVIEW, TFILLPAD, TTRANS.
#ifndef PTO_DETAIL_MOVE_HPP
#define PTO_DETAIL_MOVE_HPP

#include "../matrix/matrix_operands.hpp"

namespace pto {

namespace detail {

template <class D, class S>
constexpr bool move_path_v = (at_v<S, TileType::Mat> &&
                              at_v<D, TileType::Left, TileType::Right, TileType::Bias, TileType::Scaling>) ||
                             (at_v<S, TileType::Vec> && at_v<D, TileType::Vec>) ||
                             (at_v<S, TileType::Acc> && at_v<D, TileType::Mat>);

// d(r, c) = op(s(r, c)) between tiles of different element types.
template <class D, class S, class RunOp>
PTO_NOINLINE void move_cast(RunOp op, elem_t<D>* dst, const elem_t<S>* src, int64_t rows, int64_t cols)
{
    using DL = TileLines<D>;
    using SL = TileLines<S>;
    constexpr int64_t step = min_of<int64_t>(DL::run, SL::run);
    if constexpr (DL::by_row == SL::by_row && DL::run % step == 0 && SL::run % step == 0) {
        const int64_t count = DL::by_row ? rows : cols, length = DL::by_row ? cols : rows;
        for (int64_t line = 0; line < count; ++line) {
            for (int64_t pos = 0; pos < length; pos += step) {
                op(dst + DL::offset(line, pos), src + SL::offset(line, pos), min_of(step, length - pos));
            }
        }
    } else {
        for (int64_t r = 0; r < rows; ++r) {
            for (int64_t c = 0; c < cols; ++c) {
                op(dst + D::offset(r, c), src + S::offset(r, c), 1);
            }
        }
    }
}

template <ReluPreMode Relu, class D, class S>
PTO_INLINE RecordEvent move(D& d, S& s)
{
    static_assert(is_tile_data_v<D> && is_tile_data_v<S>, "TMOV: operands must be tiles");
    PTO_NPU_RULE((move_path_v<D, S>), "TMOV: no such path (Mat to Left, Right, Bias or Scaling; Vec to Vec; Acc to Mat)");
    PTO_NPU_RULE((same_physical_v<D, S>), "TMOV: both tiles must have the same rows and columns");
    PTO_NPU_RULE((Relu == ReluPreMode::NoRelu || at_v<S, TileType::Acc>), "TMOV: relu is for Acc tiles");
    PTO_NPU_RULE((same_element_v<D, S> || at_v<S, TileType::Acc> || at_v<D, TileType::Bias, TileType::Scaling>),
                 "TMOV: both tiles must have the same element type");
    PTO_NPU_RULE((!at_v<D, TileType::Bias> || D::Rows == 1), "TMOV: a Bias tile has one row");
    PTO_NPU_RULE((!at_v<D, TileType::Left> || !is_nd_v<S> ||
                  (S::Rows == 1 && (S::Cols * sizeof(typename S::DType)) % 512 == 0)),
                 "TMOV: a Mat tile without boxes moves to Left as one row of a multiple of 512 bytes");
    PTO_NPU_RULE((!at_v<D, TileType::Bias> || (D::Cols * sizeof(typename D::DType)) % 64 == 0),
                 "TMOV: a Bias tile must be a multiple of 64 bytes wide");
    fence();
    const int rows = d.GetValidRow(), cols = d.GetValidCol();
    if (addressed(d, s) &&
        require(s.GetValidRow() == rows && s.GetValidCol() == cols, "TMOV: the valid sizes of both tiles differ")) {
        if constexpr (same_element_v<D, S> && Relu == ReluPreMode::NoRelu) {
            if (!fill_operand(d, s, 0, 0, rows, cols)) {
                move_tile<D, S>(elements(d), elements(s), rows, cols);
            }
        } else {
            const CastRun<elem_t<D>, elem_t<S>, Relu == ReluPreMode::NormalRelu, false> op{};
            move_cast<D, S>(op, elements(d), elements(s), rows, cols);
        }
    }
    fence();
    return {};
}

}  // namespace detail

// d(r, c) = s(r, c): a logical copy, whatever the layouts.
template <class D, class S, ReluPreMode Relu = ReluPreMode::NoRelu, class... E, detail::if_events<E...> = 0>
PTO_LIGHT RecordEvent TMOV(D& d, S& s, E&... events)
{
    detail::wait_all(events...);
    return detail::move<Relu>(d, s);
}

// Acc to Mat with a scalar quant value.
template <class D, class S, ReluPreMode Relu = ReluPreMode::NoRelu>
PTO_LIGHT RecordEvent TMOV(D& d, S& s, const uint64_t& quant)
{
    using namespace detail;
    static_assert(is_tile_data_v<D> && is_tile_data_v<S>, "TMOV: operands must be tiles");
    static_assert(at_v<S, TileType::Acc>, "TMOV: a quant value is for Acc tiles");
    PTO_NPU_RULE((at_v<D, TileType::Mat>), "TMOV: an Acc tile moves to a Mat tile");
    PTO_NPU_RULE((same_physical_v<D, S>), "TMOV: both tiles must have the same rows and columns");
    fence();
    const int rows = d.GetValidRow(), cols = d.GetValidCol();
    if (addressed(d, s) &&
        require(s.GetValidRow() == rows && s.GetValidCol() == cols, "TMOV: the valid sizes of both tiles differ")) {
        const QuantRun<elem_t<D>, elem_t<S>, Relu == ReluPreMode::NormalRelu, false> op(quant);
        move_cast<D, S>(op, elements(d), elements(s), rows, cols);
    }
    fence();
    return {};
}

// d becomes a view of s's bytes; nothing is copied. d keeps its own valid size.
template <class D, class S, class... E>
PTO_INSTRUCTION RecordEvent TRESHAPE(D& d, S& s, E&... events)
{
    using namespace detail;
    static_assert(is_tile_data_v<D> && is_tile_data_v<S>, "TRESHAPE: operands must be tiles");
    static_assert(D::Loc == S::Loc, "TRESHAPE: both tiles must have the same location");
    static_assert(D::Numel * sizeof(typename D::DType) == S::Numel * sizeof(typename S::DType),
                  "TRESHAPE: both tiles must have the same number of bytes");
    static_assert(D::isBoxedLayout == S::isBoxedLayout, "TRESHAPE: cannot change between boxed and unboxed layouts");
    using DT = typename D::DType;
    using ST = typename S::DType;
    static_assert(std::is_same<DT, ST>::value || (std::is_integral<DT>::value && std::is_integral<ST>::value) ||
                      (is_narrow_v<DT> && is_narrow_v<ST>),
                  "TRESHAPE: element types must be compatible (equal, both integer, or both 16-bit float)");
    wait_all(events...);
    d.SetAddress(reinterpret_cast<typename D::DType*>(s.GetAddress()));
    return {};
}

// d becomes the part of s that begins at (row, col); nothing is copied. d keeps its own valid size and its own row stride,
// so it is correct only if it is one line, or as wide as s.
template <class D, class S, class... E>
PTO_INSTRUCTION RecordEvent TSUBVIEW(D& d, S& s, const uint64_t& row, const uint64_t& col, E&... events)
{
    using namespace detail;
    static_assert(is_tile_data_v<D> && is_tile_data_v<S>, "TSUBVIEW: operands must be tiles");
    static_assert(D::Loc == S::Loc, "TSUBVIEW: both tiles must have the same location");
    static_assert(same_element_v<D, S>, "TSUBVIEW: both tiles must have the same element type");
    static_assert(!D::isBoxedLayout && !S::isBoxedLayout && D::isRowMajor == S::isRowMajor,
                  "TSUBVIEW: both tiles must have the same plain layout");
    wait_all(events...);
    using T = elem_t<D>;
    const bool inside = row <= static_cast<uint64_t>(S::Rows) && col <= static_cast<uint64_t>(S::Cols) &&
                        static_cast<uint64_t>(d.GetValidRow()) <= S::Rows - row &&
                        static_cast<uint64_t>(d.GetValidCol()) <= S::Cols - col;
    d.SetAddress(nullptr);
    if (addressed(s) && require(inside, "TSUBVIEW: the part does not lie inside the tile")) {
        const uint64_t offset = row * S::RowStride + col * S::ColStride;
        if (offset * sizeof(T) % kTileAlign != 0) {
            record_error(kBadAddress, "TSUBVIEW: the part does not begin at a multiple of 32 bytes");
        } else {
            d.SetAddress(s.GetAddress() + offset);
        }
    }
    return {};
}

namespace detail {

template <class Tl, class T>
struct RecastTile;
template <class T, TileType L, class Old, int R, int C, BLayout B, int VR, int VC, SLayout S, int F, PadValue P,
          CompactMode M>
struct RecastTile<Tile<L, Old, R, C, B, VR, VC, S, F, P, M>, T> {
    using type = Tile<L, T, R, C, B, VR, VC, S, F, P, M>;
};
// The tile type with elements T.
template <class Tl, class T>
using Recast = typename RecastTile<Tl, T>::type;

}  // namespace detail

// d = s where s is valid, the pad value of d's type elsewhere.
template <TFillPadMode Mode = TFillPadMode::Normal, class D, class S, class... E, detail::if_tiles<D, S> = 0>
PTO_INSTRUCTION RecordEvent TFILLPAD(D& d, S& s, E&... events)
{
    using namespace detail;
    static_assert(D::PadVal != PadValue::Null, "TFILLPAD: the destination must have a pad value");
    static_assert(Mode == TFillPadMode::Expand ? D::Rows >= S::Rows && D::Cols >= S::Cols : same_physical_v<D, S>,
                  "TFILLPAD: both tiles must have the same rows and columns");
    static_assert(sizeof(typename D::DType) == sizeof(typename S::DType),
                  "TFILLPAD: both tiles must have the same element type");
    PTO_NPU_RULE((same_element_v<D, S>), "TFILLPAD: both tiles must have the same element type");
    static_assert(!at_v<D, TileType::Mat> || std::is_same<D, S>::value, "TFILLPAD: Mat tiles must be of one type");
    static_assert(sizeof(typename D::DType) <= 4, "TFILLPAD: elements must have 1, 2 or 4 bytes");
    PTO_NPU_RULE((at_v<D, TileType::Vec> && at_v<S, TileType::Vec>) ||
                     (at_v<D, TileType::Mat> && at_v<S, TileType::Mat>),
                 "TFILLPAD: both tiles must be Vec tiles or both Mat tiles");
    PTO_NPU_RULE((at_v<D, TileType::Mat> || (is_nd_v<D> && is_nd_v<S>)),
                 "TFILLPAD: Vec tiles must be RowMajor without boxes");
    PTO_NPU_RULE((!at_v<D, TileType::Mat> || (is_nz_v<D> && is_nz_v<S> && D::PadVal == PadValue::Zero)),
                 "TFILLPAD: Mat tiles must be Nz and are filled with zeros");
    wait_all(events...);
    fence();
    const int rows = s.GetValidRow(), cols = s.GetValidCol();
    if (addressed(d, s)) {
        if constexpr (Mode != TFillPadMode::InPlace) {
            using From = elem_t<S>;  // the same size as that of d: the bits are copied
            move_tile<Recast<D, From>, S>(reinterpret_cast<From*>(elements(d)), elements(s), rows, cols);
        }
        fill_outside<D>(elements(d), rows, cols, pad_element<D>());
    }
    fence();
    return {};
}

// d is another handle to the bytes of s.
template <class D, class S, class... E, detail::if_tiles<D, S> = 0>
PTO_INSTRUCTION RecordEvent TFILLPAD_INPLACE(D& d, S& s, E&... events)
{
    static_assert(detail::at_v<D, TileType::Vec> && detail::at_v<S, TileType::Vec>,
                  "TFILLPAD_INPLACE: both tiles must be Vec tiles");
    return TFILLPAD<TFillPadMode::InPlace>(d, s, events...);
}
// d may have more rows and columns than s.
template <class D, class S, class... E, detail::if_tiles<D, S> = 0>
PTO_INSTRUCTION RecordEvent TFILLPAD_EXPAND(D& d, S& s, E&... events)
{
    static_assert(detail::at_v<D, TileType::Vec> && detail::at_v<S, TileType::Vec>,
                  "TFILLPAD_EXPAND: both tiles must be Vec tiles");
    return TFILLPAD<TFillPadMode::Expand>(d, s, events...);
}

// d(c, r) = s(r, c); the scratch tile is for the NPU.
template <class D, class S, class T, class... E, detail::if_tiles<D, S, T> = 0>
PTO_INSTRUCTION RecordEvent TTRANS(D& d, S& s, T&, E&... events)
{
    using namespace detail;
    static_assert(sizeof(typename D::DType) == sizeof(typename S::DType),
                  "TTRANS: element sizes of source and destination must be equal");
    static_assert(D::ValidRow == S::ValidCol && D::ValidCol == S::ValidRow,
                  "TTRANS: the static valid sizes of source and destination must mirror each other");
    PTO_NPU_RULE((at_v<D, TileType::Vec> && at_v<S, TileType::Vec>), "TTRANS: both tiles must be Vec tiles");
    PTO_NPU_RULE((same_element_v<D, S>), "TTRANS: both tiles must have the same element type");
    PTO_NPU_RULE(is_nd_v<D> && is_nd_v<S>, "TTRANS: both tiles must be RowMajor without boxes");
    wait_all(events...);
    fence();
    const int rows = s.GetValidRow(), cols = s.GetValidCol();
    if (addressed(d, s) && require(d.GetValidRow() == cols && d.GetValidCol() == rows,
                                   "TTRANS: the valid sizes of both tiles must mirror each other")) {
        using To = elem_t<D>;
        const To* src = reinterpret_cast<const To*>(s.data());
        const int64_t bytes = S::StorageNumel * static_cast<int64_t>(sizeof(To));
        const To* const end = src + S::StorageNumel;
        if (elements(d) < end && src < elements(d) + D::StorageNumel) {  // in place: read from a copy
            unsigned char* copy = work_buffer(bytes);
            if (copy == nullptr) {
                return {};
            }
            std::memcpy(copy, src, static_cast<std::size_t>(bytes));
            src = reinterpret_cast<const To*>(copy);
        }
        if constexpr (is_nd_v<D> && is_nd_v<S>) {
            transpose_lines(elements(d), D::Cols, src, S::Cols, rows, cols);
        } else {
            for (int r = 0; r < rows; ++r) {
                for (int c = 0; c < cols; ++c) {
                    elements(d)[D::offset(c, r)] = src[S::offset(r, c)];
                }
            }
        }
    }
    fence();
    return {};
}

}  // namespace pto

#endif
