// Prefetching. On the NPU the load and store pipes move tiles while others are computed. Here a TLOAD or a TSTORE whose
// GlobalTensor has moved notes the tile one such step further on, and the loops of the other instructions prefetch it, a few
// cache lines at a time, so that the memory's latency is hidden behind their computation. These are only hints: a wrong one
// changes no value.
#ifndef PTO_DETAIL_PREFETCH_HPP
#define PTO_DETAIL_PREFETCH_HPP

#include "../core/memory.hpp"

namespace pto {
namespace detail {

constexpr int kLineBytes = 64;

// A tile to be prefetched: `count` lines of `bytes` bytes.
struct Expected {
    const char* first;
    int64_t step, count, bytes;
    bool to_write;
};
constexpr int kMaxExpected = 8;
struct Ahead {
    const char* at;  // the next address to prefetch, and the end of its line
    const char* end;
    bool to_write;
    int64_t line;  // of the tile of[0], which contains the address
    int count;
    Expected of[kMaxExpected];
};
inline thread_local Ahead ahead = {};

// The state of this thread, looked up once: a compiler that sees where the address comes from may compute it again in every
// iteration of a loop, by a function call.
PTO_INLINE Ahead& ahead_here()
{
    Ahead* here = &ahead;
    __asm__("" : "+r"(here));
    return *here;
}

// Moves the prefetch address to line `line` of the first tile.
void look_at(Ahead& a, int64_t line);

// Drops tile number `index`.
void drop(Ahead& a, int index);

// Notes a tile of `count` lines of `bytes` bytes. One outside all tensors that the launcher named is ignored.
void note_next(Ahead& a, uintptr_t begin, int64_t step, int64_t count, int64_t bytes, bool to_write);

// A tile of `count` lines of `bytes` bytes is transferred now; unless `moved` is 0, the next is one such step further on.
void expect(uintptr_t at, uintptr_t moved, int64_t step, int64_t count, int64_t bytes, bool to_write);

void next_line(Ahead& a);

// Prefetches the next `lines` expected cache lines, or fewer.
void fetch_lines(Ahead& a, int lines);
PTO_INLINE void fetch_ahead(Ahead& a, int lines)
{
    if (a.at != nullptr) {
        fetch_lines(a, lines);
    }
}

}  // namespace detail
}  // namespace pto

#endif
