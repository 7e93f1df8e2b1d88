// Operand checks shared by all instructions: type traits, compile-time rules, and the cheap run-time guards that turn an
// impossible instruction into a recorded error and no work.
#ifndef PTO_DETAIL_CHECK_HPP
#define PTO_DETAIL_CHECK_HPP

#include "global.hpp"
#include "sync.hpp"
#include "tile.hpp"

namespace pto {

namespace detail {

template <class T>
struct IsTile : std::false_type {};
template <TileType L, class T, int R, int C, BLayout B, int VR, int VC, SLayout S, int F, PadValue P, CompactMode M>
struct IsTile<Tile<L, T, R, C, B, VR, VC, S, F, P, M>> : std::true_type {};
template <class T>
struct IsGlobal : std::false_type {};
template <class T, class S, class D, Layout L>
struct IsGlobal<GlobalTensor<T, S, D, L>> : std::true_type {};

template <class... Ts>
using if_tiles = std::enable_if_t<(IsTile<Ts>::value && ...), int>;
template <class... Ts>
using if_events = std::enable_if_t<(HasWait<Ts>::value && ...), int>;

template <class Tl, TileType... Locs>
constexpr bool at_v = ((Tl::Loc == Locs) || ...);
template <class Tl>
constexpr bool is_nd_v = Tl::isRowMajor && !Tl::isBoxedLayout;
template <class Tl>
constexpr bool is_dn_v = !Tl::isRowMajor && !Tl::isBoxedLayout;
template <class Tl>
constexpr bool is_nz_v = !Tl::isRowMajor && Tl::isInnerRowMajor;
template <class Tl>
constexpr bool is_zn_v = Tl::isRowMajor && Tl::isInnerColMajor;
template <class Tl>
constexpr bool is_zz_v = Tl::isRowMajor && Tl::isInnerRowMajor;
template <class A, class B>
constexpr bool same_layout_v = A::isRowMajor == B::isRowMajor && A::SFractal == B::SFractal &&
                               (!A::isBoxedLayout || (A::InnerRows == B::InnerRows && A::InnerCols == B::InnerCols));
template <class A, class B>
constexpr bool same_physical_v = A::Rows == B::Rows && A::Cols == B::Cols;
template <class A, class... Bs>
constexpr bool same_element_v = (std::is_same<typename A::DType, typename Bs::DType>::value && ...);
template <class A, class B>
constexpr bool same_valid_arguments_v = A::ValidRow == B::ValidRow && A::ValidCol == B::ValidCol;

// True if every tile has an address, which is what `all` says.
PTO_INLINE bool is_addressed(bool all)
{
    if (__builtin_expect(!all, 0)) {
        record_error(kNoAddress, "instruction on a tile without an address (TASSIGN missing or failed)");
    }
    return all;
}
template <class... Tiles>
PTO_INLINE bool addressed(const Tiles&... tiles)
{
    return is_addressed(((tiles.GetAddress() != nullptr) && ...));
}

// True if `tile` holds at least rows x cols valid elements.
template <class Tl>
PTO_INLINE bool covers(const Tl& tile, int rows, int cols)
{
    const bool ok = tile.GetValidRow() >= rows && tile.GetValidCol() >= cols;
    if (__builtin_expect(!ok, 0)) {
        record_error(kShapeMismatch, "a source tile is smaller than the valid region of the destination");
    }
    return ok;
}

PTO_INLINE bool require(bool condition, const char* message)
{
    if (__builtin_expect(!condition, 0)) {
        record_error(kShapeMismatch, message);
    }
    return condition;
}

}  // namespace detail

template <class T>
constexpr bool is_tile_data_v = detail::IsTile<T>::value;
template <class T>
constexpr bool is_global_data_v = detail::IsGlobal<T>::value;
template <class T>
constexpr bool is_boxed_data_v = T::isBoxedLayout;
template <class T>
constexpr bool is_conv_tile_v = false;
template <class T>
struct is_Nz_layout : std::bool_constant<detail::is_nz_v<T>> {};
template <class T>
struct is_Zn_layout : std::bool_constant<detail::is_zn_v<T>> {};
template <class T>
struct is_Zz_layout : std::bool_constant<detail::is_zz_v<T>> {};

// ---------------------------------------------------------------------------------------------------------- TASSIGN
// TASSIGN(tile, address): byte offset in the tile's memory. A tile that does not fit there gets no address.
template <class Target, class Address>
PTO_INLINE void TASSIGN(Target& target, Address address)
{
    static_assert(is_tile_data_v<Target> || is_global_data_v<Target>, "TASSIGN: target must be a Tile or a GlobalTensor");
    if constexpr (is_tile_data_v<Target>) {
        static_assert(std::is_integral<Address>::value, "TASSIGN: a Tile can only be assigned an integer address");
        using T = typename Target::DType;
        target.SetAddress(reinterpret_cast<T*>(
            detail::resolve<Target::Loc>(static_cast<uint64_t>(address), Target::StorageNumel * sizeof(T))));
    } else {
        static_assert(std::is_pointer<Address>::value, "TASSIGN: a GlobalTensor can only be assigned a pointer");
        static_assert(std::is_same<Address, typename Target::DType*>::value,
                      "TASSIGN: the pointer must point to the element type of the GlobalTensor");
        target.SetAddress(address);
    }
}

// TASSIGN<address>(tile): as above, checked at compile time.
template <uint64_t Address, class Target>
PTO_INLINE void TASSIGN(Target& target)
{
    static_assert(is_tile_data_v<Target>, "TASSIGN: target must be a Tile");
    static_assert(Address % detail::kTileAlign == 0, "TASSIGN: the address must be a multiple of 32 bytes");
    static_assert(Address + Target::StorageNumel * sizeof(typename Target::DType) <=
                      static_cast<uint64_t>(detail::capacity_of(Target::Loc)),
                  "TASSIGN: the tile does not fit into its memory at this address");
    TASSIGN(target, Address);
}

}  // namespace pto

#endif
