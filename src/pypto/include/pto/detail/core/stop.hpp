// How native code is stopped early: the word that every loop checks, and Python's signal handlers, which run when it is set.
// Kernels and the task runtime share this file. It knows Python by the addresses of a few functions, and no tile or task.
//
// A launch is ended by an exception that the launch itself catches, at the start of an iteration or where an error is found. So
// each instruction before that is complete, and none after it begins. Compiled without exceptions a launch runs to its end.
#ifndef PTO_DETAIL_STOP_HPP
#define PTO_DETAIL_STOP_HPP

#include <cstdint>

namespace pto {
namespace cpu {

// What Python and all native code of a process share; run/interrupts.py owns it and has the same fields. All but `attention`
// is accessed only while holding Python's lock.
struct Host {
    int32_t attention;    // kTick and kOver; not 0: every thread in native code checks whether it must stop
    int32_t is_ticking;   // a Python thread sets kTick now and then while `inside` is not 0
    int32_t inside;       // native calls of the main thread that are still running
    int32_t is_handling;  // the main thread is running signal handlers inside one
    int64_t calls;        // native calls that the main thread has made so far
    uint64_t main_thread;
    unsigned long (*thread)();  // PyThread_get_thread_ident
    void* (*release)();         // PyEval_SaveThread
    void (*acquire)(void*);     // PyEval_RestoreThread
    int (*check_signals)();     // PyErr_CheckSignals: not 0 if a handler raised, and then the exception is set
    // Signals between ranks (ranks.py), called without Python's lock; nullptr as long as no program has ranks.
    void (*notify)(int32_t* signal, int64_t value, int32_t adds);
    int32_t (*wait)(int32_t* signal, int64_t expected, int32_t at_least, int64_t line);  // 0: the run has failed
    // Transfers a box of a window from or to the process of its rank; 0: the run has failed.
    int32_t (*transfer)(void* first, int32_t kind, int32_t rank, const int64_t* sizes, const int64_t* strides);
};

// Python writes only the lowest byte, so this does not race with writers of the next one.
constexpr int32_t kTick = 1;    // the main thread must check for signals
constexpr int32_t kOver = 256;  // some run is over and has threads that may not know yet

inline int32_t attention_of(const Host& host) { return __atomic_load_n(&host.attention, __ATOMIC_RELAXED); }
inline void signal_over(Host& host) { __atomic_fetch_or(&host.attention, kOver, __ATOMIC_RELAXED); }
inline void unsay_over(Host& host) { __atomic_fetch_and(&host.attention, ~kOver, __ATOMIC_RELAXED); }

// Returned for a call that Python made too early: it starts the ticking thread, and calls again.
constexpr const char* kNotTicking = "\2";

// A native call by Python, which holds its lock before and after it. It has no destructor: Python ends a daemon thread by
// unwinding it from `acquire` when the process exits.
class PythonCall {
public:
    explicit PythonCall(Host& host) : host_(host), is_main_(host.thread() == host.main_thread) {}

    // Returns nullptr, or the reason why native code cannot run now.
    const char* begin()
    {
        if (is_main_) {
            if (host_.is_handling != 0) {
                return "a signal handler cannot run a kernel while its thread is in the midst of one";
            }
            if (host_.is_ticking == 0) {
                return kNotTicking;
            }
            host_.inside++;
            host_.calls++;
        }
        state_ = host_.release();
        return nullptr;
    }
    void end()
    {
        host_.acquire(state_);
        host_.inside -= is_main_ ? 1 : 0;
    }
    // Runs the signal handlers, if a tick came; true if one raised, now or before. Only the main thread has any to run.
    bool has_raised()
    {
        return is_main_ && (attention_of(host_) & kTick) != 0 ? look() : has_raised_;
    }
    // The same without a tick.
    bool look()
    {
        if (is_main_ && !has_raised_) {
            __atomic_fetch_and(&host_.attention, ~kTick, __ATOMIC_RELAXED);
            host_.acquire(state_);
            host_.is_handling = 1;
            has_raised_ = host_.check_signals() != 0;
            host_.is_handling = 0;
            state_ = host_.release();
        }
        return has_raised_;
    }

private:
    Host& host_;
    void* state_ = nullptr;
    bool is_main_, has_raised_ = false;
};

// What may end a launch early.
struct Run {
    Host* host;
    bool (*is_over)(Run*);  // called while `host` wants attention; nullptr if Python itself launches the kernel
};

}  // namespace cpu

namespace detail {

struct Ended {};  // leaves a kernel; the launch catches it

struct Launch {
    cpu::Run* run;
    cpu::PythonCall* python;
};

// What the loops of this object check: `Host::attention` from the first launch on.
inline int32_t quiet = 0;
inline int32_t* attention = &quiet;

}  // namespace detail
}  // namespace pto

#endif
