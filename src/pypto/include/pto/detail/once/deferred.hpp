// The functions that core/deferred.hpp declares and that are the same in every kernel.
#ifndef PTO_DETAIL_ONCE_DEFERRED_HPP
#define PTO_DETAIL_ONCE_DEFERRED_HPP

#include "../core/deferred.hpp"

namespace pto {
namespace detail {

PTO_COLD PTO_ONCE void drop_held(int index)
{
    for (int i = index + 1; i < kernel_state.held.count; ++i) {
        kernel_state.held.of[i - 1] = kernel_state.held.of[i];
    }
    --kernel_state.held.count;
}

PTO_COLD PTO_ONCE void settle_held(int index)
{
    const Held note = kernel_state.held.of[index];
    drop_held(index);
    note.settle(note);
}

PTO_COLD PTO_ONCE void settle_bytes(const unsigned char* first, const unsigned char* last)
{
    for (int i = 0; i < kernel_state.held.count;) {
        if (kernel_state.held.of[i].first < last && first < kernel_state.held.of[i].last) {
            settle_held(i);
        } else {
            ++i;
        }
    }
}

PTO_COLD PTO_ONCE void settle_readers(uintptr_t begin, uintptr_t end)
{
    for (int i = 0; i < kernel_state.held.count;) {
        const Held& note = kernel_state.held.of[i];
        if (note.from != nullptr && reinterpret_cast<uintptr_t>(note.from) < end &&
            begin < reinterpret_cast<uintptr_t>(note.from_end)) {
            settle_held(i);
        } else {
            ++i;
        }
    }
}

PTO_COLD PTO_ONCE void hold(const Held& note)
{
    for (int i = 0; i < kernel_state.held.count;) {
        const Held& old = kernel_state.held.of[i];
        if (old.first >= note.last || note.first >= old.last) {
            ++i;
        } else if (old.first == note.first && old.form == note.form && old.count <= note.count &&
                   old.length <= note.length) {
            drop_held(i);
        } else {
            settle_held(i);
        }
    }
    if (kernel_state.held.count == kMaxHeld) {
        settle_held(0);
    }
    kernel_state.held.of[kernel_state.held.count++] = note;
}

PTO_COLD PTO_ONCE Held* find_held(const void* first, uint64_t form)
{
    for (int i = 0; i < kernel_state.held.count; ++i) {
        if (kernel_state.held.of[i].first == first && kernel_state.held.of[i].form == form) {
            return &kernel_state.held.of[i];
        }
    }
    return nullptr;
}

}  // namespace detail
}  // namespace pto

#endif
