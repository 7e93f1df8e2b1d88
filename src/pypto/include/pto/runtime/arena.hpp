// Memory of the tensors that orchestrations make: blocks by size, reused as soon as they are released.
//
// An arena is used by one thread at a time. What is kept for later calls is bounded.
#ifndef PTO_RUNTIME_ARENA_HPP
#define PTO_RUNTIME_ARENA_HPP

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace pto2 {

constexpr int64_t kAlign = 64;

// Memory at a multiple of 64 bytes: the address from malloc is stored before it.
inline char* aligned_new(int64_t bytes)
{
    void* given = std::malloc(static_cast<size_t>(bytes + kAlign) + sizeof(given));
    if (given == nullptr) {
        return nullptr;
    }
    char* first = static_cast<char*>(given) + sizeof(given);
    first += (kAlign - static_cast<int64_t>(reinterpret_cast<uintptr_t>(first) % kAlign)) % kAlign;
    std::memcpy(first - sizeof(given), &given, sizeof(given));
    return first;
}
inline void aligned_delete(char* first)
{
    if (first != nullptr) {
        void* given;
        std::memcpy(&given, first - sizeof(given), sizeof(given));
        std::free(given);
    }
}

class Arena {
public:
    static constexpr int64_t kKeptBytes = 256 << 20;  // of free blocks, between calls

    ~Arena() { trim(0); }

    // A block of at least `bytes` bytes, or nullptr; `size` becomes its actual size.
    char* take(int64_t bytes, int64_t& size)
    {
        const int number = class_of(bytes);
        size = class_bytes(number);
        std::vector<char*>& free = free_[number];
        char* block;
        if (!free.empty()) {
            block = free.back();
            free.pop_back();
            kept_ -= size;
        } else {
            block = aligned_new(size);
            if (block == nullptr) {  // free blocks of other sizes may hold the missing memory
                trim(0);
                block = aligned_new(size);
            }
            if (block == nullptr) {
                return nullptr;
            }
        }
        live_ += size;
        peak_ = live_ > peak_ ? live_ : peak_;
#if defined(PTO_POISON)
        std::memset(block, 0xff, static_cast<size_t>(size));  // NaN, so that reads of it are noticed
#endif
        return block;
    }

    void give(char* block, int64_t size)
    {
        free_[class_of(size)].push_back(block);
        live_ -= size;
        kept_ += size;
    }

    // Transfers ownership of the block to the caller, who calls aligned_delete.
    void release_ownership(int64_t size) { live_ -= size; }

    // Frees blocks, the largest first, until at most `most` bytes are unused.
    void trim(int64_t most)
    {
        for (int number = kClasses - 1; number >= 0 && kept_ > most; number--) {
            std::vector<char*>& free = free_[number];
            while (!free.empty() && kept_ > most) {
                aligned_delete(free.back());
                free.pop_back();
                kept_ -= class_bytes(number);
            }
        }
    }

    int64_t live() const { return live_; }
    int64_t peak() const { return peak_; }
    void restart_peak() { peak_ = live_; }

private:
    static constexpr int kClasses = 4 * 56;
    std::vector<char*> free_[kClasses];
    int64_t live_ = 0, peak_ = 0, kept_ = 0;

    // Four sizes to each power of two from 64 bytes on: at most a quarter of a block is unused.
    static int64_t class_bytes(int number) { return (int64_t{4 + number % 4} << (number / 4)) * 16; }
    static int class_of(int64_t bytes)
    {
        int64_t units = (bytes + 15) / 16;
        int power = 0;
        while (units > 7) {
            units = (units + 1) / 2;
            power++;
        }
        units = units < 4 ? 4 : units;
        return 4 * power + static_cast<int>(units) - 4;
    }
};

}  // namespace pto2

#endif
