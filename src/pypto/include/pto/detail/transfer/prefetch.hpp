// Transfers ahead of time. On the NPU the load and store pipes move tiles while others are computed. Here a TLOAD or a
// TSTORE whose GlobalTensor has moved notes the tile that lies as far ahead again, and the loops of the other instructions
// ask for it, a few cache lines between their own, so that the memory's latency passes while they compute. Only hints: what
// is noted may be wrong and changes no value.
#ifndef PTO_DETAIL_PREFETCH_HPP
#define PTO_DETAIL_PREFETCH_HPP

#include "../core/memory.hpp"

namespace pto {
namespace detail {

constexpr int kLineBytes = 64;

// A tile that is to be asked for: `count` lines of `bytes` bytes.
struct Expected {
    const char* first;
    int64_t step, count, bytes;
    bool to_write;
};
constexpr int kMaxExpected = 8;
struct Ahead {
    const char* at;  // the next place to ask for, and the end of its line
    const char* end;
    bool to_write;
    int64_t line;  // of the tile of[0], which the place is in
    int count;
    Expected of[kMaxExpected];
};
inline thread_local Ahead ahead = {};

// The state of this thread, looked up once: a compiler that sees where the address comes from may ask for it again in every
// iteration of a loop, by a function call.
PTO_INLINE Ahead& ahead_here()
{
    Ahead* here = &ahead;
    __asm__("" : "+r"(here));
    return *here;
}

// Puts the place on line `line` of the first tile.
PTO_COLD inline void look_at(Ahead& a, int64_t line)
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

// Forgets tile number `index`.
PTO_COLD inline void drop(Ahead& a, int index)
{
    --a.count;
    for (int i = index; i < a.count; ++i) {
        a.of[i] = a.of[i + 1];
    }
    if (index == 0) {
        look_at(a, 0);
    }
}

// Notes a tile of `count` lines of `bytes` bytes. One outside of all tensors that the launcher named is none.
PTO_COLD inline void note_next(Ahead& a, uintptr_t begin, int64_t step, int64_t count, int64_t bytes, bool to_write)
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

// A tile of `count` lines of `bytes` bytes is transferred now and, unless `moved` is 0, as large a step leads to the next.
PTO_LIGHT inline void expect(uintptr_t at, uintptr_t moved, int64_t step, int64_t count, int64_t bytes, bool to_write)
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

PTO_LIGHT inline void next_line(Ahead& a)
{
    if (a.count != 0) {
        if (a.line + 1 < a.of[0].count) {
            look_at(a, a.line + 1);
        } else {
            drop(a, 0);
        }
    }
}

// Asks for the next `lines` cache lines that are expected, or fewer.
PTO_LIGHT inline void fetch_lines(Ahead& a, int lines)
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
PTO_INLINE void fetch_ahead(Ahead& a, int lines)
{
    if (a.at != nullptr) {
        fetch_lines(a, lines);
    }
}

}  // namespace detail
}  // namespace pto

#endif
