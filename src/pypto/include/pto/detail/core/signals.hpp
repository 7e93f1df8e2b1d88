// Signals between ranks, each a thread of this process: words in memory that all of them share. Waiting and waking is done in
// Python (ranks.py); this file calls it. A kernel that is not run by a rank changes the word, but cannot wait for it.
#ifndef PTO_DETAIL_SIGNALS_HPP
#define PTO_DETAIL_SIGNALS_HPP

#include "deferred.hpp"

namespace pto {

enum class NotifyOp : int32_t { AtomicAdd = 0, Set = 1 };
enum class WaitCmp : int32_t { EQ = 0, GE = 1 };
enum class WindowTransfer : int32_t { Fetch = 0, Deliver = 1, BeginAdd = 2, EndAdd = 3 };  // ranks.TransferKind

namespace detail {

// A peer may write what a deferred load has yet to read.
void settle_all();

cpu::Host* host_of_launch();

}  // namespace detail

template <class Value>
PTO_COLD inline void TNOTIFY(int32_t* signal, Value value, NotifyOp op)
{
    detail::settle_all();
    const cpu::Host* host = detail::host_of_launch();
    if (host != nullptr && host->notify != nullptr) {
        host->notify(signal, static_cast<int64_t>(value), op == NotifyOp::AtomicAdd ? 1 : 0);
    } else if (op == NotifyOp::AtomicAdd) {
        __atomic_fetch_add(signal, static_cast<int32_t>(value), __ATOMIC_SEQ_CST);
    } else {
        __atomic_store_n(signal, static_cast<int32_t>(value), __ATOMIC_SEQ_CST);
    }
}

// `line` is the line of the wait in the program, 0 if unknown.
template <class Value>
PTO_COLD inline void TWAIT(int32_t* signal, Value expected, WaitCmp cmp, int64_t line)
{
    detail::settle_all();
    const cpu::Host* host = detail::host_of_launch();
    bool holds;
    if (host != nullptr && host->wait != nullptr) {
        holds = host->wait(signal, static_cast<int64_t>(expected), cmp == WaitCmp::GE ? 1 : 0, line) != 0;
    } else {
        const int32_t found = __atomic_load_n(signal, __ATOMIC_SEQ_CST), wanted = static_cast<int32_t>(expected);
        holds = cmp == WaitCmp::GE ? found >= wanted : found == wanted;
    }
    if (!holds) {
        detail::record_error(detail::kKernelError, "deadlock: a wait for a signal, and no other rank to notify it");
    }
    detail::fence();
}

// Transfers a box of a window whose rank may be another process: before it is read, or after it was written. Strides in bytes.
template <class T, size_t N>
PTO_COLD inline void TTRANSFER(T* first, const int64_t (&sizes)[N], const int64_t (&strides)[N], WindowTransfer kind)
{
    detail::settle_all();
    const cpu::Host* host = detail::host_of_launch();
    if (host != nullptr && host->transfer != nullptr &&
        host->transfer(first, static_cast<int32_t>(kind), static_cast<int32_t>(N), sizes, strides) == 0) {
        detail::record_error(detail::kKernelError, "another rank has failed");
    }
    detail::fence();
}

}  // namespace pto

#endif
