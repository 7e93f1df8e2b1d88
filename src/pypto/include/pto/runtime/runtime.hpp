// One call of an orchestration, and the functions through which its C++ and the host reach it.
//
// Included by one object of a process, which exports pto2_pool and pto2_call.
#ifndef PTO_RUNTIME_RUNTIME_HPP
#define PTO_RUNTIME_RUNTIME_HPP

#include <cstdio>

#include "scheduler.hpp"

namespace pto2 {

inline int64_t item_bytes(DataType dtype)
{
    switch (dtype) {
        case DataType::INT64:
        case DataType::UINT64:
        case DataType::FLOAT64:
            return 8;
        case DataType::FLOAT32:
        case DataType::INT32:
        case DataType::UINT32:
            return 4;
        case DataType::FLOAT16:
        case DataType::BFLOAT16:
        case DataType::INT16:
        case DataType::UINT16:
            return 2;
        default:
            return 1;
    }
}

// NumPy's name of the type.
inline const char* type_name(DataType dtype)
{
    static const char* const names[] = {"float32", "float16", "int32", "int16", "int8", "uint8", "bfloat16", "int64",
        "uint64", "uint16", "uint32", "float64", "bool", "float8_e4m3fn", "float8_e5m2", "unknown"};
    return names[static_cast<int>(dtype)];
}

inline std::string list_text(const int64_t* values, int count)
{
    std::string text = "[";
    for (int i = 0; i < count; i++) {
        text += (i > 0 ? ", " : "") + std::to_string(values[i]);
    }
    return text + "]";
}

// Copies a strided tensor to dense memory, or back.
inline void copy_staged(const Staged& from, char* dense, bool to_dense)
{
    int64_t row = from.item_bytes;  // contiguous bytes
    int depth = from.ndim;
    while (depth > 0 && from.strides[depth - 1] == row) {
        row *= from.shape[--depth];
    }
    int64_t at[kMaxDims] = {};
    int64_t rows = 1;
    for (int i = 0; i < depth; i++) {
        rows *= from.shape[i];
    }
    char* place = from.data;
    for (int64_t i = 0; i < rows; i++) {
        if (to_dense) {
            std::memcpy(dense, place, static_cast<size_t>(row));
        } else {
            std::memcpy(place, dense, static_cast<size_t>(row));
        }
        dense += row;
        for (int axis = depth - 1; axis >= 0; axis--) {
            place += from.strides[axis];
            if (++at[axis] < from.shape[axis]) {
                break;
            }
            place -= from.strides[axis] * from.shape[axis];
            at[axis] = 0;
        }
    }
}

inline int64_t staged_bytes(const Staged& of)
{
    int64_t bytes = of.item_bytes;
    for (int i = 0; i < of.ndim; i++) {
        bytes *= of.shape[i];
    }
    return (bytes + kAlign - 1) / kAlign * kAlign;
}

// A copy of a kernel's error: a text, or a report of bounds.hpp, which has its size after a mark.
inline std::string report_of(const char* message)
{
    int32_t size = 0;
    if (message[0] == 1) {
        std::memcpy(&size, message + 4, sizeof(size));
        return std::string(message, static_cast<size_t>(size));
    }
    return message;
}

// Runs a kernel; returns nullptr, or the error. A tensor that is passed twice is copied once.
inline const char* run_kernel(const Kernel& kernel, std::vector<int64_t>& words, const std::vector<Staged>& staged,
    Worker& worker, pto::cpu::Run& run)
{
    if (staged.empty()) {
        return kernel.run(words.data(), 0, 1, &run);
    }
    int64_t bytes = kAlign;
    for (const Staged& each : staged) {
        bytes += staged_bytes(each);
    }
    if (static_cast<int64_t>(worker.scratch.size()) < bytes) {
        worker.scratch.resize(static_cast<size_t>(bytes));
    }
    char* first = worker.scratch.data();
    first += (kAlign - static_cast<int64_t>(reinterpret_cast<uintptr_t>(first) % kAlign)) % kAlign;
    char* free = first;
    for (size_t i = 0; i < staged.size(); i++) {
        char* copy = nullptr;
        for (size_t j = 0; j < i && copy == nullptr; j++) {
            // Tensors of one task that overlap are the same, or only read.
            const bool equal = staged[j].data == staged[i].data && std::memcmp(staged[j].shape, staged[i].shape, sizeof(int64_t) * static_cast<size_t>(staged[i].ndim)) == 0;
            copy = equal ? reinterpret_cast<char*>(words[static_cast<size_t>(staged[j].word)]) : nullptr;
        }
        if (copy == nullptr) {
            copy = free;
            free += staged_bytes(staged[i]);
            copy_staged(staged[i], copy, true);
        }
        words[static_cast<size_t>(staged[i].word)] = static_cast<int64_t>(reinterpret_cast<uintptr_t>(copy));
    }
    const char* error = kernel.run(words.data(), 0, 1, &run);
    for (const Staged& each : staged) {
        if (each.writes) {
            copy_staged(each, reinterpret_cast<char*>(words[static_cast<size_t>(each.word)]), false);
        }
    }
    return error;
}

class Call : public PTO2Runtime {
public:
    Call(Pool& pool, const Kernel* kernels, int32_t kernel_count, const Options& options, Report& report,
        pto::cpu::PythonCall& python)
        : pool_(pool), kernels_(kernels), kernel_count_(kernel_count), options_(options), report_(report), python_(python)
    {
        call = functions();
        attention = &options.host->attention;
        window_ = options.window > 0 && options.window < Pool::kWindow ? options.window : Pool::kWindow;
        budget_ = options.budget_bytes > 0 ? options.budget_bytes : kBudgetBytes;
        is_inline_ = pool.threads() == 1;
        pool.arena().restart_peak();
    }

