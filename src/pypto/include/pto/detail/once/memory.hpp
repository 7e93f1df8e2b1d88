// The functions that core/memory.hpp declares and that are the same in every kernel.
#ifndef PTO_DETAIL_ONCE_MEMORY_HPP
#define PTO_DETAIL_ONCE_MEMORY_HPP

#include "../core/memory.hpp"

namespace pto {
namespace detail {

PTO_COLD PTO_ONCE bool is_over()
{
    const Launch* launch = kernel_state.launch;
    if (launch == nullptr || launch->run == nullptr) {
        return false;
    }
    return launch->python != nullptr ? launch->python->has_raised() : launch->run->is_over(launch->run);
}

PTO_LEAST PTO_ONCE void free_block(unsigned char* block)
{
    if (block != nullptr) {
        void* given;
        std::memcpy(&given, block - sizeof(given), sizeof(given));
        std::free(given);
    }
}

PTO_LEAST PTO_ONCE void record_error(int code, const char* message)
{
    if (core_state.code == kOk) {
        core_state.code = code;
        core_state.message = message;
    }
    leave();
}

PTO_LEAST PTO_ONCE void stop_if_over()
{
    if (is_over()) {
        record_error(kStopped, "the run has ended");
    }
}

PTO_LEAST PTO_ONCE unsigned char* aligned_block(int64_t bytes, int64_t align)
{
    void* given = std::malloc(static_cast<std::size_t>(bytes + align) + sizeof(given));
    if (given == nullptr) {
        record_error(kOutOfMemory, "tile memory of this thread could not be allocated");
        return nullptr;
    }
    const uintptr_t first = reinterpret_cast<uintptr_t>(given) + sizeof(given);
    const uintptr_t gap = (static_cast<uintptr_t>(align) - first % static_cast<uintptr_t>(align)) % static_cast<uintptr_t>(align);
    unsigned char* block = static_cast<unsigned char*>(given) + sizeof(given) + gap;
    std::memcpy(block - sizeof(given), &given, sizeof(given));
    return block;
}

PTO_LEAST PTO_ONCE unsigned char* allocate_scratch()
{
    static thread_local CoreReaper reaper{&core_state};
    (void)reaper;
    unsigned char* block = aligned_block(kLargePage, kLargePage);
    if (block != nullptr) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
        (void)madvise(block, static_cast<std::size_t>(kLargePage), MADV_HUGEPAGE);  // a request: small pages work as well
#endif
        std::memset(block, 0, static_cast<std::size_t>(kScratchBytes));
    }
    core_state.scratch = block;
    return block;
}

PTO_LIGHT PTO_ONCE unsigned char* resolve_in(int64_t region, uint64_t capacity, uint64_t addr, int64_t bytes)
{
    unsigned char* base = scratch();
    if (base == nullptr) {
        return nullptr;
    }
    base += region;
    const uint64_t host = reinterpret_cast<uintptr_t>(base);
    if (addr >= host && addr - host < capacity) {
        addr -= host;
    }
    if (addr > capacity || static_cast<uint64_t>(bytes) > capacity - addr) {
        record_error(kBadAddress, "TASSIGN: the tile does not fit into its memory at this address");
        return nullptr;
    }
    if (addr % kTileAlign != 0) {
        record_error(kBadAddress, "TASSIGN: the tile address is not a multiple of 32 bytes");
        return nullptr;
    }
    return base + addr;
}

PTO_ONCE const char* enter(const Launch& launch, uint32_t block_idx, uint32_t block_num, void (*body)(int64_t*), int64_t* args)
{
    if (launch.run != nullptr) {
        __atomic_store_n(&attention, &launch.run->host->attention, __ATOMIC_RELAXED);
    }
    cpu::reset_error();
    cpu::set_block(block_idx, block_num);
    CoreState* const core = address_once(core_state);
    KernelState* const state = address_once(kernel_state);
    state->launch = &launch;
#if defined(__cpp_exceptions)
    try {
        body(args);
    } catch (const Ended&) {
    }
#else
    body(args);
#endif
    state->launch = nullptr;
    return core->message;
}

}  // namespace detail
namespace cpu {

PTO_ONCE const char* launch(Run* run, uint32_t block_idx, uint32_t block_num, void (*body)(int64_t*), int64_t* args)
{
    if (run != nullptr && run->is_over == nullptr) {
        PythonCall call(*run->host);
        if (const char* refusal = call.begin()) {
            return refusal;
        }
        const char* found = detail::enter(detail::Launch{run, &call}, block_idx, block_num, body, args);
        call.end();
        return found;
    }
    return detail::enter(detail::Launch{run, nullptr}, block_idx, block_num, body, args);
}

}  // namespace cpu

}  // namespace pto

#endif
