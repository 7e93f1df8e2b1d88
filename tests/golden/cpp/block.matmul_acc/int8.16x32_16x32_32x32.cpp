#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runKernel(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ int8_t* x0 = reinterpret_cast<__gm__ int8_t*>(args[0]);
    __gm__ int8_t* x1 = reinterpret_cast<__gm__ int8_t*>(args[1]);
    __gm__ int8_t* x2 = reinterpret_cast<__gm__ int8_t*>(args[2]);
    __gm__ int8_t* x3 = reinterpret_cast<__gm__ int8_t*>(args[3]);
    __gm__ int32_t* out = reinterpret_cast<__gm__ int32_t*>(args[4]);

    // Global tensor declarations
    using x0ShapeDim5 = Shape<1, 1, 1, 16, 32>;
    using x0StrideDim5 = Stride<1, 1, 1, 32, 1>;
    using x0GlobalType = GlobalTensor<int8_t, x0ShapeDim5, x0StrideDim5>;
    x0GlobalType x0Global(x0);

    using x1ShapeDim5 = Shape<1, 1, 1, 32, 32>;
    using x1StrideDim5 = Stride<1, 1, 1, 32, 1>;
    using x1GlobalType = GlobalTensor<int8_t, x1ShapeDim5, x1StrideDim5>;
    x1GlobalType x1Global(x1);

    using x2ShapeDim5 = Shape<1, 1, 1, 16, 32>;
    using x2StrideDim5 = Stride<1, 1, 1, 32, 1>;
    using x2GlobalType = GlobalTensor<int8_t, x2ShapeDim5, x2StrideDim5>;
    x2GlobalType x2Global(x2);

    using x3ShapeDim5 = Shape<1, 1, 1, 32, 32>;
    using x3StrideDim5 = Stride<1, 1, 1, 32, 1>;
    using x3GlobalType = GlobalTensor<int8_t, x3ShapeDim5, x3StrideDim5>;
    x3GlobalType x3Global(x3);

    using outShapeDim5 = Shape<1, 1, 1, 16, 32>;
    using outStrideDim5 = Stride<1, 1, 1, 32, 1>;
    using outGlobalType = GlobalTensor<int32_t, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    // Tile type definitions and allocations
    using t0_matType = Tile<TileType::Mat, int8_t, 16, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    t0_matType t0_mat(16, 32);
    TASSIGN(t0_mat, 0x0);

    using t0Type = Tile<TileType::Left, int8_t, 16, 32, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    t0Type t0(16, 32);
    TASSIGN(t0, 0x0);

    using t1_matType = Tile<TileType::Mat, int8_t, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    t1_matType t1_mat(32, 32);
    TASSIGN(t1_mat, 0x200);

    using t1Type = Tile<TileType::Right, int8_t, 32, 32, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    t1Type t1(32, 32);
    TASSIGN(t1, 0x0);

    using accType = Tile<TileType::Acc, int32_t, 16, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    accType acc(16, 32);
    TASSIGN(acc, 0x0);

    using t2_matType = Tile<TileType::Mat, int8_t, 16, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    t2_matType t2_mat(16, 32);
    TASSIGN(t2_mat, 0x600);

    using t2Type = Tile<TileType::Left, int8_t, 16, 32, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    t2Type t2(16, 32);
    TASSIGN(t2, 0x200);

    using t3_matType = Tile<TileType::Mat, int8_t, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    t3_matType t3_mat(32, 32);
    TASSIGN(t3_mat, 0x800);

    using t3Type = Tile<TileType::Right, int8_t, 32, 32, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    t3Type t3(32, 32);
    TASSIGN(t3, 0x400);

    using resultType = Tile<TileType::Acc, int32_t, 16, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
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
    set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
    wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
    TMATMUL(acc, t0, t1);
    TLOAD(t2_mat, x2Global);
    set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID2);
    wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID2);
    TMOV(t2, t2_mat);
    TLOAD(t3_mat, x3Global);
    set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID3);
    wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID3);
    TMOV(t3, t3_mat);
    set_flag(PIPE_MTE1, PIPE_M, EVENT_ID1);
    wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID1);
    pipe_barrier(PIPE_M);
    TMATMUL_ACC(result, acc, t2, t3);
    set_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    wait_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    TSTORE(outGlobal, result);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runKernel(args);
}