    // Waits for all tasks; then the report is complete.
    void finish()
    {
        help_until([&] { return open_ == 0; });
        for (Buffer* buffer : all_buffers_) {
            delete buffer;
        }
        all_buffers_.clear();
        if (failed_at_.load(std::memory_order_acquire) < kNever) {
            pto::cpu::unsay_over(*options_.host);
            std::lock_guard<std::mutex> lock(failure_mutex_);
            report_.failed = 1;
            if (failure_line_ >= 0) {  // the task precedes what failed here
                report_.in_kernel = 1 + failure_kernel_;
                report_.line = failure_line_;
                std::snprintf(report_.slug, sizeof(report_.slug), "kernel");
                const size_t size = std::min(failure_.size(), sizeof(report_.message) - 1);
                std::memcpy(report_.message, failure_.data(), size);
                report_.message[size] = 0;
            }
        }
        if (report_.failed != 0) {
            for (char* block : given_) {
                aligned_delete(block);
            }
            report_.result_count = 0;
        }
        report_.tasks = order_;
        report_.peak_bytes = pool_.arena().peak();
        report_.most_open = most_open_;
        pool_.arena().trim(Arena::kKeptBytes);
    }

    // Runs a task; returns a task that has become ready by this, or nullptr.
    Task* execute(Worker& worker, Task* task)
    {
        if (task->kernel != nullptr && task->order < failed_at_.load(std::memory_order_acquire)) {
            delay(task->order);
            TaskRun run(*this, worker, task->order);
            const char* error = run_kernel(*task->kernel, task->words, task->staged, worker, run);
            if (error != nullptr) {
                note_failure(task->order, task->line, *task->kernel, error);
            }
        }
        Edge* edge = task->followers.exchange(closed(), std::memory_order_acq_rel);
        Task* following = nullptr;
        while (edge != nullptr) {
            Task* follower = edge->task;
            edge = edge->next;  // before the follower can run, and its slot be reused
            if (follower->waits.fetch_sub(1, std::memory_order_acq_rel) == 1) {
                if (following != nullptr) {
                    pool_.push(worker, following);
                }
                following = follower;
            }
        }
        Task* head = finished_.load(std::memory_order_relaxed);
        do {
            task->next = head;
        } while (!finished_.compare_exchange_weak(head, task, std::memory_order_seq_cst, std::memory_order_relaxed));
        return following;
    }

private:
    static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
    static constexpr int64_t kBudgetBytes = 64 << 20;
    static constexpr size_t kJoin = 16;  // this many dependences are replaced by one task, which later tasks wait for instead

    // A running task. It is over when an earlier one has failed, or when the call must stop.
    struct TaskRun : pto::cpu::Run {
        Call& owner;
        int64_t order;
        bool is_callers;  // in the calling thread, which also checks for signals

        TaskRun(Call& call, const Worker& worker, int64_t number)
            : Run{call.options_.host, &TaskRun::has_ended}, owner(call), order(number), is_callers(worker.number == 0)
        {
        }
        static bool has_ended(Run* run)
        {
            TaskRun& self = *static_cast<TaskRun*>(run);
            if (self.is_callers) {
                self.owner.is_interrupted();
            }
            return self.order > self.owner.failed_at_.load(std::memory_order_acquire);
        }
    };

    Pool& pool_;
    const Kernel* kernels_;
    int32_t kernel_count_;
    const Options& options_;
    Report& report_;
    pto::cpu::PythonCall& python_;
    int64_t window_, budget_;
    bool is_inline_;
    int64_t open_ = 0, most_open_ = 0, order_ = 0, pending_bytes_ = 0, externals_ = 0;
    uint64_t launches_ = 0;
    std::vector<Task*> before_;  // the dependences of the task being submitted
    std::vector<Task*> joined_;
    std::vector<Buffer*> all_buffers_, free_buffers_;
    std::vector<Staged> staged_;
    TaskRun run_{*this, pool_.caller(), 0};  // for tasks that run where they are submitted
    std::vector<char*> given_;

    alignas(64) std::atomic<Task*> finished_{nullptr};
    std::atomic<int64_t> failed_at_{kNever};
    std::mutex failure_mutex_;
    std::string failure_;
    int32_t failure_line_ = -1;
    int32_t failure_kernel_ = 0;

    // ----- Errors ----------------------------------------------------------------------------------------------------

    // If several tasks fail, the first in program order counts: all tasks before it run.
    void note_failure(int64_t order, int32_t line, const Kernel& kernel, const char* message)
    {
        std::lock_guard<std::mutex> lock(failure_mutex_);
        if (order < failed_at_.load(std::memory_order_relaxed)) {
            failure_ = report_of(message);
            failure_line_ = line;
            failure_kernel_ = static_cast<int32_t>(&kernel - kernels_);
            failed_at_.store(order, std::memory_order_release);
            pto::cpu::signal_over(*options_.host);  // later tasks that are running already are over
        }
    }

