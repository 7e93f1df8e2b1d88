#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runNarrow(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ bfloat16_t* g = reinterpret_cast<__gm__ bfloat16_t*>(args[0]);
    __gm__ bfloat16_t* w2 = reinterpret_cast<__gm__ bfloat16_t*>(args[1]);
    __gm__ float* b2 = reinterpret_cast<__gm__ float*>(args[2]);
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[3]);

    // Global tensor declarations
    using gShapeDim5 = Shape<1, 1, 1, 64, 2048>;
    using gStrideDim5 = Stride<1, 1, 1, 2048, 1>;
    using gGlobalType = GlobalTensor<bfloat16_t, gShapeDim5, gStrideDim5>;
    gGlobalType gGlobal(g);

    using w2ShapeDim5 = Shape<1, 1, 1, 2048, 512>;
    using w2StrideDim5 = Stride<1, 1, 1, 512, 1>;
    using w2GlobalType = GlobalTensor<bfloat16_t, w2ShapeDim5, w2StrideDim5>;
    w2GlobalType w2Global(w2);

    using b2ShapeDim5 = Shape<1, 1, 1, 1, 512>;
    using b2StrideDim5 = Stride<1, 1, 1, 512, 1>;
    using b2GlobalType = GlobalTensor<float, b2ShapeDim5, b2StrideDim5>;
    b2GlobalType b2Global(b2);

    using outShapeDim5 = Shape<1, 1, 1, 64, 512>;
    using outStrideDim5 = Stride<1, 1, 1, 512, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using b2_1x128ShapeDim5 = Shape<1, 1, 1, 1, 128>;
    using b2_1x128StrideDim5 = Stride<1, 1, 1, 512, 1>;
    using b2_1x128GlobalType = GlobalTensor<float, b2_1x128ShapeDim5, b2_1x128StrideDim5>;
    b2_1x128GlobalType b2_1x128Global(b2);

    using g_64x256ShapeDim5 = Shape<1, 1, 1, 64, 256>;
    using g_64x256StrideDim5 = Stride<1, 1, 1, 2048, 1>;
    using g_64x256GlobalType = GlobalTensor<bfloat16_t, g_64x256ShapeDim5, g_64x256StrideDim5>;
    g_64x256GlobalType g_64x256Global(g);

    using w2_256x128ShapeDim5 = Shape<1, 1, 1, 256, 128>;
    using w2_256x128StrideDim5 = Stride<1, 1, 1, 512, 1>;
    using w2_256x128GlobalType = GlobalTensor<bfloat16_t, w2_256x128ShapeDim5, w2_256x128StrideDim5>;
    w2_256x128GlobalType w2_256x128Global(w2);

    using out_64x128ShapeDim5 = Shape<1, 1, 1, 64, 128>;
    using out_64x128StrideDim5 = Stride<1, 1, 1, 512, 1>;
    using out_64x128GlobalType = GlobalTensor<float, out_64x128ShapeDim5, out_64x128StrideDim5>;
    out_64x128GlobalType out_64x128Global(out);

    // Tile type definitions and allocations
    using mat_bType = Tile<TileType::Mat, float, 1, 128, BLayout::RowMajor, -1, -1>;
    mat_bType mat_b(1, 128);
    TASSIGN(mat_b, 0x0);

    using mat_g_0Type = Tile<TileType::Mat, bfloat16_t, 64, 256, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    mat_g_0Type mat_g_0(64, 256);
    TASSIGN(mat_g_0, 0x200);

    using mat_w_0Type = Tile<TileType::Mat, bfloat16_t, 256, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    mat_w_0Type mat_w_0(256, 128);
    TASSIGN(mat_w_0, 0x8200);

    using biasType = Tile<TileType::Bias, float, 1, 128, BLayout::RowMajor, -1, -1>;
    biasType bias(1, 128);
    TASSIGN(bias, 0x0);

    using left_0Type = Tile<TileType::Left, bfloat16_t, 64, 256, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    left_0Type left_0(64, 256);
    TASSIGN(left_0, 0x0);

    using right_0Type = Tile<TileType::Right, bfloat16_t, 256, 128, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    right_0Type right_0(256, 128);
    TASSIGN(right_0, 0x0);

    using acc_0Type = Tile<TileType::Acc, float, 64, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_0Type acc_0(64, 128);
    TASSIGN(acc_0, 0x0);

    using mat_g_1Type = Tile<TileType::Mat, bfloat16_t, 64, 256, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    mat_g_1Type mat_g_1(64, 256);
    TASSIGN(mat_g_1, 0x18200);

    using mat_w_1Type = Tile<TileType::Mat, bfloat16_t, 256, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    mat_w_1Type mat_w_1(256, 128);
    TASSIGN(mat_w_1, 0x20200);

    using left_1Type = Tile<TileType::Left, bfloat16_t, 64, 256, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    left_1Type left_1(64, 256);
    TASSIGN(left_1, 0x8000);

    using right_1Type = Tile<TileType::Right, bfloat16_t, 256, 128, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    right_1Type right_1(256, 128);
    TASSIGN(right_1, 0x0);

    using acc_1Type = Tile<TileType::Acc, float, 64, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_1Type acc_1(64, 128);
    TASSIGN(acc_1, 0x0);

    // Function body
    // gelu_mlp.py:85
    for (int64_t n = 0; n < 512; n += 128) {
        // gelu_mlp.py:86
        TASSIGN(b2_1x128Global, b2 + 0 * 512 + n);
        TLOAD(mat_b, b2_1x128Global);
        set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
        // gelu_mlp.py:87
        TASSIGN(g_64x256Global, g + 0 * 2048 + 0);
        TLOAD(mat_g_0, g_64x256Global);
        set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
        // gelu_mlp.py:88
        TASSIGN(w2_256x128Global, w2 + 0 * 512 + n);
        TLOAD(mat_w_0, w2_256x128Global);
        set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID2);
        // gelu_mlp.py:89
        wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
        TMOV(bias, mat_b);
        // gelu_mlp.py:90
        wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
        TMOV(left_0, mat_g_0);
        // gelu_mlp.py:91
        wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID2);
        TMOV(right_0, mat_w_0);
        set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
        // gelu_mlp.py:92
        wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
        TMATMUL_BIAS(acc_0, left_0, right_0, bias);
        set_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
        // gelu_mlp.py:93
        wait_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
        set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
        using acc_iterType = Tile<TileType::Acc, float, 64, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
        acc_iterType acc_iter(64, 128);
        TASSIGN(acc_iter, 0x0);
        acc_iter = acc_0;
        for (int64_t k = 256; k < 2048; k += 256) {
            // gelu_mlp.py:94
            TASSIGN(g_64x256Global, g + 0 * 2048 + k);
            TLOAD(mat_g_1, g_64x256Global);
            set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID3);
            // gelu_mlp.py:95
            wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
            TASSIGN(w2_256x128Global, w2 + k * 512 + n);
            TLOAD(mat_w_1, w2_256x128Global);
            set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID4);
            // gelu_mlp.py:96
            wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID3);
            TMOV(left_1, mat_g_1);
            set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID1);
            // gelu_mlp.py:97
            wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID4);
            TMOV(right_1, mat_w_1);
            set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
            set_flag(PIPE_MTE1, PIPE_M, EVENT_ID1);
            // gelu_mlp.py:98
            wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID1);
            TMATMUL_ACC(acc_1, acc_iter, left_1, right_1);
            set_flag(PIPE_M, PIPE_MTE1, EVENT_ID1);
            // gelu_mlp.py:93
            wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID1);
            wait_flag(PIPE_M, PIPE_MTE1, EVENT_ID1);
            acc_iter = acc_1;
        }
        wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
        set_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
        // gelu_mlp.py:99
        wait_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
        TASSIGN(out_64x128Global, out + 0 * 512 + n);
        TSTORE(out_64x128Global, acc_iter);
        set_flag(PIPE_FIX, PIPE_M, EVENT_ID0);
        // gelu_mlp.py:85
        wait_flag(PIPE_FIX, PIPE_M, EVENT_ID0);
    }
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runNarrow(args);
}
