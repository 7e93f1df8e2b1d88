// What the C++ of an orchestration calls: tensors, views, parameters, tasks. The scheduler behind it is in another
// object and is called through a table of functions, so that this header stays light: no threads, no containers.
//
// An orchestration runs on one thread, which alone accesses tensors. An error leaves it by an exception that no caller
// sees: pto2_enter catches it and the scheduler holds the report. The C++ line of an error is that of the call, which the
// emitter maps to the user's source.
#ifndef PTO_RUNTIME_API_HPP
#define PTO_RUNTIME_API_HPP

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <type_traits>

enum class DataType : int32_t {
    FLOAT32,
    FLOAT16,
    INT32,
    INT16,
    INT8,
    UINT8,
    BFLOAT16,
    INT64,
    UINT64,
    UINT16,
    UINT32,
    FLOAT64,
    BOOL,
    FLOAT8_E4M3FN,
    FLOAT8_E5M2,
    UNKNOWN,
};

enum { PTO2_WORKER_CUBE = 0, PTO2_WORKER_VECTOR = 1 };

constexpr int PTO2_MAX_DIMS = 8;

struct PTO2Runtime;
class Tensor;

// An allocation. The scheduler's own record of it begins with these fields.
struct PTO2Buffer {
    PTO2Runtime* runtime;
    int64_t handles;  // tensors of the orchestration that name it
    char* data;
    int64_t strides[PTO2_MAX_DIMS];  // in bytes
};

struct PTOParam {
    enum Kind : int32_t { kInput, kOutput, kInOut, kScalar };
    Kind kind;
    uint64_t word;         // of a scalar; of an output, the launch whose tasks write parts that do not overlap, or 0
    const Tensor* tensor;  // of all but scalars
};

// Functions of the scheduler. Those that return bool have reported an error when they return false.
struct PTO2Functions {
    PTO2Buffer* (*create)(PTO2Runtime*, void* data, const uint64_t* shape, int ndim, DataType, int line);
    void (*release)(PTO2Buffer*);
    bool (*submit)(PTO2Runtime*, int kernel, const PTOParam*, int count, int line);
    uint64_t (*begin_launch)(PTO2Runtime*);
    bool (*wait)(PTO2Runtime*, const Tensor&, bool writes, int line);
    bool (*is_over)(PTO2Runtime*);
    bool (*python)(PTO2Runtime*, int op, const PTOParam*, int count, Tensor* result, uint64_t* word, int line);
    void (*give)(PTO2Runtime*, const Tensor*, uint64_t word);
    void (*fail)(PTO2Runtime*, int line, const char* slug, const char* message);
    void (*fail_region)(PTO2Runtime*, int line, const Tensor&, const int64_t* begin, const int64_t* size);
    void (*fail_argument)(PTO2Runtime*, int line, const Tensor&, const char* name, const char* wanted);
};

struct PTO2Runtime {
    const PTO2Functions* call;
    const int32_t* attention;  // not 0: ask whether the call is over
};

struct PTO2Stop {};  // thrown after an error was reported

struct PTO2OrchestrationConfig {
    int expected_arg_count;
};

// The runtime of the orchestration that this thread runs: make_tensor has no parameter for it.
inline thread_local PTO2Runtime* pto2_current = nullptr;

[[noreturn]] inline __attribute__((cold)) void pto2_fail(int line, const char* slug, const char* message)
{
    pto2_current->call->fail(pto2_current, line, slug, message);
    throw PTO2Stop();
}

// A box of a buffer. Copies denote the same memory, which lives as long as one of them or a task on it.
class Tensor {
public:
    PTO2Buffer* buffer = nullptr;
    DataType dtype = DataType::UNKNOWN;
    int32_t ndim = 0;
    int64_t starts[PTO2_MAX_DIMS];
    int64_t shapes[PTO2_MAX_DIMS];

    Tensor() = default;
    Tensor(PTO2Buffer* made, const uint64_t* shape, int count, DataType type) : buffer(made), dtype(type), ndim(count)
    {
        buffer->handles++;
        for (int i = 0; i < count; i++) {
            starts[i] = 0;
            shapes[i] = static_cast<int64_t>(shape[i]);
        }
    }
    Tensor(const Tensor& other)
    {
        copy(other);
        if (buffer != nullptr) {
            buffer->handles++;
        }
    }
    Tensor& operator=(const Tensor& other)
    {
        if (other.buffer != nullptr) {
            other.buffer->handles++;
        }
        drop();
        copy(other);
        return *this;
    }
    ~Tensor() { drop(); }

