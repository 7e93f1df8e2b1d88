#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runKernel(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ half* x0 = reinterpret_cast<__gm__ half*>(args[0]);
    __gm__ half* x1 = reinterpret_cast<__gm__ half*>(args[1]);
    __gm__ float* x2 = reinterpret_cast<__gm__ float*>(args[2]);
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[3]);

    // Global tensor declarations
    using x0ShapeDim5 = Shape<1, 1, 1, 16, 32>;
    using x0StrideDim5 = Stride<1, 1, 1, 32, 1>;
    using x0GlobalType = GlobalTensor<half, x0ShapeDim5, x0StrideDim5>;
    x0GlobalType x0Global(x0);

    using x1ShapeDim5 = Shape<1, 1, 1, 32, 32>;
    using x1StrideDim5 = Stride<1, 1, 1, 32, 1>;
    using x1GlobalType = GlobalTensor<half, x1ShapeDim5, x1StrideDim5>;
    x1GlobalType x1Global(x1);

    using x2ShapeDim5 = Shape<1, 1, 1, 1, 32>;
    using x2StrideDim5 = Stride<1, 1, 1, 32, 1>;
    using x2GlobalType = GlobalTensor<float, x2ShapeDim5, x2StrideDim5>;
    x2GlobalType x2Global(x2);

    using outShapeDim5 = Shape<1, 1, 1, 16, 32>;
    using outStrideDim5 = Stride<1, 1, 1, 32, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    // Tile type definitions and allocations
    using t0_matType = Tile<TileType::Mat, half, 16, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    t0_matType t0_mat(16, 32);
    TASSIGN(t0_mat, 0x0);

    using t0Type = Tile<TileType::Left, half, 16, 32, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    t0Type t0(16, 32);
    TASSIGN(t0, 0x0);

    using t1_matType = Tile<TileType::Mat, half, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    t1_matType t1_mat(32, 32);
    TASSIGN(t1_mat, 0x400);

    using t1Type = Tile<TileType::Right, half, 32, 32, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    t1Type t1(32, 32);
    TASSIGN(t1, 0x0);

    using t2_matType = Tile<TileType::Mat, float, 1, 32, BLayout::RowMajor, -1, -1>;
    t2_matType t2_mat(1, 32);
    TASSIGN(t2_mat, 0xc00);

    using result_biasType = Tile<TileType::Bias, float, 1, 32, BLayout::RowMajor, -1, -1>;
    result_biasType result_bias(1, 32);
    TASSIGN(result_bias, 0x0);

    using resultType = Tile<TileType::Acc, float, 16, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    resultType result(16, 32);
    TASSIGN(result, 0x0);

    // Function body
    TLOAD(t0_mat, x0Global);
    set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
    TMOV(t0, t0_mat);
    TLOAD(t1_mat, x1Global);
    set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
    wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
    TMOV(t1, t1_mat);
    TLOAD(t2_mat, x2Global);
    set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID2);
    wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID2);
    TMOV(result_bias, t2_mat);
    set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
    wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
    TMATMUL_BIAS(result, t0, t1, result_bias);
    set_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    wait_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    TSTORE(outGlobal, result);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runKernel(args);
}
