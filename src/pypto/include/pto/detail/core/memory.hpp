// The memory of one core as a thread sees it: one scratch region per tile location with the capacities of the A2/A3 chip,
// the sticky error of the thread, and the block identity. The launcher's interface is namespace pto::cpu.
#ifndef PTO_DETAIL_MEMORY_HPP
#define PTO_DETAIL_MEMORY_HPP

#include <cstdlib>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "enums.hpp"
#include "stop.hpp"

namespace pto {
namespace detail {

constexpr int64_t kKiB = 1024;

// Byte capacity of each location (A2/A3). ScaleLeft, ScaleRight and Ctrl do not exist on this chip; they get a small
// separate region so that such tiles still have an address space.
constexpr int64_t capacity_of(TileType loc)
{
    return loc == TileType::Vec       ? 192 * kKiB
           : loc == TileType::Mat     ? 512 * kKiB
           : loc == TileType::Left    ? 64 * kKiB
           : loc == TileType::Right   ? 64 * kKiB
           : loc == TileType::Acc     ? 128 * kKiB
           : loc == TileType::Bias    ? 1 * kKiB
           : loc == TileType::Scaling ? 2 * kKiB
                                      : 4 * kKiB;
}
constexpr int kLocations = 10;
constexpr int64_t region_start(int index)
{
    int64_t start = 0;
    for (int i = 0; i < index; ++i) {
        start += capacity_of(static_cast<TileType>(i));
    }
    return start;
}
constexpr int64_t kScratchBytes = region_start(kLocations);
constexpr int64_t kTileAlign = 32;

enum ErrorCode : int {
    kOk = 0,
    kBadAddress,     // TASSIGN out of range or misaligned
    kNoAddress,      // instruction on a tile without an address
    kBadValidShape,  // valid size larger than the physical tile
    kShapeMismatch,  // operand sizes do not fit together
    kOutOfMemory,
    kOutOfBounds,    // a transfer leaves the tensors that the launcher named
    kKernelError,    // reported by the kernel itself
    kStopped,        // not an error: the run that the kernel belongs to has ended
};

// Per-thread state. Plain data without constructor, so that access needs no initialisation guard. The version in the name
// separates kernels that were compiled against different headers within one process.
// Default visibility lets all kernels of a process share one core per thread, where the linker unifies such variables.
struct PTO_SHARED CoreState {
    unsigned char* scratch;
    unsigned char* work;  // a work buffer that is too large to follow the scratch
    int64_t work_bytes;
    const char* message;
    int code;
    uint32_t block_idx;
    uint32_t block_num;  // 0 reads as 1
    uint32_t sub_idx;
    uint32_t sub_num;  // 0 reads as 1
};

inline namespace state_v2 {
PTO_SHARED inline thread_local CoreState core_state = {nullptr, nullptr, 0, nullptr, kOk, 0, 0, 0, 0};
}

// The global memory that the kernel may access, as the launcher named it. Nothing is checked while none is named.
constexpr int kMaxExtents = 64;
struct Extent {
    uintptr_t begin, end;
    const char* name;      // of the tensor, or nullptr
    const int64_t* shape;  // of a dense one, `rank` sizes
    int rank;
};
struct Extents {
    int count;
    const char* kernel;  // its name, or nullptr
    Extent of[kMaxExtents];
};

// Bytes of tile memory with deferred work: see deferred.hpp.
struct Held {
    unsigned char *first, *last;
    uint64_t form;                 // of the tile: equal forms at the same place have the same meaning
    int64_t count, length;         // its lines and elements per line (or rows and columns) that the note covers
    const char *from, *from_end;   // global memory still to be read, or nullptr
    int64_t step;                  // bytes between lines there
    int64_t budget;                // bytes to be read from there before doing the work pays
    void (*settle)(const Held&);
};
constexpr int kMaxHeld = 8;
struct HeldWork {
    int count;
    Held of[kMaxHeld];
};

// More state of a thread about the kernel that it runs, only for kernels of this object. One variable, because looking up the
// address of a thread-local variable is a call, which takes as long as the rest of an empty launch.
struct KernelState {
    const Launch* launch;  // nullptr outside of one
    Extents extents;
    HeldWork held;
};
inline thread_local KernelState kernel_state = {};

bool is_over();

// Ends the launch of this thread; returns if there is none.
inline void leave()
{
#if defined(__cpp_exceptions)
    if (kernel_state.launch != nullptr) {
        throw Ended();
    }
#endif
}

// The address of a thread-local variable, kept in a register: after a call the compiler would look it up again.
template <class T>
PTO_INLINE T* address_once(T& variable)
{
    T* address = &variable;
    __asm__("" : "+r"(address));
    return address;
}

// Tile memory and the work buffer of a thread share one large page where the system has them: both are walked in strides so
// large that a small page holds a single line. The pages are first touched by the thread that uses them.
constexpr int64_t kLargePage = 2048 * kKiB;

// Blocks start at multiples of 64 bytes or more. The address from malloc is in the word before the block (there is no
// aligned allocation that all C libraries share).
void free_block(unsigned char* block);

// Frees the buffers at thread exit; constructed with the scratch. The system keeps the object with its code loaded, so only
// the first object of a thread registers it: the others can be unloaded.
struct CoreReaper {
    CoreState* state;
    PTO_LEAST ~CoreReaper()
    {
        free_block(state->scratch);
        free_block(state->work);
        state->scratch = nullptr;
        state->work = nullptr;
        state->work_bytes = 0;
    }
};

// Keeps only the first error, and ends the launch; a kernel that is called without one continues. `message` must be a string
// literal.
void record_error(int code, const char* message);

void stop_if_over();

unsigned char* aligned_block(int64_t bytes, int64_t align);

unsigned char* allocate_scratch();

PTO_INLINE unsigned char* scratch()
{
    unsigned char* base = core_state.scratch;
    return __builtin_expect(base != nullptr, 1) ? base : allocate_scratch();
}

// A buffer of at least `bytes` that lives until the next request; nullptr (and an error) if there is no memory.
inline unsigned char* work_buffer(int64_t bytes)
{
    constexpr int64_t behind = round_up(kScratchBytes, 4096);
    if (bytes <= kLargePage - behind) {
        unsigned char* base = scratch();
        return base == nullptr ? nullptr : base + behind;
    }
    if (bytes > core_state.work_bytes) {
        if (scratch() == nullptr) {  // its reaper frees the work buffer as well
            return nullptr;
        }
        free_block(core_state.work);
        core_state.work_bytes = 0;
        core_state.work = aligned_block(bytes, 64);
        if (core_state.work != nullptr) {
            core_state.work_bytes = bytes;
        }
    }
    return core_state.work;
}

// The host address of `bytes` bytes at `addr` in a location, or nullptr after an error was recorded. A host pointer into the
// region, written as an integer, is accepted as well.
unsigned char* resolve_in(int64_t region, uint64_t capacity, uint64_t addr, int64_t bytes);
template <TileType Loc>
PTO_INLINE unsigned char* resolve(uint64_t addr, int64_t bytes)
{
    constexpr int64_t region = region_start(static_cast<int>(Loc)), capacity = capacity_of(Loc);
    return resolve_in(region, static_cast<uint64_t>(capacity), addr, bytes);
}

}  // namespace detail

// The interface for launchers. All functions act on the calling thread.
namespace cpu {

// Fills all tile memory of this thread with one byte.
inline void poison(uint8_t byte)
{
    detail::kernel_state.held.count = 0;
    if (unsigned char* base = detail::scratch()) {
        std::memset(base, byte, static_cast<std::size_t>(detail::kScratchBytes));
    }
}

// Called at the start of a launch. With PTO_POISON tile memory then holds NaN, which exposes reads of uninitialised memory.
inline void reset_error()
{
    detail::core_state.code = detail::kOk;
    detail::core_state.message = nullptr;
    detail::kernel_state.extents.count = 0;
    detail::kernel_state.extents.kernel = nullptr;
    detail::kernel_state.held.count = 0;
#if defined(PTO_POISON)
    poison(0xff);
#endif
}
// Gives the kernel a name for messages: a string literal.
inline void name_kernel(const char* name) { detail::kernel_state.extents.kernel = name; }
// Names a tensor that the kernel may access. After the first call, TLOAD and TSTORE record an error instead of leaving
// the named tensors, until reset_error. Until then the tensors must exist, and a tensor that is loaded may be written only by
// instructions of this thread: loads may be deferred (deferred.hpp). Name and sizes are for messages; they
// are not copied.
inline void allow(const void* first, int64_t bytes, const char* name = nullptr, const int64_t* shape = nullptr, int rank = 0)
{
    detail::Extents& known = detail::kernel_state.extents;
    if (known.count < detail::kMaxExtents) {
        const uintptr_t begin = reinterpret_cast<uintptr_t>(first);
        known.of[known.count++] = {begin, begin + static_cast<uintptr_t>(bytes), name, shape, rank};
    }
}
// Records an error of the kernel's own; `message` must be a string literal.
inline void fail(const char* message) { detail::record_error(detail::kKernelError, message); }
// `value` rounded toward zero; values out of range become the type's nearest number, and NaN becomes 0.
template <class T>
inline T nearest_integer(double value)
{
    using Limits = std::numeric_limits<T>;
    const double over = 2.0 * static_cast<double>(Limits::max() / 2 + 1);  // a power of two
    if (!(value < over)) {
        return value >= over ? Limits::max() : T(0);
    }
    return value <= static_cast<double>(Limits::min()) ? Limits::min() : static_cast<T>(value);
}
// Message of the first error since reset_error, or nullptr.
inline const char* error() { return detail::core_state.message; }
inline int error_code() { return detail::core_state.code; }

// Every iteration of a kernel's loops begins with this, so that any loop can be stopped.
PTO_INLINE void checkpoint()
{
    const int32_t* word = __atomic_load_n(&detail::attention, __ATOMIC_RELAXED);
    if (__builtin_expect(__atomic_load_n(word, __ATOMIC_RELAXED) != 0, 0)) {
        detail::stop_if_over();
    }
}

inline void set_block(uint32_t idx, uint32_t num)
{
    detail::core_state.block_idx = idx;
    detail::core_state.block_num = num;
}
inline void set_subblock(uint32_t idx, uint32_t num)
{
    detail::core_state.sub_idx = idx;
    detail::core_state.sub_num = num;
}

// Runs `body`, a kernel with the tensors that it may access, to its end or to its first error, which is returned. `run` says
// what may end it earlier; nullptr if nothing may.
const char* launch(Run* run, uint32_t block_idx, uint32_t block_num, void (*body)(int64_t* args), int64_t* args);

}  // namespace cpu

}  // namespace pto

#endif
