// Tile: a handle to a 2-D block in on-chip memory. Static layout and sizes, static or run-time valid region, one pointer.
// Also the formulas that place element (r, c) in each layout.
#ifndef PTO_DETAIL_TILE_HPP
#define PTO_DETAIL_TILE_HPP

#include "deferred.hpp"
#include "types.hpp"

namespace pto {

namespace detail {

PTO_INLINE int checked_valid(uint64_t given, int physical)
{
    if (__builtin_expect(given > static_cast<uint64_t>(physical), 0)) {
        record_error(kBadValidShape, "tile: valid size larger than the physical size");
        return physical;
    }
    return static_cast<int>(given);
}

// Rows and columns of one box (fractal).
template <class T, SLayout Inner, int Fractal>
struct Box {
    static constexpr int c0 = 32 / static_cast<int>(sizeof(T));
    static constexpr bool boxed = Inner != SLayout::NoneBox;
    static constexpr int rows = Fractal == 1024               ? 16
                                : !boxed                      ? 1
                                : Fractal == 32               ? (Inner == SLayout::RowMajor ? 16 : 2)
                                : Inner == SLayout::RowMajor  ? 16
                                                              : c0;
    static constexpr int cols = Fractal == 1024               ? 16
                                : !boxed                      ? 1
                                : Fractal == 32               ? (Inner == SLayout::RowMajor ? 2 : 16)
                                : Inner == SLayout::RowMajor  ? c0
                                                              : 16;
};

}  // namespace detail

template <TileType Loc_, class Element, int Rows_, int Cols_, BLayout BFractal_ = BLayout::RowMajor,
          int ValidRow_ = Rows_, int ValidCol_ = Cols_, SLayout SFractal_ = SLayout::NoneBox, int FractalBytes_ = 512,
          PadValue PadVal_ = PadValue::Null, CompactMode Compact_ = CompactMode::Null>
struct Tile {
    using DType = Element;
    using TileDType = Element*;
    using BoxType = detail::Box<Element, SFractal_, FractalBytes_>;

    static constexpr TileType Loc = Loc_;
    static constexpr int Rows = Rows_;
    static constexpr int Cols = Cols_;
    static constexpr int Numel = Rows_ * Cols_;
    static constexpr int ValidRow = ValidRow_;
    static constexpr int ValidCol = ValidCol_;
    static constexpr BLayout BFractal = BFractal_;
    static constexpr SLayout SFractal = SFractal_;
    static constexpr int SFractalSize = FractalBytes_;
    static constexpr PadValue PadVal = PadVal_;
    static constexpr CompactMode Compact = Compact_;
    static constexpr bool isRowMajor = BFractal_ == BLayout::RowMajor;
    static constexpr bool isBoxedLayout = SFractal_ != SLayout::NoneBox;
    static constexpr bool isInnerRowMajor = SFractal_ == SLayout::RowMajor;
    static constexpr bool isInnerColMajor = SFractal_ == SLayout::ColMajor;
    static constexpr int InnerRows = BoxType::rows;
    static constexpr int InnerCols = BoxType::cols;
    static constexpr int InnerNumel = InnerRows * InnerCols;
    static constexpr int RowStride = isRowMajor ? Cols_ : 1;
    static constexpr int ColStride = isRowMajor ? 1 : Rows_;

    static_assert(Rows_ > 0 && Cols_ > 0, "Tile: rows and columns must be positive");
    static_assert(ValidRow_ <= Rows_ && ValidCol_ <= Cols_, "Tile: valid size must not exceed the physical size");
    static_assert(FractalBytes_ == 512 || FractalBytes_ == 1024 || FractalBytes_ == 32,
                  "Tile: fractal size must be 512, 1024 or 32 bytes");
    static_assert(isBoxedLayout || !isRowMajor || (Cols_ * sizeof(Element)) % 32 == 0,
                  "Tile: a row of a RowMajor tile must be a multiple of 32 bytes");
    static_assert(isBoxedLayout || isRowMajor || (Rows_ * sizeof(Element)) % 32 == 0,
                  "Tile: a column of a ColMajor tile must be a multiple of 32 bytes");
    static_assert(!isBoxedLayout || Cols_ % InnerCols == 0, "Tile: columns must be a multiple of the box columns");
    static_assert(!isBoxedLayout || Rows_ % InnerRows == 0 || Loc_ == TileType::Vec || Rows_ == 1 ||
                      FractalBytes_ == 32,
                  "Tile: rows must be a multiple of the box rows");