    void fail(int line, const char* slug, const char* message)
    {
        report_.failed = 1;
        report_.line = line;
        std::snprintf(report_.slug, sizeof(report_.slug), "%s", slug);
        std::snprintf(report_.message, sizeof(report_.message), "%s", message);
    }

    bool has_failed() const { return failed_at_.load(std::memory_order_relaxed) < kNever; }

    // ----- Stopping --------------------------------------------------------------------------------------------------

    // Only in the caller's thread: lets Python handle pending signals, and stops the call if a handler raises.
    bool is_interrupted()
    {
        if (__builtin_expect(__atomic_load_n(attention, __ATOMIC_RELAXED) == 0, 1)) {
            return report_.stopped != 0;
        }
        return stop_if(python_.has_raised());
    }

    bool stop_if(bool has_raised)
    {
        if (has_raised && report_.stopped == 0) {
            report_.stopped = 1;
            std::lock_guard<std::mutex> lock(failure_mutex_);
            failure_line_ = -1;
            failed_at_.store(-1, std::memory_order_release);  // no more tasks start
        }
        if (has_failed()) {
            pto::cpu::signal_over(*options_.host);  // again: the end of another call may have reset it
        }
        return report_.stopped != 0;
    }

    void delay(int64_t order) const
    {
        if (options_.delay_ns > 0) {
            uint64_t hash = static_cast<uint64_t>(order + 1) * 0x9e3779b97f4a7c15u;
            hash ^= hash >> 31;
            const auto until = std::chrono::steady_clock::now() +
                               std::chrono::nanoseconds(static_cast<int64_t>(hash % static_cast<uint64_t>(options_.delay_ns)));
            while (std::chrono::steady_clock::now() < until) {
                std::this_thread::yield();
            }
        }
    }

    // ----- Waiting ---------------------------------------------------------------------------------------------------

    // Releases what finished tasks used.
    void collect()
    {
        Task* task = finished_.load(std::memory_order_relaxed);
        if (task == nullptr) {
            return;
        }
        task = finished_.exchange(nullptr, std::memory_order_acquire);
        while (task != nullptr) {
            Task* next = task->next;
            for (Buffer* buffer : task->buffers) {
                buffer->tasks--;
                if (buffer->tasks == 0 && buffer->handles == 0) {
                    pending_bytes_ -= buffer->size_bytes;
                    free_buffer(buffer);
                }
            }
            open_--;
            pool_.put_back(task);
            task = next;
        }
    }

    // Runs tasks until `is_done`, and sleeps while none is ready.
    template <class Test>
    void help_until(Test&& is_done)
    {
        int idle = 0;
        while (true) {
            collect();
            if (is_done()) {
                return;
            }
            Task* task = pool_.find(pool_.caller());
            if (task != nullptr) {
                idle = 0;
                while (task != nullptr) {
                    task = execute(pool_.caller(), task);
                }
                is_interrupted();
                continue;
            }
            pause_briefly();
            if (++idle % 64 == 0) {
                std::this_thread::yield();
                is_interrupted();
            }
            if (idle > Pool::kSpins) {
                pool_.sleep_until([&] { return finished_.load(std::memory_order_seq_cst) != nullptr; });
                is_interrupted();
                idle = Pool::kSpins / 2;
            }
        }
    }

    // ----- Buffers ---------------------------------------------------------------------------------------------------

    Buffer* create(void* data, const uint64_t* shape, int ndim, DataType dtype, int line)
    {
        int64_t bytes = item_bytes(dtype);
        bool fits = true;
        for (int i = 0; i < ndim; i++) {
            const int64_t size = static_cast<int64_t>(shape[i]);
            fits = fits && size >= 0 && !__builtin_mul_overflow(bytes, size, &bytes);
        }
        if (!fits) {
            std::vector<int64_t> sizes(shape, shape + ndim);
            fail(line, "tensor-size", ("cannot allocate a tensor of shape " + list_text(sizes.data(), ndim)).c_str());
            return nullptr;
        }
        if (has_failed()) {
            return nullptr;
        }
        Buffer* buffer = data != nullptr ? new_buffer() : made_buffer(bytes, line);
        if (buffer == nullptr) {
            return nullptr;
        }
        if (data != nullptr) {
            buffer->data = static_cast<char*>(data);
            buffer->external = static_cast<int32_t>(externals_++);
            buffer->size_bytes = 0;
        }
        buffer->ndim = ndim;
        int64_t stride = item_bytes(dtype);
        for (int i = ndim - 1; i >= 0; i--) {
            buffer->shape[i] = static_cast<int64_t>(shape[i]);
            buffer->strides[i] = stride;
            stride *= buffer->shape[i];
        }
        if (!is_inline_) {
            buffer->index.reset(ndim);
        }
        return buffer;
    }

    Buffer* new_buffer()
    {
        Buffer* buffer;
        if (!free_buffers_.empty()) {
            buffer = free_buffers_.back();
            free_buffers_.pop_back();
        } else {
            buffer = new Buffer();
            all_buffers_.push_back(buffer);
        }
        buffer->runtime = this;
        buffer->handles = 0;
        buffer->tasks = 0;
        buffer->external = -1;
        buffer->is_given = false;
        buffer->has_launches = false;
        return buffer;
    }

