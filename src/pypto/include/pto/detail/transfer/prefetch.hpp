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
void look_at(Ahead& a, int64_t line);

// Forgets tile number `index`.
void drop(Ahead& a, int index);

// Notes a tile of `count` lines of `bytes` bytes. One outside of all tensors that the launcher named is none.
void note_next(Ahead& a, uintptr_t begin, int64_t step, int64_t count, int64_t bytes, bool to_write);

// A tile of `count` lines of `bytes` bytes is transferred now and, unless `moved` is 0, as large a step leads to the next.
void expect(uintptr_t at, uintptr_t moved, int64_t step, int64_t count, int64_t bytes, bool to_write);

void next_line(Ahead& a);

// Asks for the next `lines` cache lines that are expected, or fewer.
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
