#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runKernel(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ half* x0 = reinterpret_cast<__gm__ half*>(args[0]);
    __gm__ half* x1 = reinterpret_cast<__gm__ half*>(args[1]);
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[2]);

    // Global tensor declarations
    using x0ShapeDim5 = Shape<1, 1, 1, 64, 96>;
    using x0StrideDim5 = Stride<1, 1, 1, 96, 1>;
    using x0GlobalType = GlobalTensor<half, x0ShapeDim5, x0StrideDim5>;
    x0GlobalType x0Global(x0);

    using x1ShapeDim5 = Shape<1, 1, 1, 64, 32>;
    using x1StrideDim5 = Stride<1, 1, 1, 32, 1>;
    using x1GlobalType = GlobalTensor<half, x1ShapeDim5, x1StrideDim5>;
    x1GlobalType x1Global(x1);

    using outShapeDim5 = Shape<1, 1, 1, 32, 32>;
    using outStrideDim5 = Stride<1, 1, 1, 32, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    // Tile type definitions and allocations
    using t0_matType = Tile<TileType::Mat, half, 64, 96, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    t0_matType t0_mat(64, 96);
    TASSIGN(t0_mat, 0x0);

    using movedType = Tile<TileType::Left, half, 32, 64, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    movedType moved(32, 64);
    TASSIGN(moved, 0x0);

    using t1_matType = Tile<TileType::Mat, half, 64, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    t1_matType t1_mat(64, 32);
    TASSIGN(t1_mat, 0x3000);

    using t1Type = Tile<TileType::Right, half, 64, 32, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    t1Type t1(64, 32);
    TASSIGN(t1, 0x0);

    using resultType = Tile<TileType::Acc, float, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    resultType result(32, 32);
    TASSIGN(result, 0x0);

    // Function body
    TLOAD(t0_mat, x0Global);
    set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
    TEXTRACT(moved, t0_mat, 32, 32);
    TLOAD(t1_mat, x1Global);
    set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
    wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
    TMOV(t1, t1_mat);
    set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
    wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
    TMATMUL(result, moved, t1);
    set_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    wait_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    TSTORE(outGlobal, result);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runKernel(args);
}