    Buffer* made_buffer(int64_t bytes, int line)
    {
        collect();
        if (pending_bytes_ > 0 && pending_bytes_ + bytes > budget_) {
            // Memory is bounded: wait for tensors that are used only by tasks.
            help_until([&] { return open_ == 0 || pending_bytes_ + bytes <= budget_ / 2; });
        }
        int64_t size = 0;
        char* block = pool_.arena().take(bytes, size);
        if (block == nullptr) {
            help_until([&] { return open_ == 0; });
            block = pool_.arena().take(bytes, size);
        }
        if (block == nullptr) {
            fail(line, "out-of-memory", ("cannot allocate a tensor of " + std::to_string(bytes) + " bytes").c_str());
            return nullptr;
        }
        Buffer* buffer = new_buffer();
        buffer->data = block;
        buffer->size_bytes = size;
        return buffer;
    }

    // No tensor of the orchestration refers to the buffer any more.
    void release(Buffer* buffer)
    {
        if (buffer->tasks == 0) {
            free_buffer(buffer);
        } else {
            pending_bytes_ += buffer->size_bytes;
        }
    }

    void free_buffer(Buffer* buffer)
    {
        if (buffer->external >= 0) {
            return;  // its number is its index among the arguments, so it is not reused
        }
        if (!buffer->is_given) {
            pool_.arena().give(buffer->data, buffer->size_bytes);
        }
        buffer->data = nullptr;
        free_buffers_.push_back(buffer);
    }

    // ----- Submitting ------------------------------------------------------------------------------------------------

    static Buffer* buffer_of(const Tensor& tensor) { return static_cast<Buffer*>(tensor.buffer); }

    static Box box_of(const Tensor& tensor)
    {
        Box box;
        for (int i = 0; i < tensor.ndim; i++) {
            box.low[i] = tensor.starts[i];
            box.high[i] = tensor.starts[i] + tensor.shapes[i];
        }
        return box;
    }

    static bool is_dense(const Tensor& tensor)
    {
        const Buffer* buffer = buffer_of(tensor);
        bool is_row = true;  // all sizes so far are 1
        for (int i = 0; i < tensor.ndim; i++) {
            if (!is_row && tensor.shapes[i] != buffer->shape[i]) {
                return false;
            }
            is_row = is_row && tensor.shapes[i] == 1;
        }
        return true;
    }

    bool submit(int number, const PTOParam* params, int count, int line)
    {
        if (number < 0 || number >= kernel_count_ || kernels_[number].count + kernels_[number].solved_count != count) {
            fail(line, "kernel", "the host has no such kernel");
            return false;
        }
        const Kernel& kernel = kernels_[number];
        count = kernel.count;  // solved sizes follow
        bool dense = true;
        for (int i = 0; i < count; i++) {
            const KernelParam& param = kernel.params[i];
            if (param.is_tensor == 0) {
                continue;
            }
            const Tensor& tensor = *params[i].tensor;
            if (!fits(tensor, param)) {
                fail(line, "argument",
                    (std::string("argument '") + param.name + "' of " + kernel.name + " is a tensor " +
                        list_text(tensor.shapes, tensor.ndim) + " of " + type_name(tensor.dtype) + "; " + param.wanted +
                        " was wanted").c_str());
                return false;
            }
            dense = dense && is_dense(tensor);
        }
        if (!check_sizes(kernel, params, line) || (!dense && !check_staging(kernel, params, count, line))) {
            return false;
        }
        if (has_failed()) {
            return false;
        }
        if (is_inline_) {
            return run_here(kernel, params, count, line, dense);
        }
        enqueue(kernel, params, count, line, dense);
        return true;
    }

    static int64_t size_at(const PTOParam* params, const KernelSize& size, int64_t place)
    {
        return params[size.places[2 * place]].tensor->shapes[size.places[2 * place + 1]];
    }

    bool check_sizes(const Kernel& kernel, const PTOParam* params, int line)
    {
        for (int i = 0; i < kernel.size_count; i++) {
            const KernelSize& size = kernel.sizes[i];
            for (int64_t j = 1; j < size.count; j++) {
                const int64_t first = size_at(params, size, 0), other = size_at(params, size, j);
                if (first != other) {
                    fail(line, "argument-shape",
                        (std::string("the tensors of ") + kernel.name + " have " + std::to_string(first) + " and " +
                            std::to_string(other) + " elements in the dimension '" + size.name + "'").c_str());
                    return false;
                }
            }
        }
        return true;
    }

    static bool fits(const Tensor& tensor, const KernelParam& param)
    {
        bool good = tensor.ndim == param.ndim && static_cast<int32_t>(tensor.dtype) == param.dtype;
        for (int i = 0; good && i < param.ndim; i++) {
            good = param.shape[i] < 0 || param.shape[i] == tensor.shapes[i];
        }
        return good;
    }

    static bool writes(const PTOParam& param, const KernelParam& known)
    {
        return known.writes != 0 || param.kind != PTOParam::kInput;
    }