    char* data() const
    {
        char* address = buffer->data;
        for (int i = 0; i < ndim; i++) {
            address += starts[i] * buffer->strides[i];
        }
        return address;
    }

    int64_t dim(int axis) const { return shapes[axis]; }

    // The part of size `shape` at `offset`; it must be inside this tensor.
    Tensor view(std::initializer_list<uint64_t> shape, std::initializer_list<uint64_t> offset, int line = __builtin_LINE()) const
    {
        Tensor part(*this);
        const uint64_t* sizes = shape.begin();
        const uint64_t* begins = offset.begin();
        bool fits = true;
        for (int i = 0; i < ndim; i++) {
            const int64_t size = static_cast<int64_t>(sizes[i]), begin = static_cast<int64_t>(begins[i]);
            fits = fits && begin >= 0 && size >= 0 && begin <= shapes[i] && size <= shapes[i] - begin;
            part.starts[i] += fits ? begin : 0;
            part.shapes[i] = size;
        }
        if (!fits) {
            int64_t size[PTO2_MAX_DIMS], begin[PTO2_MAX_DIMS];
            for (int i = 0; i < ndim; i++) {
                size[i] = static_cast<int64_t>(sizes[i]);
                begin[i] = static_cast<int64_t>(begins[i]);
            }
            pto2_current->call->fail_region(pto2_current, line, *this, begin, size);
            throw PTO2Stop();
        }
        return part;
    }

private:
    void copy(const Tensor& other)
    {
        buffer = other.buffer;
        dtype = other.dtype;
        ndim = other.ndim;
        for (int i = 0; i < ndim; i++) {
            starts[i] = other.starts[i];
            shapes[i] = other.shapes[i];
        }
    }
    void drop()
    {
        if (buffer != nullptr && --buffer->handles == 0) {
            buffer->runtime->call->release(buffer);
        }
    }
};

inline Tensor make_tensor_external(
    void* data, const uint64_t* shapes, int ndim, DataType dtype, int line = __builtin_LINE())
{
    PTO2Buffer* made = pto2_current->call->create(pto2_current, data, shapes, ndim, dtype, line);
    if (made == nullptr) {
        throw PTO2Stop();
    }
    return Tensor(made, shapes, ndim, dtype);
}

// A new tensor with uninitialised elements.
inline Tensor make_tensor(const uint64_t* shapes, int ndim, DataType dtype, int line = __builtin_LINE())
{
    return make_tensor_external(nullptr, shapes, ndim, dtype, line);
}

inline PTOParam make_input_param(const Tensor& tensor) { return {PTOParam::kInput, 0, &tensor}; }
inline PTOParam make_output_param(const Tensor& tensor) { return {PTOParam::kOutput, 0, &tensor}; }
inline PTOParam make_inout_param(const Tensor& tensor) { return {PTOParam::kInOut, 0, &tensor}; }
inline PTOParam make_scalar_param(uint64_t word) { return {PTOParam::kScalar, word, nullptr}; }

// Runs a kernel as soon as no earlier task conflicts with it.
inline void pto2_rt_submit_task(
    PTO2Runtime* rt, int kernel, int worker, PTOParam* params, int count, int line = __builtin_LINE())
{
    (void)worker;  // every thread here runs both kinds of kernels
    if (!rt->call->submit(rt, kernel, params, count, line)) {
        throw PTO2Stop();
    }
}

// A block whose tensors are released at its end: they are C++ objects, so the braces do it. Each iteration of a loop begins
// one, so that any loop can be stopped.
struct PTO2Scope {
    explicit PTO2Scope(PTO2Runtime* rt)
    {
        if (__builtin_expect(__atomic_load_n(rt->attention, __ATOMIC_RELAXED) != 0, 0) && rt->call->is_over(rt)) {
            throw PTO2Stop();
        }
    }
};
#define PTO2_SCOPE(rt) if (PTO2Scope pto2_scope{rt}; (static_cast<void>(pto2_scope), true))

