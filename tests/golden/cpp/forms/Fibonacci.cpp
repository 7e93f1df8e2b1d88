#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runFibonacci(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ int32_t* out = reinterpret_cast<__gm__ int32_t*>(args[0]);
    int32_t n = static_cast<int32_t>(args[1]);

    // Global tensor declarations
    using outShapeDim5 = Shape<1, 1, 1, 8, 8>;
    using outStrideDim5 = Stride<1, 1, 1, 8, 1>;
    using outGlobalType = GlobalTensor<int32_t, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    // Tile type definitions and allocations
    using _t0Type = Tile<TileType::Vec, int32_t, 8, 8, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(8, 8);
    TASSIGN(_t0, 0x0);

    // Function body
    int32_t a_0 = 0;
    int32_t b_0 = 1;
    int32_t left_0 = n;
    int32_t a_iter = a_0;
    int32_t b_iter = b_0;
    int32_t left_iter = left_0;
    while (left_iter > 0) {
        int32_t c = a_iter + b_iter;
        int32_t a_1 = b_iter;
        int32_t b_1 = c;
        int32_t left_1 = left_iter - 1;
        a_iter = a_1;
        b_iter = b_1;
        left_iter = left_1;
    }
    TEXPANDS(_t0, a_iter);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TSTORE(outGlobal, _t0);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runFibonacci(args);
}