    // Tensors that overlap without being equal cannot be staged: their copies would not overlap.
    bool check_staging(const Kernel& kernel, const PTOParam* params, int count, int line)
    {
        for (int i = 0; i < count; i++) {
            for (int j = 0; j < i; j++) {
                if (kernel.params[i].is_tensor == 0 || kernel.params[j].is_tensor == 0) {
                    continue;
                }
                const Tensor &a = *params[i].tensor, &b = *params[j].tensor;
                const Box first = box_of(a), second = box_of(b);
                const bool written = writes(params[i], kernel.params[i]) || writes(params[j], kernel.params[j]);
                if (written && a.buffer == b.buffer && overlap(first, second, a.ndim) && !same(first, second, a.ndim)) {
                    fail(line, "overlapping-views",
                        (std::string(kernel.name) + " gets two views of one tensor that overlap, and writes one of them").c_str());
                    return false;
                }
            }
        }
        return true;
    }

    void fill(const Kernel& kernel, const PTOParam* params, int count, bool dense, std::vector<int64_t>& words,
        std::vector<Staged>& staged)
    {
        words.clear();
        staged.clear();
        for (int i = 0; i < count; i++) {
            if (kernel.params[i].is_tensor == 0) {
                words.push_back(static_cast<int64_t>(params[i].word));
                continue;
            }
            const Tensor& tensor = *params[i].tensor;
            words.push_back(static_cast<int64_t>(reinterpret_cast<uintptr_t>(tensor.data())));
            if (!dense && !is_dense(tensor)) {
                Staged each;
                each.word = i;
                each.writes = writes(params[i], kernel.params[i]);
                each.ndim = tensor.ndim;
                each.item_bytes = item_bytes(tensor.dtype);
                each.data = tensor.data();
                for (int axis = 0; axis < tensor.ndim; axis++) {
                    each.shape[axis] = tensor.shapes[axis];
                    each.strides[axis] = tensor.buffer->strides[axis];
                }
                staged.push_back(each);
            }
        }
        const PTOParam* solved = params + count;
        for (int i = 0; i < kernel.size_count; i++) {
            const KernelSize& size = kernel.sizes[i];
            words.push_back(size.count > 0 ? size_at(params, size, 0) : static_cast<int64_t>((solved++)->word));
        }
        if (kernel.counters != nullptr) {
            words.push_back(static_cast<int64_t>(reinterpret_cast<uintptr_t>(kernel.counters)));
        }
    }

    bool run_here(const Kernel& kernel, const PTOParam* params, int count, int line, bool dense)
    {
        Worker& worker = pool_.caller();
        fill(kernel, params, count, dense, worker.words, staged_);
        delay(order_);
        run_.order = order_;
        const char* error = run_kernel(kernel, worker.words, staged_, worker, run_);
        order_++;
        if (error != nullptr) {
            note_failure(order_ - 1, line, kernel, error);
            return false;
        }
        return true;
    }

    Task* new_task()
    {
        collect();
        if (open_ >= window_) {
            help_until([&] { return open_ <= window_ - window_ / 4 - 1 || open_ == 0; });
        }
        Task* task = pool_.unused();
        prepare(task);
        return task;
    }

    void prepare(Task* task)
    {
        task->call = this;
        task->serial = pool_.next_serial();
        task->mark = 0;
        task->buffers.clear();
        task->edges.clear();
        task->followers.store(nullptr, std::memory_order_relaxed);
        open_++;
        most_open_ = open_ > most_open_ ? open_ : most_open_;
    }

    void enqueue(const Kernel& kernel, const PTOParam* params, int count, int line, bool dense)
    {
        for (int i = 0; i < count; i++) {
            if (kernel.params[i].is_tensor != 0 && buffer_of(*params[i].tensor)->has_launches) {
                end_launches(*params[i].tensor, launch_of(kernel, params, count, i));
            }
        }
        Task* task = new_task();
        task->kernel = &kernel;
        task->order = order_++;
        task->line = line;
        fill(kernel, params, count, dense, task->words, task->staged);
        before_.clear();
        for (int i = 0; i < count; i++) {
            if (kernel.params[i].is_tensor != 0) {
                Buffer* buffer = buffer_of(*params[i].tensor);
                const Box box = box_of(*params[i].tensor);
                const uint64_t launch = launch_of(kernel, params, count, i);
                if (launch == 0 || !enter_launch(task, buffer, box, launch)) {
                    enter(task, buffer, box, writes(params[i], kernel.params[i]));
                }
                buffer->tasks++;
                task->buffers.push_back(buffer);
            }
        }
        launch(task, before_);
    }

    void wait_for(Task* task, const TaskRef& other, std::vector<Task*>& before)
    {
        if (other.task != task && other.is_open() && other.task->mark != task->serial) {
            other.task->mark = task->serial;
            before.push_back(other.task);
        }
    }

    // The launch in which a parameter is written, or 0. The copy of a strided tensor is written back as a whole, and of two
    // views of one tensor the other one may be read.
    static uint64_t launch_of(const Kernel& kernel, const PTOParam* params, int count, int index)
    {
        const PTOParam& param = params[index];
        bool apart = param.kind == PTOParam::kOutput && param.word != 0 && is_dense(*param.tensor);
        for (int i = 0; apart && i < count; i++) {
            apart = i == index || kernel.params[i].is_tensor == 0 || params[i].tensor->buffer != param.tensor->buffer;
        }
        return apart ? param.word : 0;
    }

