#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runProduct(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ int8_t* a = reinterpret_cast<__gm__ int8_t*>(args[0]);
    __gm__ int8_t* b = reinterpret_cast<__gm__ int8_t*>(args[1]);
    __gm__ int32_t* sums = reinterpret_cast<__gm__ int32_t*>(args[2]);

    // Global tensor declarations
    using aShapeDim5 = Shape<1, 1, 1, 64, 1024>;
    using aStrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using aGlobalType = GlobalTensor<int8_t, aShapeDim5, aStrideDim5>;
    aGlobalType aGlobal(a);

    using bShapeDim5 = Shape<1, 1, 1, 1024, 512>;
    using bStrideDim5 = Stride<1, 1, 1, 512, 1>;
    using bGlobalType = GlobalTensor<int8_t, bShapeDim5, bStrideDim5>;
    bGlobalType bGlobal(b);

    using sumsShapeDim5 = Shape<1, 1, 1, 64, 512>;
    using sumsStrideDim5 = Stride<1, 1, 1, 512, 1>;
    using sumsGlobalType = GlobalTensor<int32_t, sumsShapeDim5, sumsStrideDim5>;
    sumsGlobalType sumsGlobal(sums);

    using a_64x256ShapeDim5 = Shape<1, 1, 1, 64, 256>;
    using a_64x256StrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using a_64x256GlobalType = GlobalTensor<int8_t, a_64x256ShapeDim5, a_64x256StrideDim5>;
    a_64x256GlobalType a_64x256Global(a);

    using b_256x128ShapeDim5 = Shape<1, 1, 1, 256, 128>;
    using b_256x128StrideDim5 = Stride<1, 1, 1, 512, 1>;
    using b_256x128GlobalType = GlobalTensor<int8_t, b_256x128ShapeDim5, b_256x128StrideDim5>;
    b_256x128GlobalType b_256x128Global(b);

    using sums_64x128ShapeDim5 = Shape<1, 1, 1, 64, 128>;
    using sums_64x128StrideDim5 = Stride<1, 1, 1, 512, 1>;
    using sums_64x128GlobalType = GlobalTensor<int32_t, sums_64x128ShapeDim5, sums_64x128StrideDim5>;
    sums_64x128GlobalType sums_64x128Global(sums);

    // Tile type definitions and allocations
    using mat_a_0Type = Tile<TileType::Mat, int8_t, 64, 256, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    mat_a_0Type mat_a_0(64, 256);
    TASSIGN(mat_a_0, 0x0);

    using mat_b_0Type = Tile<TileType::Mat, int8_t, 256, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    mat_b_0Type mat_b_0(256, 128);
    TASSIGN(mat_b_0, 0x4000);

    using left_0Type = Tile<TileType::Left, int8_t, 64, 256, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    left_0Type left_0(64, 256);
    TASSIGN(left_0, 0x0);

    using right_0Type = Tile<TileType::Right, int8_t, 256, 128, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    right_0Type right_0(256, 128);
    TASSIGN(right_0, 0x0);

    using acc_0Type = Tile<TileType::Acc, int32_t, 64, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_0Type acc_0(64, 128);
    TASSIGN(acc_0, 0x0);

    using mat_a_1Type = Tile<TileType::Mat, int8_t, 64, 256, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    mat_a_1Type mat_a_1(64, 256);
    TASSIGN(mat_a_1, 0xc000);

    using mat_b_1Type = Tile<TileType::Mat, int8_t, 256, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    mat_b_1Type mat_b_1(256, 128);
    TASSIGN(mat_b_1, 0x10000);

    using left_1Type = Tile<TileType::Left, int8_t, 64, 256, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    left_1Type left_1(64, 256);
    TASSIGN(left_1, 0x4000);

    using right_1Type = Tile<TileType::Right, int8_t, 256, 128, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    right_1Type right_1(256, 128);
    TASSIGN(right_1, 0x8000);

    using acc_1Type = Tile<TileType::Acc, int32_t, 64, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_1Type acc_1(64, 128);
    TASSIGN(acc_1, 0x0);

    // Function body
    for (int64_t n = 0; n < 512; n += 128) {
        TASSIGN(a_64x256Global, a + 0 * 1024 + 0);
        TLOAD(mat_a_0, a_64x256Global);
        set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
        TASSIGN(b_256x128Global, b + 0 * 512 + n);
        TLOAD(mat_b_0, b_256x128Global);
        set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
        wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
        TMOV(left_0, mat_a_0);
        wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
        TMOV(right_0, mat_b_0);
        set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
        wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
        TMATMUL(acc_0, left_0, right_0);
        set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
        using acc_iterType = Tile<TileType::Acc, int32_t, 64, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
        acc_iterType acc_iter(64, 128);
        TASSIGN(acc_iter, 0x0);
        acc_iter = acc_0;
        for (int64_t k = 256; k < 1024; k += 256) {
            TASSIGN(a_64x256Global, a + 0 * 1024 + k);
            TLOAD(mat_a_1, a_64x256Global);
            set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID2);
            wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
            TASSIGN(b_256x128Global, b + k * 512 + n);
            TLOAD(mat_b_1, b_256x128Global);
            set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID3);
            wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID2);
            TMOV(left_1, mat_a_1);
            set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID1);
            wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID3);
            TMOV(right_1, mat_b_1);
            set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
            set_flag(PIPE_MTE1, PIPE_M, EVENT_ID1);
            wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID1);
            TMATMUL_ACC(acc_1, acc_iter, left_1, right_1);
            set_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
            wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID1);
            wait_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
            acc_iter = acc_1;
        }
        wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
        set_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
        wait_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
        TASSIGN(sums_64x128Global, sums + 0 * 512 + n);
        TSTORE(sums_64x128Global, acc_iter);
        set_flag(PIPE_FIX, PIPE_M, EVENT_ID0);
        wait_flag(PIPE_FIX, PIPE_M, EVENT_ID0);
    }
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runProduct(args);
}
