// Bounds: whether a transfer stays inside the tensors that the launcher named. Owns the search among these tensors and what is
// told of a transfer that does not; knows GlobalTensors by sizes and strides only. The words are made where errors become
// Python's (run/bounds_report.py): this file is compiled with every kernel, so it has one function for all transfers.
#ifndef PTO_DETAIL_BOUNDS_HPP
#define PTO_DETAIL_BOUNDS_HPP

#include "global.hpp"
#include "memory.hpp"

namespace pto {
namespace detail {

// A transfer of elements of `size` bytes that begin at `at`.
struct Asked {
    const void* at;
    int64_t size;
    Sizes n, step;
    const char* verb;
};

// What is told of a transfer that leaves its tensor, in place of a text: run/bounds_report.py has the same fields and makes words of
// them. Who passes it on copies `bytes` bytes; the names are literals of the kernel.
struct Told {
    char mark[4];  // "\1"
    int32_t bytes;
    const char *verb, *kernel, *tensor;  // the last two may be nullptr
    int64_t at, size;  // bytes from the begin of the tensor, and of an element; size 0: `at` begins n[0] of n[1] elements
    int64_t n[5], step[5];
    int64_t rank, shape[5];
    // What the kernel said of single dimensions, where the transfer alone does not show that it leaves them: the outermost
    // first, a limit of -1 where it said nothing.
    int64_t begin[5], count[5], limit[5];
    PTO_LEAST void clear()
    {
        *this = Told{};
        mark[0] = 1;
        bytes = static_cast<int32_t>(sizeof(*this));
        for (int64_t& one : limit) {
            one = -1;
        }
    }
};
inline thread_local Told told = {};

// True if the kernel has said that the transfer to come leaves a dimension. No tensor is known then (the count is negative), so
// that no other transfer pays for asking; they are known again after that.
bool take_refusal();

// True if a region at `place` elements from the begin of a tensor stays in each of its dimensions. Where a dimension has a larger
// stride than all inner ones, these together stay within one step of it, whatever shape the tensor is seen in. Of other
// strides (equal ones, those of a transposed tensor, the 1 that only fills up) nothing follows.
bool keeps_dimensions(int64_t place, Sizes n, Sizes step, bool dn);

// For a transfer that leaves the tensor that begins at `origin`. If there is no such tensor (the kernel chose one when it ran),
// returns where the one begins that the transfer begins in; else records an error and returns 0.
uintptr_t another_origin(const Asked& asked, uintptr_t origin);

// A range of a dimension of `limit` elements that leaves it.
void report_range(const char* verb, int64_t begin, int64_t size, int64_t limit);

}  // namespace detail

namespace cpu {
// Records that an element is read which a dimension of `limit` elements does not have.
inline void fail_index(int64_t index, int64_t limit) { detail::report_range("pl.read takes", index, 1, limit); }
// Records that a view ends beyond a dimension of `limit` elements.
inline void fail_view(int64_t begin, int64_t size, int64_t limit)
{
    detail::report_range("pl.view takes", begin, size, limit);
}
// Has the transfer to come refused: in one dimension of `limit` elements, of its tensor or of a part of that, it takes `size`
// from `begin` on.
void fail_region(int64_t dimension, int64_t begin, int64_t size, int64_t limit);
}  // namespace cpu

}  // namespace pto

#endif