    // Replaces all tasks of a launch by one that waits for them, where an access from outside the launch conflicts with
    // them. Called before the task of that access is made: if there is no room for another task, it waits for the launch.
    void end_launches(const Tensor& tensor, uint64_t launch)
    {
        buffer_of(tensor)->index.each_overlapping(box_of(tensor), [&](const Box&, Access& access) {
            if (access.launch != 0 && access.launch != launch) {
                joined_.clear();
                for (const TaskRef& reader : access.readers) {
                    if (reader.is_open()) {
                        joined_.push_back(reader.task);
                    }
                }
                Task* join = joined_.size() > 1 ? join_task(joined_) : nullptr;
                if (joined_.size() > 1 && join == nullptr) {
                    help_until([&] { return !access.is_open(); });
                }
                if (joined_.size() == 1 || join != nullptr) {
                    access.writer = TaskRef(join != nullptr ? join : joined_[0]);
                }
                access.readers.clear();
                access.launch = 0;
            }
            return false;
        });
    }

    // As `enter`, for a write that does not wait for the others of its launch. All of them wait for the accesses before the
    // first one. Returns false, and notes nothing, if there is no room for a task that waits for those.
    bool enter_launch(Task* task, Buffer* buffer, const Box& box, uint64_t launch)
    {
        Access& own = buffer->index.at(box, [](Access& access) { return access.is_open(); });
        if (own.launch != launch) {
            gather(task, buffer, box, true, launch);
            Task* before = joined_.size() == 1 ? joined_[0] : nullptr;
            if (joined_.size() > 1) {
                before = join_task(joined_);
                if (before == nullptr) {
                    return false;
                }
            }
            own.writer = before != nullptr ? TaskRef(before) : TaskRef();
            own.readers.clear();
            own.launch = launch;
            buffer->has_launches = true;
        }
        own.readers.push_back(TaskRef(task));
        const int ndim = buffer->ndim;
        buffer->index.each_overlapping(box, [&](const Box& other, Access& access) {
            wait_for(task, access.writer, before_);
            if (access.launch == launch) {
                return false;
            }
            for (const TaskRef& reader : access.readers) {
                wait_for(task, reader, before_);
            }
            return covers(box, other, ndim);  // the writer of `own` waits for them
        });
        return true;
    }

    // Gathers in `joined_`, without duplicates, the tasks that conflict with an access, without those of its launch.
    void gather(Task* task, Buffer* buffer, const Box& box, bool is_write, uint64_t launch)
    {
        const uint64_t stamp = pool_.next_serial();
        joined_.clear();
        const auto add = [&](const TaskRef& other) {
            if (other.task != task && other.is_open() && other.task->mark != stamp) {
                other.task->mark = stamp;
                joined_.push_back(other.task);
            }
        };
        buffer->index.each_overlapping(box, [&](const Box&, Access& access) {
            add(access.writer);
            if (is_write && (access.launch == 0 || access.launch != launch)) {
                for (const TaskRef& reader : access.readers) {
                    add(reader);
                }
            }
            return false;
        });
    }

    // Makes a task wait for those that conflict with an access, and notes the access.
    void enter(Task* task, Buffer* buffer, const Box& box, bool is_write)
    {
        const int ndim = buffer->ndim;
        const size_t first = before_.size();
        TaskRef join;
        buffer->index.each_overlapping(box, [&](const Box& other, Access& access) {
            if (is_write && access.readers.size() > kJoin && !covers(box, other, ndim)) {
                join_readers(task, access);
            }
            wait_for(task, access.writer, before_);
            if (!is_write) {
                return false;
            }
            for (const TaskRef& reader : access.readers) {
                wait_for(task, reader, before_);
            }
            // Later tasks wait for this one instead of for these.
            return covers(box, other, ndim);
        });
        if (!is_write && before_.size() - first > kJoin) {
            join = join_writers(task, buffer, box, first);
        }
        Access& own = buffer->index.at(box, [](Access& access) { return access.is_open(); });
        if (is_write) {
            own.writer = TaskRef(task);
            own.readers.clear();
            own.launch = 0;
        } else {
            if (join.task != nullptr && !own.writer.is(task)) {
                own.writer = join;
            }
            const size_t count = own.readers.size();
            if (count >= 2 * kJoin && (count & (count - 1)) == 0) {
                own.is_open();  // drops tasks that are done
            }
            own.readers.push_back(TaskRef(task));
        }
    }

    // A task that only waits for others, or nullptr if there is no room for one.
    Task* join_task(const std::vector<Task*>& before)
    {
        Task* join = open_ < Pool::kWindow ? pool_.unused() : nullptr;
        if (join == nullptr) {
            return nullptr;
        }
        prepare(join);
        join->kernel = nullptr;
        join->order = order_;
        launch(join, before);
        return join;
    }

