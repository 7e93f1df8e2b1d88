// Shape, Stride and GlobalTensor: a typed 5-D view of global memory, outermost dimension first, strides in elements.
#ifndef PTO_DETAIL_GLOBAL_HPP
#define PTO_DETAIL_GLOBAL_HPP

#include "enums.hpp"
#include "types.hpp"

namespace pto {

namespace detail {

// Five sizes or strides in elements, outermost first: each static, or (-1) the value beside it.
struct Sizes {
    const int64_t *fixed, *value;
    PTO_INLINE int64_t operator[](int dim) const { return fixed[dim] == DYNAMIC ? value[dim] : fixed[dim]; }
};

// Five sizes, each static or (-1) given at run time. Shape and Stride differ only in name, so that one cannot be passed for
// the other.
template <int64_t N1, int64_t N2, int64_t N3, int64_t N4, int64_t N5>
struct Dims5 {
    static constexpr int64_t fixed[5] = {N1, N2, N3, N4, N5};
    static constexpr int dynamic_count =
        (N1 == DYNAMIC) + (N2 == DYNAMIC) + (N3 == DYNAMIC) + (N4 == DYNAMIC) + (N5 == DYNAMIC);

    int64_t value[5];

    PTO_INLINE Dims5() : value{1, 1, 1, 1, 1} {}
    PTO_INLINE Dims5(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e) : value{a, b, c, d, e} {}

