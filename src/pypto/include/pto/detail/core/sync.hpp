// Pipes, flags, barriers, events and block identity. On a CPU every instruction is complete when it returns, so flags and
// barriers do nothing; they are type-checked nevertheless.
#ifndef PTO_DETAIL_SYNC_HPP
#define PTO_DETAIL_SYNC_HPP

#include "memory.hpp"

typedef int pipe_t;
typedef int event_t;

constexpr pipe_t PIPE_S = 0;
constexpr pipe_t PIPE_V = 1;
constexpr pipe_t PIPE_MTE1 = 2;
constexpr pipe_t PIPE_MTE2 = 3;
constexpr pipe_t PIPE_MTE3 = 4;
constexpr pipe_t PIPE_M = 5;
constexpr pipe_t PIPE_ALL = 6;
constexpr pipe_t PIPE_FIX = 7;

#define EVENT_ID0 0
#define EVENT_ID1 1
#define EVENT_ID2 2
#define EVENT_ID3 3
#define EVENT_ID4 4
#define EVENT_ID5 5
#define EVENT_ID6 6
#define EVENT_ID7 7

inline void set_flag(pipe_t, pipe_t, event_t) {}
inline void wait_flag(pipe_t, pipe_t, event_t) {}
inline void pipe_barrier(pipe_t) {}
template <class... Args>
inline void dcci(Args...) {}
template <class... Args>
inline void dsb(Args...) {}

// Identity of the running block; 0 of 1 unless the launcher set it (pto::cpu::set_block).
inline uint32_t get_block_idx() { return pto::detail::core_state.block_idx; }
inline uint32_t get_block_num()
{
    const uint32_t num = pto::detail::core_state.block_num;
    return num == 0 ? 1u : num;
}
inline uint32_t get_subblockid() { return pto::detail::core_state.sub_idx; }
inline uint32_t get_subblockdim()
{
    const uint32_t num = pto::detail::core_state.sub_num;
    return num == 0 ? 1u : num;
}
inline uint32_t get_coreid() { return get_block_idx(); }

namespace pto {

// Instruction names as event tags.
enum class Op {
    TLOAD, TSTORE, TSTORE_ACC, TMOV, TMOV_M2L, TMOV_M2R, TEXTRACT, TINSERT, TRESHAPE, TASSIGN, TMATMUL, TMATMUL_ACC,
    TMATMUL_BIAS, TGEMV, TGEMV_ACC, TGEMV_BIAS, TADD, TSUB, TMUL, TDIV, TMAX, TMIN, TAND, TOR, TXOR, TSHL, TSHR, TREM,
    TFMOD, TPOW, TPRELU, TADDS, TSUBS, TMULS, TDIVS, TMAXS, TMINS, TREMS, TFMODS, TPOWS, TANDS, TORS, TXORS, TSHLS,
    TSHRS, TLRELU, TAXPY, TEXPANDS, TABS, TNEG, TNOT, TRELU, TEXP, TLOG, TSQRT, TRSQRT, TRECIP, TROWSUM, TROWMAX,
    TROWMIN, TROWPROD, TCOLSUM, TCOLMAX, TCOLMIN, TCOLPROD, TROWARGMAX, TROWARGMIN, TCOLARGMAX, TCOLARGMIN, TROWEXPAND,
    TROWEXPANDADD, TROWEXPANDSUB, TROWEXPANDMUL, TROWEXPANDDIV, TROWEXPANDMAX, TROWEXPANDMIN, TROWEXPANDEXPDIF,
    TCOLEXPAND, TCOLEXPANDADD, TCOLEXPANDSUB, TCOLEXPANDMUL, TCOLEXPANDDIV, TCOLEXPANDMAX, TCOLEXPANDMIN,
    TCOLEXPANDEXPDIF, TCMP, TCMPS, TSEL, TSELS, TCVT, TTRANS, TFILLPAD, TCONCAT, TCI, TTRI, TGATHER, TGATHERB, TSCATTER,
    MGATHER, MSCATTER, TSORT32, TMRGSORT, TQUANT, TDEQUANT, TPREFETCH, SCALAR, VECTOR, ALL, TSUBRELU, TFUSEDMULADD,
    TFUSEDMULADDRELU, TMULADDDST, TADDC, TSUBC, TADDSC, TSUBSC, TPARTADD, TPARTMUL, TPARTMAX, TPARTMIN, TPAIRREDUCESUM,
    TFILLPAD_INPLACE, TFILLPAD_EXPAND, TSUBVIEW, TPRINT
};

// Returned by every instruction; assigning it to an Event marks the point to wait for.
struct RecordEvent {};

template <Op Src, Op Dst>
struct Event {
    Event() = default;
    Event(RecordEvent) {}
    Event& operator=(RecordEvent) { return *this; }
    void Wait() const {}
};

template <Op>
inline void TSYNC() {}
template <Op Src, Op Dst>
inline void TSYNC(Event<Src, Dst>& event) { event.Wait(); }

namespace detail {

template <class T, class = void>
struct HasWait : std::false_type {};
template <class T>
struct HasWait<T, std::void_t<decltype(std::declval<T&>().Wait())>> : std::true_type {};

// Trailing arguments of an instruction: events to wait for first.
template <class... Events>
PTO_INLINE void wait_all(Events&... events)
{
    static_assert((HasWait<Events>::value && ...), "trailing arguments of an instruction must be events");
    (events.Wait(), ...);
}

}  // namespace detail
}  // namespace pto

#endif