    // Not for readers that are done while a writer is open: their slots may be reused by later tasks, even by `task`. That
    // may also be a reader itself, by another parameter; it waits for the join, which therefore must not wait for it.
    void join_readers(Task* task, Access& access)
    {
        joined_.clear();
        if (!access.is_open() || access.readers.size() <= kJoin) {
            return;
        }
        bool reads_itself = false;
        for (const TaskRef& reader : access.readers) {
            if (!reader.is_open()) {
                continue;
            }
            if (reader.is(task)) {
                reads_itself = true;
            } else {
                joined_.push_back(reader.task);
            }
        }
        Task* join = join_task(joined_);
        if (join != nullptr) {
            access.readers.assign(1, TaskRef(join));
            if (reads_itself) {
                access.readers.push_back(TaskRef(task));
            }
        }
    }

    // The tasks that a reader of many parts waits for become one that the next reader waits for.
    TaskRef join_writers(Task* task, Buffer* buffer, const Box& box, size_t first)
    {
        gather(task, buffer, box, false, 0);  // including dependences through other parameters
        Task* join = join_task(joined_);
        if (join == nullptr) {
            return TaskRef();
        }
        before_.resize(first);
        const TaskRef found(join);
        wait_for(task, found, before_);
        buffer->index.each_overlapping(box, [&](const Box& other, Access& access) {
            if (!covers(box, other, buffer->ndim) || access.writer.is(task)) {
                return false;  // the task itself writes this, by another parameter, and is not done when the join is
            }
            access.writer = TaskRef();
            return !access.is_open();
        });
        return found;
    }

    void launch(Task* task, const std::vector<Task*>& before)
    {
        const int64_t count = static_cast<int64_t>(before.size());
        task->waits.store(count + 1, std::memory_order_relaxed);
        task->edges.resize(before.size());
        int64_t done = 1;
        for (size_t i = 0; i < before.size(); i++) {
            Edge* edge = &task->edges[i];
            edge->task = task;
            Edge* head = before[i]->followers.load(std::memory_order_acquire);
            do {
                edge->next = head;
            } while (head != closed() && !before[i]->followers.compare_exchange_weak(
                         head, edge, std::memory_order_acq_rel, std::memory_order_acquire));
            done += head == closed() ? 1 : 0;
        }
        if (task->waits.fetch_sub(done, std::memory_order_acq_rel) == done) {
            pool_.push(pool_.caller(), task);
        }
    }

    // Returns when no task conflicts with an access by this thread.
    bool wait(const Tensor& tensor, bool is_write)
    {
        if (!is_inline_) {
            std::vector<TaskRef> blockers;
            buffer_of(tensor)->index.each_overlapping(box_of(tensor), [&](const Box&, Access& access) {
                if (access.writer.is_open()) {
                    blockers.push_back(access.writer);
                }
                for (const TaskRef& reader : access.readers) {
                    if ((is_write || access.launch != 0) && reader.is_open()) {
                        blockers.push_back(reader);
                    }
                }
                return false;
            });
            help_until([&] {
                while (!blockers.empty() && !blockers.back().is_open()) {
                    blockers.pop_back();
                }
                return blockers.empty();
            });
        }
        return !has_failed() && !is_interrupted();
    }

    // ----- The host --------------------------------------------------------------------------------------------------

    static Result described(const Tensor& tensor)
    {
        const Buffer* buffer = buffer_of(tensor);
        Result result{};
        result.is_tensor = 1;
        result.external = buffer->external;
        result.data = buffer->data;
        result.dtype = static_cast<int32_t>(tensor.dtype);
        result.ndim = tensor.ndim;
        for (int i = 0; i < tensor.ndim; i++) {
            result.whole[i] = buffer->shape[i];
            result.starts[i] = tensor.starts[i];
            result.shape[i] = tensor.shapes[i];
        }
        return result;
    }

    void give(const Tensor* tensor, uint64_t word)
    {
        if (report_.result_count == report_.result_room) {
            return;
        }
        Result result{};
        result.word = word;
        if (tensor != nullptr) {
            Buffer* buffer = buffer_of(*tensor);
            result = described(*tensor);
            if (buffer->external < 0 && !buffer->is_given) {
                buffer->is_given = true;
                given_.push_back(buffer->data);
                pool_.arena().release_ownership(buffer->size_bytes);
            }
        }
        report_.results[report_.result_count++] = result;
    }

    // Has the host evaluate an op on arrays; the result is a new tensor, or a word.
    bool python(int op, const PTOParam* params, int count, Tensor* result, uint64_t* word, int line)
    {
        std::vector<Result> values(static_cast<size_t>(count));
        for (int i = 0; i < count; i++) {
            if (params[i].tensor == nullptr) {
                values[static_cast<size_t>(i)].word = params[i].word;
                continue;
            }
            if (!wait(*params[i].tensor, params[i].kind != PTOParam::kInput)) {
                return false;
            }
            values[static_cast<size_t>(i)] = described(*params[i].tensor);
        }
        // Python would run the handlers at the start of the op, where nothing catches what they raise.
        if (stop_if(python_.look())) {
            return false;
        }
        Result made{};
        int32_t is_done = 0;
        if (options_.python != nullptr) {
            options_.python(op, values.data(), count, &made, &is_done);
        }
        if (is_done == 0) {
            fail(line, "python", "");
            return false;
        }
        if (word != nullptr) {
            *word = made.word;
            return true;
        }
        // The host's array is copied: it may be freed before the tensor.
        uint64_t shape[kMaxDims];
        for (int i = 0; i < made.ndim; i++) {
            shape[i] = static_cast<uint64_t>(made.shape[i]);
        }
        const DataType dtype = static_cast<DataType>(made.dtype);
        Buffer* buffer = create(nullptr, shape, made.ndim, dtype, line);
        if (buffer == nullptr) {
            return false;
        }
        int64_t bytes = item_bytes(dtype);
        for (int i = 0; i < made.ndim; i++) {
            bytes *= made.shape[i];
        }
        std::memcpy(buffer->data, made.data, static_cast<size_t>(bytes));
        *result = Tensor(buffer, shape, made.ndim, dtype);
        return true;
    }

