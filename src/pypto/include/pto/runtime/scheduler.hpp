// Tasks, what each waits for, and the threads that run them.
//
// One thread, the caller, submits the tasks of a call in program order, finds the dependences of each, and runs tasks
// itself while it waits. It alone owns buffers, regions and memory, without locks. The other threads only
// run ready tasks, notify those that follow, and return finished ones through a lock-free list.
#ifndef PTO_RUNTIME_SCHEDULER_HPP
#define PTO_RUNTIME_SCHEDULER_HPP

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "../detail/core/stop.hpp"
#include "api.hpp"
#include "arena.hpp"
#include "steal_queue.hpp"
#include "access_map.hpp"

namespace pto2 {

struct Task;
struct Worker;
class Call;

// A parameter of a kernel, as the host describes it.
struct KernelParam {
    const char* name;
    const char* wanted;  // its type, as text
    int32_t is_tensor;
    int32_t writes;
    int32_t dtype;
    int32_t ndim;
    int64_t shape[kMaxDims];  // -1 for any size
};
// A size that the kernel takes after its arguments: the same in all of its places. One without places is solved for
// by the orchestration, which passes it after the parameters.
struct KernelSize {
    const char* name;
    const int32_t* places;  // pairs: parameter, dimension
    int64_t count;
};
struct Kernel {
    // Returns nullptr, or the error.
    const char* (*run)(int64_t* args, uint32_t block, uint32_t blocks, pto::cpu::Run* run);
    const char* name;
    const KernelParam* params;
    const KernelSize* sizes;
    int32_t count;
    int32_t size_count;
    int32_t solved_count;  // sizes without places
    int64_t* counters;     // calls and nanoseconds of a profiled kernel, its last argument; or nullptr
};

// A waiting task, in the list of the task that it waits for.
struct Edge {
    Task* task;
    Edge* next;
};

// A tensor that is not contiguous: kernels take dense ones, so it is copied there and back.
struct Staged {
    int32_t word;
    bool writes;
    int32_t ndim;
    int64_t item_bytes;
    char* data;
    int64_t shape[kMaxDims];
    int64_t strides[kMaxDims];  // in bytes
};

struct Buffer;

struct alignas(64) Task {
    std::atomic<int64_t> waits{0};
    std::atomic<Edge*> followers{nullptr};  // closed() once the task has run
    Call* call = nullptr;
    const Kernel* kernel = nullptr;  // nullptr: nothing to run, only dependences
    int64_t order = 0;               // position in program order
    uint64_t serial = 0;             // never used by another task
    uint64_t mark = 0;               // serial of the task that was last made to wait for this one
    int32_t line = 0;
    Task* next = nullptr;  // in the list of finished or unused tasks
    std::vector<int64_t> words;
    std::vector<Edge> edges;
    std::vector<Buffer*> buffers;
    std::vector<Staged> staged;
};

// Marks a list of followers to which nothing can be added.
inline Edge* closed()
{
    static Edge mark{nullptr, nullptr};
    return &mark;
}

// A task, unless its slot has been reused since.
struct TaskRef {
    Task* task = nullptr;
    uint64_t serial = 0;

    TaskRef() = default;
    explicit TaskRef(Task* of) : task(of), serial(of->serial) {}
    bool is_open() const
    {
        return task != nullptr && task->serial == serial && task->followers.load(std::memory_order_acquire) != closed();
    }
    bool is(const Task* other) const { return task == other && other->serial == serial; }
};

// The open accesses to one box.
struct Access {
    TaskRef writer;
    std::vector<TaskRef> readers;  // since the last write; in a launch, its tasks, which write parts that do not overlap
    uint64_t launch = 0;           // 0 outside a launch

    bool is_open()
    {
        if (writer.is_open()) {
            return true;
        }
        size_t kept = 0;
        for (const TaskRef& reader : readers) {
            if (reader.is_open()) {
                readers[kept++] = reader;
            }
        }
        readers.resize(kept);
        return kept > 0;
    }
};

struct Buffer : PTO2Buffer {
    int64_t tasks;       // open ones that use it
    int64_t size_bytes;  // of the block
    int64_t shape[kMaxDims];
    int32_t ndim;
    int32_t external;  // the number of the caller's tensor, -1 for one made here
    bool is_given;     // the block is handed to the caller
    bool has_launches; // some access to it is in a launch, or was
    RegionIndex<Access> index;
};

inline void pause_briefly()
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

struct Worker {
    explicit Worker(size_t capacity) : ready(capacity) {}
    StealQueue<Task> ready;
    int number = 0;
    std::vector<char> scratch;  // dense copies of strided tensors
    std::vector<int64_t> words;
};

// Threads that live as long as the process. Worker 0 is the calling thread.
class Pool {
public:
    static constexpr int64_t kWindow = 1024;  // tasks that may be open
    static constexpr int kSpins = 2000;       // attempts to find work before a thread sleeps: about 50 us

    explicit Pool(int threads)
    {
        for (int i = 0; i < threads; i++) {
            workers_.emplace_back(new Worker(kWindow));
            workers_.back()->number = i;
        }
        for (int i = 1; i < threads; i++) {
            std::thread(&Pool::work, this, i).detach();
        }
    }

