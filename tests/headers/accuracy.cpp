// Largest errors of the headers' functions of real numbers, in units in the last place of the exact result, each printed as
// "name error argument". The exact result is the C library's in double. First argument: distance of the samples' bits.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include <pto/pto-inst.hpp>

using namespace pto::detail;

// Distance of the floats at |exact|.
static double unit(double exact)
{
    int exponent = 0;
    const double magnitude = std::fabs(exact);
    if (magnitude < 1.1754943508222875e-38) {
        return std::ldexp(1.0, -149);
    }
    std::frexp(magnitude, &exponent);
    return std::ldexp(1.0, exponent - 24);
}

static double error_of(float found, double exact)
{
    if (std::isnan(exact) || std::isnan(found)) {
        return std::isnan(exact) && std::isnan(found) ? 0.0 : 1e9;
    }
    const float rounded = static_cast<float>(exact);
    if (std::isinf(rounded) || std::isinf(found)) {
        return rounded == found ? 0.0 : std::isinf(rounded) && std::fabs(found) == 3.40282347e+38f ? 1.0 : 1e9;
    }
    return std::fabs(static_cast<double>(found) - exact) / unit(exact);
}

struct Worst {
    double error = 0;
    float at = 0;
};

constexpr int kRun = 1021;  // not a multiple of any vector
static Worst worst_of(void (*run)(float*, const float*, int64_t), double (*exact)(double), const float* x, int n, Worst worst)
{
    float out[kRun];
    run(out, x, n);
    for (int i = 0; i < n; ++i) {
        const double error = error_of(out[i], exact(static_cast<double>(x[i])));
        if (error > worst.error) {
            worst = Worst{error, x[i]};
        }
    }
    return worst;
}

template <class Op>
static void runs(float* d, const float* s, int64_t n)
{
    apply_run(Op{}, d, n, s);
}

template <class Op>
static void sweep(const char* name, double (*exact)(double), uint64_t step)
{
    static const float edges[] = {0.0f, -0.0f, 1.0f, -1.0f, 1e-45f, -1e-45f, 1.17549435e-38f, 1.17549421e-38f,
                                  3.40282347e+38f, -3.40282347e+38f, INFINITY, -INFINITY, NAN, 88.7228394f, 88.7228317f,
                                  -87.3365479f, -103.278931f, -103.972084f, -103.972076f, 0.5f, 2.0f, 0.99999994f, 1.00000012f};
    Worst worst = worst_of(&runs<Op>, exact, edges, static_cast<int>(sizeof(edges) / sizeof(edges[0])), Worst{});
    float x[kRun];
    for (uint64_t bits = 0; bits < (1ull << 32);) {
        int n = 0;
        for (; n < kRun && bits < (1ull << 32); bits += step) {
            x[n++] = bit_cast<float>(static_cast<uint32_t>(bits));
        }
        worst = worst_of(&runs<Op>, exact, x, n, worst);
    }
    std::printf("%s %.4f %.9g\n", name, worst.error, static_cast<double>(worst.at));
}

// Every value of a 16-bit type through its own conversions: the result has to be the exact one rounded once, or its
// neighbour where that lies within `slack` of a rounding boundary. Prints how many results are more than one step away.
template <class T, class Op>
static void narrow_sweep(const char* name, double (*exact)(double))
{
    long far_off = 0, off = 0;
    for (uint32_t bits = 0; bits < 65536; ++bits) {
        const T x = bit_cast<T>(static_cast<uint16_t>(bits));
        T found;
        apply_line<Op, T, T>(Op{}, 1, &found, &x);
        const T wanted = from_compute<T>(static_cast<float>(exact(static_cast<double>(to_compute(x)))));
        const uint16_t f = bit_cast<uint16_t>(found), w = bit_cast<uint16_t>(wanted);
        const float ff = to_compute(found), ww = to_compute(wanted);
        if (f != w && !(std::isnan(ff) && std::isnan(ww))) {
            ++off;
            far_off += std::abs(static_cast<int>(f) - static_cast<int>(w)) > 1;
        }
    }
    std::printf("%s %ld %ld\n", name, far_off, off);
}

static double reciprocal(double x) { return 1.0 / x; }
static double rsqrt(double x) { return 1.0 / std::sqrt(x); }

// x / constant, bit for bit the division: random operands, near and far from the ends of the exponent range.
static void divisions(long count)
{
    uint64_t state = 88172645463325252ull;
    const auto next = [&] {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return static_cast<uint32_t>(state >> 16);
    };
    long wrong = 0;
    for (long turn = 0; turn < count; ++turn) {
        const uint32_t spread = turn % 3 == 0 ? 255u : 40u;
        const auto draw = [&] { return bit_cast<float>((next() & 0x807fffffu) | ((127u - spread / 2 + next() % spread) << 23)); };
        constexpr int length = 300;  // whole groups of vectors and a rest
        float x[length], out[length];
        const float divisor = turn % 7 == 0 ? bit_cast<float>(next()) : draw();
        for (float& value : x) {
            value = turn % 5 == 0 ? bit_cast<float>(next()) : draw();
        }
        x[next() % length] = bit_cast<float>(next());  // one that is far off sends its neighbours the long way too
        apply_run(BindRight<Div, float>{Div{}, divisor}, out, length, static_cast<const float*>(x));
        for (int i = 0; i < length; ++i) {
            const float wanted = x[i] / divisor;
            const bool same = bit_cast<uint32_t>(wanted) == bit_cast<uint32_t>(out[i]);
            wrong += !same && !(std::isnan(wanted) && std::isnan(out[i]));
        }
    }
    std::printf("division %ld 0\n", wrong);
}

int main(int count, char** words)
{
    const uint64_t step = count > 1 ? std::strtoull(words[1], nullptr, 10) : 1021;
    sweep<Exp>("exp", [](double x) { return std::exp(x); }, step);
    sweep<Log>("log", [](double x) { return std::log(x); }, step);
    sweep<Sqrt>("sqrt", [](double x) { return std::sqrt(x); }, step);
    sweep<Rsqrt>("rsqrt", rsqrt, step);
    sweep<Recip>("recip", reciprocal, step);
    narrow_sweep<half, Exp>("exp_half", [](double x) { return std::exp(x); });
    narrow_sweep<half, Log>("log_half", [](double x) { return std::log(x); });
    narrow_sweep<half, Sqrt>("sqrt_half", [](double x) { return std::sqrt(x); });
    narrow_sweep<half, Rsqrt>("rsqrt_half", rsqrt);
    narrow_sweep<half, Recip>("recip_half", reciprocal);
    narrow_sweep<bfloat16_t, Exp>("exp_bf16", [](double x) { return std::exp(x); });
    narrow_sweep<bfloat16_t, Log>("log_bf16", [](double x) { return std::log(x); });
    narrow_sweep<bfloat16_t, Sqrt>("sqrt_bf16", [](double x) { return std::sqrt(x); });
    narrow_sweep<bfloat16_t, Rsqrt>("rsqrt_bf16", rsqrt);
    narrow_sweep<bfloat16_t, Recip>("recip_bf16", reciprocal);
    divisions(10000);
}
