// Ready tasks: one queue per thread, whose owner works at its end while others steal from its beginning.
#ifndef PTO_RUNTIME_STEAL_QUEUE_HPP
#define PTO_RUNTIME_STEAL_QUEUE_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace pto2 {

// After Chase and Lev. It never grows: it has room for all tasks that may be open. Operations are sequentially consistent
// where the original has fences, which the thread sanitizer does not support.
template <class T>
class StealQueue {
public:
    // Capacity is a power of two.
    explicit StealQueue(size_t capacity) : slots_(new std::atomic<T*>[capacity]), mask_(static_cast<int64_t>(capacity) - 1)
    {
        for (size_t i = 0; i < capacity; i++) {
            slots_[i].store(nullptr, std::memory_order_relaxed);
        }
    }

    // Owner only.
    void push(T* item)
    {
        const int64_t end = end_.load(std::memory_order_relaxed);
        slot(end).store(item, std::memory_order_relaxed);
        end_.store(end + 1, std::memory_order_seq_cst);
    }

    // Owner only: the newest item, or nullptr.
    T* pop()
    {
        const int64_t end = end_.load(std::memory_order_relaxed) - 1;
        if (begin_.load(std::memory_order_relaxed) > end) {
            return nullptr;
        }
        end_.store(end, std::memory_order_seq_cst);
        int64_t begin = begin_.load(std::memory_order_seq_cst);
        if (begin > end) {
            end_.store(end + 1, std::memory_order_relaxed);
            return nullptr;
        }
        T* item = slot(end).load(std::memory_order_relaxed);
        if (begin == end) {
            if (!begin_.compare_exchange_strong(begin, begin + 1, std::memory_order_seq_cst)) {
                item = nullptr;  // a thief was faster
            }
            end_.store(end + 1, std::memory_order_relaxed);
        }
        return item;
    }

    // Any thread: the oldest item, or nullptr if there is none or another thread has just taken it.
    T* steal()
    {
        int64_t begin = begin_.load(std::memory_order_seq_cst);
        if (begin >= end_.load(std::memory_order_seq_cst)) {
            return nullptr;
        }
        T* item = slot(begin).load(std::memory_order_relaxed);
        return begin_.compare_exchange_strong(begin, begin + 1, std::memory_order_seq_cst) ? item : nullptr;
    }

    bool looks_empty() const
    {
        return begin_.load(std::memory_order_seq_cst) >= end_.load(std::memory_order_seq_cst);
    }

private:
    std::atomic<T*>& slot(int64_t number) { return slots_[static_cast<size_t>(number & mask_)]; }

    std::unique_ptr<std::atomic<T*>[]> slots_;
    int64_t mask_;
    alignas(64) std::atomic<int64_t> begin_{0};
    alignas(64) std::atomic<int64_t> end_{0};
};

}  // namespace pto2

#endif