    int threads() const { return static_cast<int>(workers_.size()); }
    Worker& caller() { return *workers_[0]; }
    Arena& arena() { return arena_; }
    uint64_t next_serial() { return ++serial_; }

    // An unused task, or nullptr while all are open.
    Task* unused()
    {
        Task* task = unused_;
        if (task != nullptr) {
            unused_ = task->next;
            return task;
        }
        if (static_cast<int64_t>(tasks_.size()) == kWindow) {
            return nullptr;
        }
        tasks_.emplace_back(new Task());
        return tasks_.back().get();
    }
    void put_back(Task* task)
    {
        task->next = unused_;
        unused_ = task;
    }

    Task* find(Worker& self)
    {
        Task* task = self.ready.pop();
        const int count = threads();
        for (int i = 1; task == nullptr && i < count; i++) {
            task = workers_[static_cast<size_t>((self.number + i) % count)]->ready.steal();
        }
        return task;
    }

    void push(Worker& self, Task* task)
    {
        self.ready.push(task);
        wake();
    }

    // The caller sleeps until a task ends; then `is_done` is tested again.
    template <class Test>
    void sleep_until(Test&& is_done)
    {
        std::unique_lock<std::mutex> lock(caller_mutex_);
        caller_sleeps_.store(true, std::memory_order_seq_cst);
        if (!is_done() && !any_ready()) {
            caller_wakes_.wait_for(lock, std::chrono::milliseconds(20));
        }
        caller_sleeps_.store(false, std::memory_order_relaxed);
    }
    void task_ended()
    {
        if (caller_sleeps_.load(std::memory_order_seq_cst)) {
            std::lock_guard<std::mutex> lock(caller_mutex_);
            caller_wakes_.notify_one();
        }
    }

private:
    std::vector<std::unique_ptr<Worker>> workers_;
    std::vector<std::unique_ptr<Task>> tasks_;
    Task* unused_ = nullptr;
    Arena arena_;
    uint64_t serial_ = 0;
    std::mutex mutex_;
    std::condition_variable wakes_;
    alignas(64) std::atomic<int> sleepers_{0};
    std::atomic<bool> is_waking_{false};
    uint64_t tickets_ = 0;
    alignas(64) std::atomic<bool> caller_sleeps_{false};
    std::mutex caller_mutex_;
    std::condition_variable caller_wakes_;

    bool any_ready() const
    {
        for (const std::unique_ptr<Worker>& worker : workers_) {
            if (!worker->ready.looks_empty()) {
                return true;
            }
        }
        return false;
    }

    // Wakes one thread unless one is waking already, which then checks all queues and wakes the next.
    void wake()
    {
        if (sleepers_.load(std::memory_order_seq_cst) > 0 && !is_waking_.exchange(true, std::memory_order_seq_cst)) {
            std::lock_guard<std::mutex> lock(mutex_);
            tickets_++;
            wakes_.notify_one();
        }
    }

    inline void work(int number);

    void sleep()
    {
        std::unique_lock<std::mutex> lock(mutex_);
        const uint64_t seen = tickets_;
        sleepers_.fetch_add(1, std::memory_order_seq_cst);
        // A wake that found its sleeper already awake wakes no thread: without this, no later one would wake
        // any. The work it was for is searched for next.
        is_waking_.store(false, std::memory_order_seq_cst);
        if (!any_ready()) {
            wakes_.wait(lock, [&] { return tickets_ != seen; });
        }
        sleepers_.fetch_sub(1, std::memory_order_seq_cst);
        is_waking_.store(false, std::memory_order_seq_cst);
    }
};

// The results of a call, laid out for the host.
struct Result {
    int32_t is_tensor;
    int32_t external;  // the number of the caller's tensor, -1 for a new one
    uint64_t word;     // of a scalar
    char* data;        // of the whole buffer
    int32_t dtype;
    int32_t ndim;
    int64_t whole[kMaxDims];  // shape of the buffer
    int64_t starts[kMaxDims];
    int64_t shape[kMaxDims];
};
struct Report {
    int32_t failed;
    int32_t line;
    int32_t in_kernel;  // 0, or the number of the kernel that reports, counted from 1
    int32_t stopped;  // a signal handler raised
    char slug[32];
    char message[2048];
    int64_t tasks;
    int64_t peak_bytes;
    int64_t most_open;
    int32_t result_count;
    int32_t result_room;
    Result* results;
};
struct Options {
    int64_t window;        // tasks that may be open, 0 for the pool's
    int64_t delay_ns;      // the longest delay before each task: for tests
    int64_t budget_bytes;  // of tensors used only by tasks, 0 for the default
    pto::cpu::Host* host;
    // Evaluates op `number` on the parameters and sets `is_done`; leaves it unset on failure, and then the host knows why. A
    // return value would be arbitrary if the function ends before its first statement, as a signal can cause.
    void (*python)(int number, const Result* params, int count, Result* result, int32_t* is_done);
};

}  // namespace pto2

#endif
