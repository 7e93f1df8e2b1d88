// The functions that transfer/prefetch.hpp declares and that are the same in every kernel.
#ifndef PTO_DETAIL_ONCE_PREFETCH_HPP
#define PTO_DETAIL_ONCE_PREFETCH_HPP

#include "../transfer/prefetch.hpp"

namespace pto {
namespace detail {

PTO_COLD PTO_ONCE void look_at(Ahead& a, int64_t line)
{
    a.line = line;
    if (a.count == 0) {
        a.at = a.end = nullptr;
        return;
    }
    const Expected& tile = a.of[0];
    a.at = tile.first + line * tile.step;
    a.end = a.at + tile.bytes;
    a.to_write = tile.to_write;
}

PTO_COLD PTO_ONCE void drop(Ahead& a, int index)
{
    --a.count;
    for (int i = index; i < a.count; ++i) {
        a.of[i] = a.of[i + 1];
    }
    if (index == 0) {
        look_at(a, 0);
    }
}

PTO_COLD PTO_ONCE void note_next(Ahead& a, uintptr_t begin, int64_t step, int64_t count, int64_t bytes, bool to_write)
{
    bool known = kernel_state.extents.count == 0;
    for (int i = 0; i < kernel_state.extents.count; ++i) {
        known = known || (begin >= kernel_state.extents.of[i].begin && begin < kernel_state.extents.of[i].end);
    }
    if (!known) {
        return;
    }
    if (step == bytes) {
        bytes *= count;
        count = 1;
    }
    if (a.count == kMaxExpected) {
        drop(a, 0);
    }
    a.of[a.count++] = Expected{reinterpret_cast<const char*>(begin), step, count, bytes, to_write};
    if (a.count == 1) {
        look_at(a, 0);
    }
}

PTO_LIGHT PTO_ONCE void expect(uintptr_t at, uintptr_t moved, int64_t step, int64_t count, int64_t bytes, bool to_write)
{
    Ahead& a = ahead_here();
    for (int i = a.count - 1; i >= 0; --i) {
        if (a.of[i].first == reinterpret_cast<const char*>(at)) {
            drop(a, i);
        }
    }
    if (moved != 0 && count * bytes >= 1024) {
        note_next(a, at + moved, step, count, bytes, to_write);
    }
}

PTO_LIGHT PTO_ONCE void next_line(Ahead& a)
{
    if (a.count != 0) {
        if (a.line + 1 < a.of[0].count) {
            look_at(a, a.line + 1);
        } else {
            drop(a, 0);
        }
    }
}

PTO_LIGHT PTO_ONCE void fetch_lines(Ahead& a, int lines)
{
    const char* at = a.at;
    const char* stop = min_of<const char*>(a.end, at + lines * kLineBytes);
    if (a.to_write) {
        PTO_ROLLED
        for (; at < stop; at += kLineBytes) {
            __builtin_prefetch(at, 1, 3);
        }
    } else {
        PTO_ROLLED
        for (; at < stop; at += kLineBytes) {
            __builtin_prefetch(at, 0, 2);
        }
    }
    a.at = at;
    if (__builtin_expect(at >= a.end, 0)) {
        next_line(a);
    }
}

}  // namespace detail
}  // namespace pto

#endif
