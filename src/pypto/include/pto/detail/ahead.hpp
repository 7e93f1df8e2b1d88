// Loads ahead of time. On the NPU the load pipe fetches the next tile while this one is computed. Here a TLOAD whose
// GlobalTensor has moved notes the tile that lies as far ahead again, and the loops of the other instructions ask for it,
// a few cache lines between their own, so that the memory's latency passes while they compute. Only hints: what is noted
// may be wrong and changes no value.
#ifndef PTO_DETAIL_AHEAD_HPP
#define PTO_DETAIL_AHEAD_HPP

#include "memory.hpp"

namespace pto {
namespace detail {

constexpr int kLineBytes = 64;

// A tile that is to be asked for: `count` lines of `bytes` bytes; the next request is line `at`, byte `from`.
struct Expected {
    const char* first;
    int64_t step, count, bytes;
    int64_t at, from;
};
constexpr int kMaxExpected = 8;
struct Ahead {
    int count;
    Expected of[kMaxExpected];
};
inline thread_local Ahead ahead = {};

// Forgets a tile that is being loaded now, and the oldest one if there is no room for another.
inline void forget(const char* first)
{
    int kept = 0;
    for (int i = 0; i < ahead.count; ++i) {
        const bool drop = ahead.of[i].first == first || (i == 0 && ahead.count == kMaxExpected);
        if (!drop) {
            ahead.of[kept++] = ahead.of[i];
        }
    }
    ahead.count = kept;
}

// Notes `count` lines of `bytes` bytes. A tile outside of all tensors that the launcher named is none.
PTO_NOINLINE inline void expect(const char* first, int64_t step, int64_t count, int64_t bytes)
{
    const uintptr_t begin = reinterpret_cast<uintptr_t>(first);
    bool known = extents.count == 0;
    for (int i = 0; i < extents.count; ++i) {
        known = known || (begin >= extents.of[i].begin && begin < extents.of[i].end);
    }
    if (!known || count <= 0 || bytes <= 0) {
        return;
    }
    if (step == bytes) {
        bytes *= count;
        count = 1;
    }
    ahead.of[ahead.count++] = Expected{first, step, count, bytes, 0, 0};
}

PTO_NOINLINE inline void fetch_lines(int64_t lines)
{
    Expected& tile = ahead.of[0];
    while (lines > 0 && tile.at < tile.count) {
        const char* line = tile.first + tile.at * tile.step;
        for (; lines > 0 && tile.from < tile.bytes; tile.from += kLineBytes, --lines) {
            __builtin_prefetch(line + tile.from, 0, 2);
        }
        if (tile.from >= tile.bytes) {
            tile.from = 0;
            ++tile.at;
        }
    }
    if (tile.at >= tile.count) {
        forget(tile.first);
    }
}

// Asks for the next `lines` cache lines that are expected.
PTO_INLINE void fetch_ahead(int64_t lines)
{
    if (ahead.count != 0) {
        fetch_lines(lines);
    }
}

}  // namespace detail
}  // namespace pto

#endif