// --------------------------------------------------------------------------------------------------------------------
// Beyond the device's interface: used only by text for this runtime
// --------------------------------------------------------------------------------------------------------------------

// A number for the tasks that one call makes in the iterations of a parallel loop: none of them waits for another
// because of tensors that both only write.
inline uint64_t pto2_rt_begin_launch(PTO2Runtime* rt) { return rt->call->begin_launch(rt); }

inline PTOParam make_output_param(const Tensor& tensor, uint64_t launch) { return {PTOParam::kOutput, launch, &tensor}; }

// The element at `indices`, when the tasks that write it are done.
template <class T>
inline T pto2_rt_read(PTO2Runtime* rt, const Tensor& tensor, std::initializer_list<int64_t> indices, int line = __builtin_LINE())
{
    Tensor element(tensor);
    const int64_t* at = indices.begin();
    bool fits = true;
    for (int i = 0; i < tensor.ndim; i++) {
        fits = fits && at[i] >= 0 && at[i] < tensor.shapes[i];
        element.starts[i] += fits ? at[i] : 0;
        element.shapes[i] = 1;
    }
    if (!fits) {
        rt->call->fail_region(rt, line, tensor, at, nullptr);
        throw PTO2Stop();
    }
    if (!rt->call->wait(rt, element, false, line)) {
        throw PTO2Stop();
    }
    T value;
    std::memcpy(&value, element.data(), sizeof(T));
    return value;
}

// Runs op number `op`, which Python evaluates on arrays once no task conflicts with its tensors.
inline Tensor pto2_rt_tensor_op(PTO2Runtime* rt, int op, const PTOParam* params, int count, int line = __builtin_LINE())
{
    Tensor result;
    if (!rt->call->python(rt, op, params, count, &result, nullptr, line)) {
        throw PTO2Stop();
    }
    return result;
}
inline uint64_t pto2_rt_scalar_op(PTO2Runtime* rt, int op, const PTOParam* params, int count, int line = __builtin_LINE())
{
    uint64_t word = 0;
    if (!rt->call->python(rt, op, params, count, nullptr, &word, line)) {
        throw PTO2Stop();
    }
    return word;
}

// The next result of the orchestration.
inline void pto2_rt_return(PTO2Runtime* rt, const Tensor& tensor) { rt->call->give(rt, &tensor, 0); }
inline void pto2_rt_return_word(PTO2Runtime* rt, uint64_t word) { rt->call->give(rt, nullptr, word); }

// Rejects a tensor that does not fit a parameter. A size of -1 accepts any.
inline void pto2_rt_check(PTO2Runtime* rt, const Tensor& tensor, DataType dtype, std::initializer_list<int64_t> shape,
    const char* name, const char* wanted, int line = __builtin_LINE())
{
    bool fits = tensor.dtype == dtype && tensor.ndim == static_cast<int>(shape.size());
    for (int i = 0; fits && i < tensor.ndim; i++) {
        fits = shape.begin()[i] == -1 || shape.begin()[i] == tensor.shapes[i];
    }
    if (!fits) {
        rt->call->fail_argument(rt, line, tensor, name, wanted);
        throw PTO2Stop();
    }
}

// A computed size for `pto2_rt_check`: a negative one matches no tensor, and -1 does not mean any size.
inline int64_t pto2_rt_dependent(int64_t size) { return size < 0 ? INT64_MIN : size; }

// A size that follows from a dimension of `tensor`; it must not be negative.
inline int64_t pto2_rt_solved(
    PTO2Runtime* rt, int64_t size, const Tensor& tensor, const char* name, const char* wanted, int line)
{
    if (size < 0) {
        rt->call->fail_argument(rt, line, tensor, name, wanted);
        throw PTO2Stop();
    }
    return size;
}

// Runs an orchestration; returns 0, or 1 after an error was reported.
inline int pto2_enter(PTO2Runtime* rt, uint64_t* args, int count, void (*entry)(PTO2Runtime*, uint64_t*, int)) noexcept
{
    PTO2Runtime* const outer = pto2_current;
    pto2_current = rt;
    int failed = 0;
    try {
        entry(rt, args, count);
    } catch (...) {
        failed = 1;
    }
    pto2_current = outer;
    return failed;
}