    int RowMaskInternal;
    int ColMaskInternal;

    PTO_INLINE Tile() : RowMaskInternal(ValidRow_ < 0 ? 0 : ValidRow_), ColMaskInternal(ValidCol_ < 0 ? 0 : ValidCol_) {}

    template <int R = ValidRow_, int C = ValidCol_, std::enable_if_t<R == DYNAMIC && C == DYNAMIC, int> = 0>
    PTO_INLINE Tile(uint64_t valid_row, uint64_t valid_col)
        : RowMaskInternal(detail::checked_valid(valid_row, Rows_)),
          ColMaskInternal(detail::checked_valid(valid_col, Cols_))
    {
    }
    template <int R = ValidRow_, int C = ValidCol_, std::enable_if_t<(R == DYNAMIC) != (C == DYNAMIC), int> = 0>
    PTO_INLINE Tile(uint64_t valid)
        : RowMaskInternal(R == DYNAMIC ? detail::checked_valid(valid, Rows_) : R),
          ColMaskInternal(C == DYNAMIC ? detail::checked_valid(valid, Cols_) : C)
    {
    }

    template <int R = ValidRow_, std::enable_if_t<R != DYNAMIC, int> = 0>
    static PTO_INLINE constexpr int GetValidRow()
    {
        return R;
    }
    template <int R = ValidRow_, std::enable_if_t<R == DYNAMIC, int> = 0>
    PTO_INLINE int GetValidRow() const
    {
        return RowMaskInternal;
    }
    template <int C = ValidCol_, std::enable_if_t<C != DYNAMIC, int> = 0>
    static PTO_INLINE constexpr int GetValidCol()
    {
        return C;
    }
    template <int C = ValidCol_, std::enable_if_t<C == DYNAMIC, int> = 0>
    PTO_INLINE int GetValidCol() const
    {
        return ColMaskInternal;
    }

    void SetValidRow(uint64_t valid_row)
    {
        static_assert(ValidRow_ == DYNAMIC, "SetValidRow: the valid rows of this tile are static");
        RowMaskInternal = detail::checked_valid(valid_row, Rows_);
    }
    void SetValidCol(uint64_t valid_col)
    {
        static_assert(ValidCol_ == DYNAMIC, "SetValidCol: the valid columns of this tile are static");
        ColMaskInternal = detail::checked_valid(valid_col, Cols_);
    }
    void SetValidShape(uint64_t valid_row, uint64_t valid_col)
    {
        static_assert(ValidRow_ == DYNAMIC && ValidCol_ == DYNAMIC,
                      "SetValidShape: both valid sizes of the tile must be dynamic");
        SetValidRow(valid_row);
        SetValidCol(valid_col);
    }

    PTO_INLINE Element*& data()
    {
        settle();
        return data_;
    }
    PTO_INLINE Element* data() const
    {
        settle();
        return data_;
    }
    // The pointer for callers that do not access the bytes (CPU only).
    PTO_INLINE Element* GetAddress() const { return data_; }
    PTO_INLINE void SetAddress(Element* data) { data_ = data; }

    // Raw storage index, Vec tiles only (as on the NPU).
    Element GetValue(uint64_t index) const
    {
        static_assert(Loc_ == TileType::Vec, "GetValue: only Vec tiles have scalar access");
        return in_range(index) ? data_[index] : Element();
    }
    void SetValue(uint64_t index, Element value)
    {
        static_assert(Loc_ == TileType::Vec, "SetValue: only Vec tiles have scalar access");
        if (in_range(index)) {
            data_[index] = value;
        }
    }
    // Logical index (CPU only).
    Element GetElement(int r, int c) const { return GetAt(offset(r, c)); }
    void SetElement(int r, int c, Element value)
    {
        const int64_t index = offset(r, c);
        if (in_range(static_cast<uint64_t>(index))) {
            data()[index] = value;
        }
    }
    static constexpr int64_t GetSizeInBytes() { return static_cast<int64_t>(Numel) * sizeof(Element); }