    void fail_region(int line, const Tensor& tensor, const int64_t* begin, const int64_t* size)
    {
        const std::string shape = list_text(tensor.shapes, tensor.ndim);
        if (size == nullptr) {
            fail(line, "out-of-bounds", ("pl.read of element " + list_text(begin, tensor.ndim) + " of a tensor " + shape).c_str());
            return;
        }
        std::string box;
        for (int i = 0; i < tensor.ndim; i++) {
            box += (i > 0 ? ", " : "") + std::to_string(begin[i]) + ":" + std::to_string(begin[i] + size[i]);
        }
        fail(line, "out-of-bounds", ("pl.view takes [" + box + "] of a tensor " + shape).c_str());
    }

    static Call& of(PTO2Runtime* rt) { return *static_cast<Call*>(rt); }

    static const PTO2Functions* functions()
    {
        static const PTO2Functions table = {
            [](PTO2Runtime* rt, void* data, const uint64_t* shape, int ndim, DataType dtype, int line) -> PTO2Buffer* {
                return of(rt).create(data, shape, ndim, dtype, line);
            },
            [](PTO2Buffer* buffer) { of(buffer->runtime).release(static_cast<Buffer*>(buffer)); },
            [](PTO2Runtime* rt, int kernel, const PTOParam* params, int count, int line) {
                return of(rt).submit(kernel, params, count, line);
            },
            [](PTO2Runtime* rt) { return ++of(rt).launches_; },
            [](PTO2Runtime* rt, const Tensor& tensor, bool writes, int) { return of(rt).wait(tensor, writes); },
            [](PTO2Runtime* rt) { return of(rt).is_interrupted() || of(rt).has_failed(); },
            [](PTO2Runtime* rt, int op, const PTOParam* params, int count, Tensor* result, uint64_t* word, int line) {
                return of(rt).python(op, params, count, result, word, line);
            },
            [](PTO2Runtime* rt, const Tensor* tensor, uint64_t word) { of(rt).give(tensor, word); },
            [](PTO2Runtime* rt, int line, const char* slug, const char* message) { of(rt).fail(line, slug, message); },
            [](PTO2Runtime* rt, int line, const Tensor& tensor, const int64_t* begin, const int64_t* size) {
                of(rt).fail_region(line, tensor, begin, size);
            },
            [](PTO2Runtime* rt, int line, const Tensor& tensor, const char* name, const char* wanted) {
                of(rt).fail(line, "argument",
                    (std::string("argument '") + name + "' is a tensor " + list_text(tensor.shapes, tensor.ndim) + " of " +
                        type_name(tensor.dtype) + ", " + wanted + " was wanted").c_str());
            },
        };
        return &table;
    }
};

inline void Pool::work(int number)
{
    Worker& self = *workers_[static_cast<size_t>(number)];
    int idle = 0;
    while (true) {
        Task* task = find(self);
        if (task != nullptr) {
            idle = 0;
            while (task != nullptr) {
                // Afterwards the call may be over, and the task reused by another.
                task = task->call->execute(self, task);
                task_ended();
            }
            continue;
        }
        pause_briefly();
        if (++idle % 64 == 0) {
            std::this_thread::yield();
        }
        if (idle > kSpins) {
            sleep();
            if (any_ready()) {
                wake();  // there may be work for another thread
            }
            idle = 0;
        }
    }
}

}  // namespace pto2

// The functions that the host calls. No exception leaves them.
extern "C" {

__attribute__((visibility("default"))) void* pto2_pool(int32_t threads) { return new pto2::Pool(threads); }

// Runs an orchestration: `enter` is its pto2_enter with its entry. Python calls this and holds its lock. Returns nullptr, or
// the reason why nothing was run (PythonCall::begin).
__attribute__((visibility("default"))) const char* pto2_call(void* pool, int (*enter)(PTO2Runtime*, uint64_t*, int),
    uint64_t* args, int32_t count, const pto2::Kernel* kernels, int32_t kernel_count, const pto2::Options* options,
    pto2::Report* report)
{
    pto::cpu::PythonCall python(*options->host);
    if (const char* refusal = python.begin()) {
        return refusal;
    }
    {
        pto2::Call call(*static_cast<pto2::Pool*>(pool), kernels, kernel_count, *options, *report, python);
        const int failed = enter(&call, args, count);
        call.finish();
        report->failed = report->failed != 0 || failed != 0 ? 1 : 0;
    }
    python.end();
    return nullptr;
}

// Frees a tensor that was given to the caller.
__attribute__((visibility("default"))) void pto2_free(char* data) { pto2::aligned_delete(data); }
}

#endif