// Arithmetic on numbers that C++ leaves undefined for some operands, or defines differently from the language.
namespace pto2 {

template <class To, class From>
inline To bits(From from)
{
    To to{};
    std::memcpy(&to, &from, sizeof(to) < sizeof(from) ? sizeof(to) : sizeof(from));
    return to;
}

template <class T>
constexpr bool is_negative(T a)
{
    if constexpr (std::is_signed<T>::value) {
        return a < 0;
    } else {
        (void)a;
        return false;
    }
}

// Reports `head`, a number, `tail`; the scheduler's object has printf, this one stays light.
template <class T>
[[noreturn]] inline __attribute__((cold)) void fail_number(
    int line, const char* slug, const char* head, T number, const char* tail)
{
    char text[128], digits[24];
    size_t at = std::strlen(head);
    std::memcpy(text, head, at);
    uint64_t rest = static_cast<uint64_t>(number);
    if (is_negative(number)) {
        text[at++] = '-';
        rest = 0 - rest;
    }
    int count = 0;
    do {
        digits[count++] = static_cast<char>('0' + rest % 10);
        rest /= 10;
    } while (rest != 0);
    while (count > 0) {
        text[at++] = digits[--count];
    }
    std::memcpy(text + at, tail, std::strlen(tail) + 1);
    pto2_fail(line, slug, text);
}

// The smallest integer has no negation; it is unchanged, as in sums.
template <class T>
constexpr T negate(T a)
{
    return static_cast<T>(0 - static_cast<uint64_t>(a));
}

// Quotient of integers toward zero.
template <class T>
inline T divide(T a, T b, int line = __builtin_LINE())
{
    if (b == 0) {
        pto2_fail(line, "division-by-zero", "'/' by zero");
    }
    if (std::is_signed<T>::value && b == static_cast<T>(-1)) {
        return negate(a);
    }
    return static_cast<T>(a / b);
}

// Quotient toward minus infinity.
template <class T>
inline T floor_divide(T a, T b, int line = __builtin_LINE())
{
    if constexpr (std::is_floating_point<T>::value) {
        // In double, rounded once, as in the interpreter; infinities and NaN are unchanged.
        return static_cast<T>(std::floor(static_cast<double>(a) / static_cast<double>(b)));
    } else {
        if (b == 0) {
            pto2_fail(line, "division-by-zero", "'//' by zero");
        }
        if (std::is_signed<T>::value && b == static_cast<T>(-1)) {
            return negate(a);
        }
        const T q = static_cast<T>(a / b);
        return (a % b != 0 && is_negative(a) != is_negative(b)) ? static_cast<T>(q - 1) : q;
    }
}

// Remainder of floor_divide: it has the sign of b.
template <class T>
inline T modulo(T a, T b, int line = __builtin_LINE())
{
    if constexpr (std::is_floating_point<T>::value) {
        if (b == 0 || !std::isfinite(a) || std::isnan(b)) {
            return std::numeric_limits<T>::quiet_NaN();
        }
        const double x = a, y = b, r = std::fmod(x, y);
        if (r == 0) {
            return static_cast<T>(std::copysign(0.0, y));
        }
        return static_cast<T>((r < 0) != (y < 0) ? r + y : r);
    } else {
        if (b == 0) {
            pto2_fail(line, "division-by-zero", "'%' by zero");
        }
        if (std::is_signed<T>::value && b == static_cast<T>(-1)) {
            return 0;
        }
        const T r = static_cast<T>(a % b);
        return (r != 0 && is_negative(r) != is_negative(b)) ? static_cast<T>(r + b) : r;
    }
}

template <class T>
inline T power(T a, T n, int line = __builtin_LINE())
{
    if constexpr (std::is_floating_point<T>::value) {
        return static_cast<T>(std::pow(static_cast<double>(a), static_cast<double>(n)));
    } else {
        if (is_negative(n)) {
            fail_number(line, "negative-exponent", "'**' of integers with exponent ", n, "");
        }
        uint64_t result = 1, base = static_cast<uint64_t>(a);
        for (uint64_t rest = static_cast<uint64_t>(n); rest != 0; rest >>= 1) {
            result = (rest & 1) != 0 ? result * base : result;
            base *= base;
        }
        return static_cast<T>(result);
    }
}

template <class T>
inline void check_shift(T n, const char* head, int line)
{
    if (is_negative(n) || static_cast<uint64_t>(n) >= 8 * sizeof(T)) {
        fail_number(line, "shift", head, n, " bits");
    }
}
// `head` is "a shift of int32 by ", with the element type's name.
template <class T>
inline T shift_left(T a, T n, const char* head, int line = __builtin_LINE())
{
    check_shift(n, head, line);
    return static_cast<T>(static_cast<uint64_t>(a) << n);
}
template <class T>
inline T shift_right(T a, T n, const char* head, int line = __builtin_LINE())
{
    check_shift(n, head, line);
    return static_cast<T>(a >> n);
}

template <class T>
inline T minimum(T a, T b)
{
    if constexpr (std::is_floating_point<T>::value) {
        if (std::isnan(a) || std::isnan(b)) {
            return std::numeric_limits<T>::quiet_NaN();
        }
    }
    return b < a ? b : a;
}
template <class T>
inline T maximum(T a, T b)
{
    if constexpr (std::is_floating_point<T>::value) {
        if (std::isnan(a) || std::isnan(b)) {
            return std::numeric_limits<T>::quiet_NaN();
        }
    }
    return b > a ? b : a;
}

template <class T>
inline T absolute(T a)
{
    if constexpr (std::is_floating_point<T>::value) {
        return std::fabs(a);
    } else {
        return is_negative(a) ? negate(a) : a;
    }
}

// Rounded toward zero; values out of range become the type's nearest value, and NaN becomes 0.
template <class To, class From>
inline To cast(From from)
{
    if constexpr (std::is_same<To, bool>::value) {
        return from != 0;
    } else if constexpr (std::is_floating_point<From>::value && std::is_integral<To>::value) {
        const double value = from;
        // 2^63 and 2^64 are representable in double, the largest integers below them are not.
        const double high = std::ldexp(1.0, std::numeric_limits<To>::digits);
        const double low = std::is_signed<To>::value ? -high : 0.0;
        if (std::isnan(value)) {
            return 0;
        }
        if (value >= high) {
            return std::numeric_limits<To>::max();
        }
        return value <= low ? std::numeric_limits<To>::min() : static_cast<To>(value);
    } else {
        return static_cast<To>(from);
    }
}

// Numbers of 16 bits: held as float, rounded to their type after each operation.
inline float from_bf16(uint16_t word) { return bits<float>(static_cast<uint32_t>(word) << 16); }
inline uint16_t to_bf16(float value)
{
    const uint32_t u = bits<uint32_t>(value);
    const uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    return static_cast<uint16_t>((u & 0x7fffffffu) > 0x7f800000u ? (u >> 16) | 0x40u : rounded);
}
inline float from_fp16(uint16_t word)
{
    const uint32_t sign = (static_cast<uint32_t>(word) & 0x8000u) << 16, rest = word & 0x7fffu;
    const float scaled = bits<float>(rest << 13) * bits<float>(uint32_t{239} << 23);  // exact
    return bits<float>(sign | (rest >= 0x7c00u ? 0x7f800000u | (rest << 13) : bits<uint32_t>(scaled)));
}
inline uint16_t to_fp16(float value)
{
    const uint32_t u = bits<uint32_t>(value), a = u & 0x7fffffffu;
    const uint32_t normal = (a - (uint32_t{112} << 23) + 0xfffu + ((a >> 13) & 1u)) >> 13;
    const uint32_t tiny = bits<uint32_t>(bits<float>(a < 0x38800000u ? a : 0u) + 0.5f) - 0x3f000000u;
    const uint32_t finite = a < 0x38800000u ? tiny : normal;
    const uint32_t found = a >= 0x477ff000u ? (a > 0x7f800000u ? 0x7e00u : 0x7c00u) : finite;
    return static_cast<uint16_t>((u >> 16 & 0x8000u) | found);
}
inline float fp16(float value) { return from_fp16(to_fp16(value)); }
inline float bf16(float value) { return from_bf16(to_bf16(value)); }

}  // namespace pto2

#endif
