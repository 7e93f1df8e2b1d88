// The functions that core/bounds.hpp declares and that are the same in every kernel.
#ifndef PTO_DETAIL_ONCE_BOUNDS_HPP
#define PTO_DETAIL_ONCE_BOUNDS_HPP

#include "../core/bounds.hpp"

namespace pto {
namespace detail {

PTO_LEAST PTO_ONCE bool take_pending_error()
{
    const bool refused = kernel_state.extents.count < 0;
    kernel_state.extents.count = refused ? -kernel_state.extents.count : kernel_state.extents.count;
    return refused;
}

PTO_COLD PTO_ONCE bool stays_in_dimensions(int64_t place, Sizes n, Sizes step, bool dn)
{
    int64_t reach = 1, widest = 1;
    for (int i = 4; i > 0; --i) {
        const int dim = dn && i >= 3 ? 7 - i : i, next = dn && i == 4 ? 4 : i - 1;
        reach += (n[dim] - 1) * step[dim];
        widest = step[dim] > widest ? step[dim] : widest;
        if (step[next] > widest && place % step[next] + reach > step[next]) {
            return false;
        }
    }
    return true;
}

PTO_LEAST PTO_ONCE uintptr_t another_origin(const Asked& asked, uintptr_t origin)
{
    const bool refused = take_pending_error();
    const uintptr_t at = reinterpret_cast<uintptr_t>(asked.at);
    const Extent* around = nullptr;
    const Extent* tensor = nullptr;
    for (int i = 0; i < kernel_state.extents.count; ++i) {
        if (kernel_state.extents.of[i].begin == origin) {
            tensor = &kernel_state.extents.of[i];
        }
        if (at >= kernel_state.extents.of[i].begin && at < kernel_state.extents.of[i].end) {
            around = &kernel_state.extents.of[i];
        }
    }
    if (tensor == nullptr && around != nullptr) {
        if (!refused) {
            return around->begin;
        }
        tensor = around;
    }
    if (core_state.code != kOk) {
        return 0;  // only the first error is kept
    }
    if (!refused) {
        told.clear();
    }
    told.verb = asked.verb;
    told.kernel = kernel_state.extents.kernel;
    told.size = asked.size;
    for (int i = 0; i < 5; ++i) {
        told.n[i] = asked.n[i];
        told.step[i] = asked.step[i];
    }
    if (tensor != nullptr) {
        told.tensor = tensor->name;
        told.at = static_cast<int64_t>(at - tensor->begin);
        told.rank = tensor->rank < 5 ? tensor->rank : 5;
        for (int i = 0; i < told.rank; ++i) {
            told.shape[i] = tensor->shape[i];
        }
    }
    record_error(kOutOfBounds, told.mark);
    return 0;
}

PTO_LEAST PTO_ONCE void report_range(const char* verb, int64_t begin, int64_t size, int64_t limit)
{
    if (core_state.code == kOk) {
        told.clear();
        told.verb = verb;
        told.kernel = kernel_state.extents.kernel;
        told.at = begin;
        told.n[0] = size;
        told.n[1] = limit;
        record_error(kOutOfBounds, told.mark);
    }
}

}  // namespace detail
}  // namespace pto

namespace pto {
namespace cpu {

PTO_LEAST PTO_ONCE void fail_region(int64_t dimension, int64_t begin, int64_t size, int64_t limit)
{
    if (detail::kernel_state.extents.count == 0 || dimension > 4) {
        return;
    }
    const bool is_first = detail::kernel_state.extents.count > 0;
    detail::kernel_state.extents.count = is_first ? -detail::kernel_state.extents.count : detail::kernel_state.extents.count;
    if (detail::core_state.code == detail::kOk) {
        if (is_first) {
            detail::told.clear();
        }
        detail::told.begin[dimension] = begin;
        detail::told.count[dimension] = size;
        detail::told.limit[dimension] = limit;
    }
}

}  // namespace cpu
}  // namespace pto

#endif
