#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runKernel(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ int8_t* x0 = reinterpret_cast<__gm__ int8_t*>(args[0]);
    __gm__ int8_t* x1 = reinterpret_cast<__gm__ int8_t*>(args[1]);
    __gm__ int32_t* x2 = reinterpret_cast<__gm__ int32_t*>(args[2]);
    __gm__ int32_t* out = reinterpret_cast<__gm__ int32_t*>(args[3]);

    // Global tensor declarations
    using x0ShapeDim5 = Shape<1, 1, 1, 1, 512>;
    using x0StrideDim5 = Stride<1, 1, 1, 512, 1>;
    using x0GlobalType = GlobalTensor<int8_t, x0ShapeDim5, x0StrideDim5>;
    x0GlobalType x0Global(x0);

    using x1ShapeDim5 = Shape<1, 1, 1, 512, 32>;
    using x1StrideDim5 = Stride<1, 1, 1, 32, 1>;
    using x1GlobalType = GlobalTensor<int8_t, x1ShapeDim5, x1StrideDim5>;
    x1GlobalType x1Global(x1);

    using x2ShapeDim5 = Shape<1, 1, 1, 1, 32>;
    using x2StrideDim5 = Stride<1, 1, 1, 32, 1>;
    using x2GlobalType = GlobalTensor<int32_t, x2ShapeDim5, x2StrideDim5>;
    x2GlobalType x2Global(x2);

    using outShapeDim5 = Shape<1, 1, 1, 1, 32>;
    using outStrideDim5 = Stride<1, 1, 1, 32, 1>;
    using outGlobalType = GlobalTensor<int32_t, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    // Tile type definitions and allocations
    using t0_matType = Tile<TileType::Mat, int8_t, 1, 512, BLayout::RowMajor, -1, -1>;
    t0_matType t0_mat(1, 512);
    TASSIGN(t0_mat, 0x0);

    using t0Type = Tile<TileType::Left, int8_t, 1, 512, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    t0Type t0(1, 512);
    TASSIGN(t0, 0x0);

    using t1_matType = Tile<TileType::Mat, int8_t, 512, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    t1_matType t1_mat(512, 32);
    TASSIGN(t1_mat, 0x200);

    using t1Type = Tile<TileType::Right, int8_t, 512, 32, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    t1Type t1(512, 32);
    TASSIGN(t1, 0x0);

    using t2_matType = Tile<TileType::Mat, int32_t, 1, 32, BLayout::RowMajor, -1, -1>;
    t2_matType t2_mat(1, 32);
    TASSIGN(t2_mat, 0x4200);

    using t2Type = Tile<TileType::Bias, int32_t, 1, 32, BLayout::RowMajor, -1, -1>;
    t2Type t2(1, 32);
    TASSIGN(t2, 0x0);

    using resultType = Tile<TileType::Acc, int32_t, 1, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    resultType result(1, 32);
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
    TMOV(t2, t2_mat);
    set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
    wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
    TGEMV_BIAS(result, t0, t1, t2);
    set_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    wait_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    TSTORE(outGlobal, result);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runKernel(args);
}
