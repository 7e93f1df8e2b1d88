// Work on tile memory that waits for whoever needs its result.
//
// Two kinds. A load into Mat memory that is a plain copy of lines: on the NPU it would pass through Mat memory on its way to
// Left or Right, which here is one copy too many; so the load is noted, and the move that follows reads global memory
// itself. And operands of a product that were written in the form in which the tile registers read them (amx.hpp).
//
// Nobody can tell. Whatever looks at the bytes of a Mat, Left or Right tile gets them from Tile::data(), which does the
// work first (settle); so does a store to global memory that a load still has to read. What is overwritten whole is
// forgotten. Loads wait only while a launcher has named the tensors (cpu::allow), that is during one launch, in which these
// tensors exist and nobody else writes what the kernel reads; the kernel itself writes them by instructions only.
// The notes belong to a thread, as the memory does. These functions are called once or twice for a tile and compiled in
// every kernel, so they are compiled as the kernel itself is (PTO_COLD).
#ifndef PTO_DETAIL_DEFERRED_HPP
#define PTO_DETAIL_DEFERRED_HPP

#include "memory.hpp"

namespace pto {
namespace detail {

PTO_COLD inline void drop_held(int index)
{
    for (int i = index + 1; i < kernel_state.held.count; ++i) {
        kernel_state.held.of[i - 1] = kernel_state.held.of[i];
    }
    --kernel_state.held.count;
}

PTO_COLD inline void settle_held(int index)
{
    const Held note = kernel_state.held.of[index];
    drop_held(index);
    note.settle(note);
}

PTO_COLD inline void settle_bytes(const unsigned char* first, const unsigned char* last)
{
    for (int i = 0; i < kernel_state.held.count;) {
        if (kernel_state.held.of[i].first < last && first < kernel_state.held.of[i].last) {
            settle_held(i);
        } else {
            ++i;
        }
    }
}

// Makes `bytes` bytes of tile memory what they are said to be.
PTO_INLINE void settle(const void* first, int64_t bytes)
{
    if (__builtin_expect(kernel_state.held.count != 0, 0)) {
        const unsigned char* p = static_cast<const unsigned char*>(first);
        settle_bytes(p, p + bytes);
    }
}

// The global memory [begin, end) is about to be written: loads that still have to read it come first.
PTO_COLD inline void settle_readers(uintptr_t begin, uintptr_t end)
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

// Adds a note. Of what it covers, notes of the same form that it overwrites whole are forgotten, others settled.
PTO_COLD inline void hold(const Held& note)
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

// The note on the tile of that form that begins there, or nullptr.
PTO_COLD inline Held* find_held(const void* first, uint64_t form)
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
