// Bounds: whether a transfer stays inside the tensors that the launcher named. Owns the search among these tensors and the
// report of a transfer that does not; knows GlobalTensors by sizes and strides only. Messages are worded where errors become
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

// The report of a transfer that leaves its tensor, in place of a text: run/bounds_report.py has the same fields and words the
// message. It is passed on by copying `bytes` bytes; the names are literals of the kernel.
struct Told {
    char mark[4];  // "\1"
    int32_t bytes;
    const char *verb, *kernel, *tensor;  // the last two may be nullptr
    int64_t at, size;  // offset in the tensor, and element size, in bytes; size 0: n[0] elements from `at`, of n[1]
    int64_t n[5], step[5];
    int64_t rank, shape[5];
    // What the kernel reported for single dimensions, where the transfer alone does not show that it leaves them: outermost
    // first, a limit of -1 where it reported nothing.
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

// True if the kernel has reported that the next transfer leaves a dimension. Until then no tensor is known (the count is
// negative), so that other transfers need no extra test; afterwards the tensors are known again.
bool take_pending_error();

// True if a region `place` elements from the start of a tensor stays in each of its dimensions. Where a dimension has a larger
// stride than all inner ones, these together must stay within one step of it, in whatever shape the tensor is viewed. Other
// strides (equal ones, those of a transposed tensor, the 1 of a padding dimension) imply nothing.
bool stays_in_dimensions(int64_t place, Sizes n, Sizes step, bool dn);

// For a transfer that leaves the tensor at `origin`. If no tensor begins there (the kernel chose one at run time), returns the
// start of the tensor that the transfer begins in; otherwise records an error and returns 0.
uintptr_t another_origin(const Asked& asked, uintptr_t origin);

// Records an error for a range that leaves a dimension of `limit` elements.
void report_range(const char* verb, int64_t begin, int64_t size, int64_t limit);

}  // namespace detail

namespace cpu {
// Records that an index is out of bounds of a dimension of `limit` elements.
inline void fail_index(int64_t index, int64_t limit) { detail::report_range("pl.read takes", index, 1, limit); }
// Records that a view ends beyond a dimension of `limit` elements.
inline void fail_view(int64_t begin, int64_t size, int64_t limit)
{
    detail::report_range("pl.view takes", begin, size, limit);
}
// Makes the next transfer fail: in one dimension of `limit` elements, of its tensor or of a part of that, it accesses `size`
// from `begin` on.
void fail_region(int64_t dimension, int64_t begin, int64_t size, int64_t limit);
}  // namespace cpu

}  // namespace pto

#endif