    template <class... Given>
    PTO_INLINE void fill(Given... given)
    {
        const int64_t list[] = {static_cast<int64_t>(given)...};
        int next = 0;
        for (int i = 0; i < 5; ++i) {
            value[i] = fixed[i] == DYNAMIC ? list[next++] : fixed[i];
        }
    }
    PTO_INLINE int64_t get(int dim) const { return fixed[dim] == DYNAMIC ? value[dim] : fixed[dim]; }
};

}  // namespace detail

#define PTO_DETAIL_DIMS(NAME, ARRAY)                                                                                   \
    template <int64_t N1 = DYNAMIC, int64_t N2 = DYNAMIC, int64_t N3 = DYNAMIC, int64_t N4 = DYNAMIC,                  \
              int64_t N5 = DYNAMIC>                                                                                    \
    struct NAME : detail::Dims5<N1, N2, N3, N4, N5> {                                                                  \
        using Base = detail::Dims5<N1, N2, N3, N4, N5>;                                                                \
        static constexpr int64_t ARRAY[5] = {N1, N2, N3, N4, N5};                                                      \
        PTO_INLINE NAME() {}                                                                                           \
        PTO_INLINE NAME(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e) : Base(a, b, c, d, e) {}                \
        NAME(int64_t a)                                                                                                \
        {                                                                                                              \
            static_assert(Base::dynamic_count == 1, #NAME ": one argument needs exactly 1 dynamic dimension");         \
            Base::fill(a);                                                                                             \
        }                                                                                                              \
        NAME(int64_t a, int64_t b)                                                                                     \
        {                                                                                                              \
            static_assert(Base::dynamic_count == 2, #NAME ": two arguments need exactly 2 dynamic dimensions");        \
            Base::fill(a, b);                                                                                          \
        }                                                                                                              \
        NAME(int64_t a, int64_t b, int64_t c)                                                                          \
        {                                                                                                              \
            static_assert(Base::dynamic_count == 3, #NAME ": three arguments need exactly 3 dynamic dimensions");      \
            Base::fill(a, b, c);                                                                                       \
        }                                                                                                              \
        NAME(int64_t a, int64_t b, int64_t c, int64_t d)                                                               \
        {                                                                                                              \
            static_assert(Base::dynamic_count == 4, #NAME ": four arguments need exactly 4 dynamic dimensions");       \
            Base::fill(a, b, c, d);                                                                                    \
        }                                                                                                              \
    };

PTO_DETAIL_DIMS(Shape, staticShape)
PTO_DETAIL_DIMS(Stride, staticStride)
#undef PTO_DETAIL_DIMS

template <class Element, class Shape_, class Stride_, Layout Layout_ = Layout::ND>
struct GlobalTensor {
    using DType = Element;
    using RawDType = std::remove_cv_t<Element>;
    using ShapeType = Shape_;
    using StrideType = Stride_;
    static constexpr Layout layout = Layout_;
    static_assert(sizeof(Shape_::staticShape) > 0, "GlobalTensor: the second argument must be a Shape");
    static_assert(sizeof(Stride_::staticStride) > 0, "GlobalTensor: the third argument must be a Stride");
    static constexpr const int64_t (&staticShape)[5] = Shape_::staticShape;
    static constexpr const int64_t (&staticStride)[5] = Stride_::staticStride;

    PTO_INLINE GlobalTensor() : data_(nullptr), origin_(nullptr) {}
    PTO_INLINE GlobalTensor(DType* data, Shape_ shape = Shape_(1, 1, 1, 1, 1), Stride_ stride = Stride_(1, 1, 1, 1, 1))
        : data_(data), origin_(data), shape_(shape), stride_(stride)
    {
    }

    PTO_INLINE DType* data() const { return data_; }
    PTO_INLINE void SetAddress(DType* data)
    {
        moved_ = reinterpret_cast<uintptr_t>(data) - reinterpret_cast<uintptr_t>(data_);
        data_ = data;
    }
    // Bytes that the last SetAddress moved the tensor by (CPU only, modulo 2^64).
    PTO_INLINE uintptr_t GetMoved() const { return moved_; }
    // The pointer that the tensor was made with, all sizes and all strides (CPU only).
    DType* GetOrigin() const { return origin_; }
    detail::Sizes GetShapes() const { return {Shape_::fixed, shape_.value}; }
    detail::Sizes GetStrides() const { return {Stride_::fixed, stride_.value}; }

    PTO_INLINE int64_t GetShape(int dim) const { return shape_.get(dim); }
    PTO_INLINE int64_t GetStride(int dim) const { return stride_.get(dim); }
    template <int Dim>
    static constexpr int64_t GetShape()
    {
        static_assert(Dim >= 0 && Dim < 5, "GetShape: only dimensions 0-4 exist");
        constexpr int64_t value = Shape_::staticShape[Dim >= 0 && Dim < 5 ? Dim : 0];
        static_assert(value != DYNAMIC, "GetShape: this dimension is dynamic");
        return value;
    }
    template <int Dim>
    static constexpr int64_t GetStride()
    {
        static_assert(Dim >= 0 && Dim < 5, "GetStride: only dimensions 0-4 exist");
        constexpr int64_t value = Stride_::staticStride[Dim >= 0 && Dim < 5 ? Dim : 0];
        static_assert(value != DYNAMIC, "GetStride: this dimension is dynamic");
        return value;
    }
    template <int... Dim, class... Values>
    void SetShape(Values... values)
    {
        static_assert(sizeof...(Dim) == sizeof...(Values), "SetShape: one value per dimension");
        static_assert(((Shape_::staticShape[Dim] == DYNAMIC) && ...), "SetShape: only dynamic dimensions can be set");
        ((shape_.value[Dim] = static_cast<int64_t>(values)), ...);
    }
    template <int... Dim, class... Values>
    void SetStride(Values... values)
    {
        static_assert(sizeof...(Dim) == sizeof...(Values), "SetStride: one value per dimension");
        static_assert(((Stride_::staticStride[Dim] == DYNAMIC) && ...), "SetStride: only dynamic dimensions can be set");
        ((stride_.value[Dim] = static_cast<int64_t>(values)), ...);
    }

private:
    DType* data_;
    DType* origin_;
    uintptr_t moved_ = 0;
    Shape_ shape_;
    Stride_ stride_;
};

namespace detail {

template <class T, int64_t R, int64_t C, Layout L>
struct Helper2D {
    static_assert(L == Layout::ND || L == Layout::DN, "TileShape2D: layout must be ND, DN or NZ");
    static constexpr bool dn = L == Layout::DN;
    using shape = Shape<1, 1, 1, R, C>;
    using stride = Stride<R * C, R * C, R * C, dn ? 1 : C, dn ? R : 1>;
};
template <class T, int64_t R, int64_t C>
struct Helper2D<T, R, C, Layout::NZ> {
    static constexpr int64_t c0 = 32 / static_cast<int64_t>(sizeof(T));
    static_assert(R % 16 == 0 && C % c0 == 0, "TileShape2D: NZ needs rows in 16s and columns in 32-byte blocks");
    using shape = Shape<1, C / c0, R / 16, 16, c0>;
    using stride = Stride<R * C, R * c0, 16 * c0, c0, 1>;
};

}  // namespace detail

// Shape and stride of a plain R x C matrix in a given layout. BaseShape2D is a stride, despite its name.
template <class T, int64_t Rows, int64_t Cols, Layout L = Layout::ND>
struct TileShape2D : detail::Helper2D<T, Rows, Cols, L>::shape {
    using detail::Helper2D<T, Rows, Cols, L>::shape::shape;
};
template <class T, int64_t Rows, int64_t Cols, Layout L = Layout::ND>
struct BaseShape2D : detail::Helper2D<T, Rows, Cols, L>::stride {
    using detail::Helper2D<T, Rows, Cols, L>::stride::stride;
};

}  // namespace pto

#endif
