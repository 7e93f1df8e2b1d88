// Work on tile memory that is deferred until its result is needed.
//
// There are two kinds. A load into Mat memory that is a plain copy of lines: on the NPU it would pass through Mat memory on its
// way to Left or Right, which here is a redundant copy; so the load is noted, and the move that follows reads global memory
// itself. And operands of a product that were written in the format that the tile registers read (amx.hpp).
//
// This is not observable. Whatever reads the bytes of a Mat, Left or Right tile gets them from Tile::data(), which does the
// work first (settle); so does a store to global memory that a load still has to read. A note whose tile is overwritten
// whole is dropped. Loads are deferred only while a launcher has named the tensors (cpu::allow), that is during one launch, in
// which these tensors exist and nothing else writes what the kernel reads; the kernel writes them only by instructions.
// The notes belong to a thread, as the memory does. These functions are called once or twice for a tile and compiled in
// every kernel, so they are optimised like the kernel itself (PTO_COLD).
#ifndef PTO_DETAIL_DEFERRED_HPP
#define PTO_DETAIL_DEFERRED_HPP

#include "memory.hpp"

namespace pto {
namespace detail {

void drop_held(int index);

void settle_held(int index);

void settle_bytes(const unsigned char* first, const unsigned char* last);

// Does the deferred work on `bytes` bytes of tile memory.
PTO_INLINE void settle(const void* first, int64_t bytes)
{
    if (__builtin_expect(kernel_state.held.count != 0, 0)) {
        const unsigned char* p = static_cast<const unsigned char*>(first);
        settle_bytes(p, p + bytes);
    }
}

// The global memory [begin, end) is about to be written: loads that still have to read it come first.
void settle_readers(uintptr_t begin, uintptr_t end);

// Adds a note. Overlapping notes of the same form that it overwrites whole are dropped, others settled.
void hold(const Held& note);

// The note on the tile of that form that begins there, or nullptr.
Held* find_held(const void* first, uint64_t form);

}  // namespace detail
}  // namespace pto

#endif