    void SetKAligned(bool aligned) { k_aligned_ = aligned; }
    bool GetKAligned() const { return k_aligned_; }

    // Box rows and columns as stored: a tile shorter than a box is packed without gaps.
    static constexpr int BoxRows = InnerRows < Rows_ ? InnerRows : Rows_;
    static constexpr int BoxCols = InnerCols < Cols_ ? InnerCols : Cols_;

    // Whether the rows of a box are contiguous, or its columns. The Zn boxes of a Right tile are stored row by row, as the
    // multiply kernel reads them: only it can access this memory, and box by box it is that of the NPU.
    static constexpr bool kStoredByRow =
        isInnerRowMajor || (Loc_ == TileType::Right && isBoxedLayout && FractalBytes_ == 512);

    // Element offset of (r, c).
    static constexpr int64_t offset(int64_t r, int64_t c)
    {
        if (!isBoxedLayout) {
            return isRowMajor ? r * Cols_ + c : c * Rows_ + r;
        }
        const int64_t br = r / BoxRows, ir = r % BoxRows, bc = c / BoxCols, ic = c % BoxCols;
        const int64_t outer = isRowMajor ? br * Cols_ * BoxRows + bc * BoxRows * BoxCols
                                         : bc * Rows_ * BoxCols + br * BoxRows * BoxCols;
        return outer + (kStoredByRow ? ir * BoxCols + ic : ic * BoxRows + ir);
    }
    // Elements from the first to the last one; larger than Numel only where rows do not fill the last box.
    static constexpr int64_t StorageNumel = detail::round_up(Rows_, isBoxedLayout ? BoxRows : 1) * Cols_;

private:
    bool in_range(uint64_t index) const
    {
        if (data_ == nullptr || index >= static_cast<uint64_t>(StorageNumel)) {
            detail::record_error(detail::kBadAddress, "scalar access outside the tile");
            return false;
        }
        return true;
    }
    Element GetAt(int64_t index) const
    {
        return in_range(static_cast<uint64_t>(index)) ? data()[index] : Element();
    }
    PTO_INLINE void settle() const
    {
        if constexpr (Loc_ == TileType::Mat || Loc_ == TileType::Left || Loc_ == TileType::Right) {
            detail::settle(data_, StorageNumel * static_cast<int64_t>(sizeof(Element)));
        }
    }

    Element* data_ = nullptr;
    bool k_aligned_ = false;
};

template <class T, int Rows, int Cols, int ValidRow = Rows, int ValidCol = Cols>
using TileLeft = Tile<TileType::Left, T, Rows, Cols, BLayout::RowMajor, ValidRow, ValidCol, SLayout::RowMajor, 512>;
template <class T, int Rows, int Cols, int ValidRow = Rows, int ValidCol = Cols>
using TileRight = Tile<TileType::Right, T, Rows, Cols, BLayout::RowMajor, ValidRow, ValidCol, SLayout::ColMajor, 512>;
template <class T, int Rows, int Cols, int ValidRow = Rows, int ValidCol = Cols>
using TileAcc = Tile<TileType::Acc, T, Rows, Cols, BLayout::ColMajor, ValidRow, ValidCol, SLayout::RowMajor, 1024>;
template <class T, int Rows, int Cols, int ValidRow = Rows, int ValidCol = Cols>
using TileLeftCompact = Tile<TileType::Left, T, Rows, Cols, BLayout::RowMajor, ValidRow, ValidCol, SLayout::RowMajor,
                             512, PadValue::Null, CompactMode::Normal>;
template <class T, int Rows, int Cols, int ValidRow = Rows, int ValidCol = Cols>
using TileRightCompact = Tile<TileType::Right, T, Rows, Cols, BLayout::RowMajor, ValidRow, ValidCol, SLayout::ColMajor,
                              512, PadValue::Null, CompactMode::Normal>;
template <class T, int Rows, int Cols, int ValidRow = Rows, int ValidCol = Cols>
using TileAccCompact = Tile<TileType::Acc, T, Rows, Cols, BLayout::ColMajor, ValidRow, ValidCol, SLayout::RowMajor,
                            1024, PadValue::Null, CompactMode::Normal>;

}  // namespace pto

#endif
