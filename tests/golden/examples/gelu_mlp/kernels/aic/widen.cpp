#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runWiden(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ bfloat16_t* x = reinterpret_cast<__gm__ bfloat16_t*>(args[0]);
    __gm__ bfloat16_t* w1 = reinterpret_cast<__gm__ bfloat16_t*>(args[1]);
    __gm__ float* b1 = reinterpret_cast<__gm__ float*>(args[2]);
    __gm__ float* h = reinterpret_cast<__gm__ float*>(args[3]);

    // Global tensor declarations
    using xShapeDim5 = Shape<1, 1, 1, 64, 512>;
    using xStrideDim5 = Stride<1, 1, 1, 512, 1>;
    using xGlobalType = GlobalTensor<bfloat16_t, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x);

    using w1ShapeDim5 = Shape<1, 1, 1, 512, 2048>;
    using w1StrideDim5 = Stride<1, 1, 1, 2048, 1>;
    using w1GlobalType = GlobalTensor<bfloat16_t, w1ShapeDim5, w1StrideDim5>;
    w1GlobalType w1Global(w1);

    using b1ShapeDim5 = Shape<1, 1, 1, 1, 2048>;
    using b1StrideDim5 = Stride<1, 1, 1, 2048, 1>;
    using b1GlobalType = GlobalTensor<float, b1ShapeDim5, b1StrideDim5>;
    b1GlobalType b1Global(b1);

    using hShapeDim5 = Shape<1, 1, 1, 64, 2048>;
    using hStrideDim5 = Stride<1, 1, 1, 2048, 1>;
    using hGlobalType = GlobalTensor<float, hShapeDim5, hStrideDim5>;
    hGlobalType hGlobal(h);

    using b1_1x128ShapeDim5 = Shape<1, 1, 1, 1, 128>;
    using b1_1x128StrideDim5 = Stride<1, 1, 1, 2048, 1>;
    using b1_1x128GlobalType = GlobalTensor<float, b1_1x128ShapeDim5, b1_1x128StrideDim5>;
    b1_1x128GlobalType b1_1x128Global(b1);

    using x_64x256ShapeDim5 = Shape<1, 1, 1, 64, 256>;
    using x_64x256StrideDim5 = Stride<1, 1, 1, 512, 1>;
    using x_64x256GlobalType = GlobalTensor<bfloat16_t, x_64x256ShapeDim5, x_64x256StrideDim5>;
    x_64x256GlobalType x_64x256Global(x);

    using w1_256x128ShapeDim5 = Shape<1, 1, 1, 256, 128>;
    using w1_256x128StrideDim5 = Stride<1, 1, 1, 2048, 1>;
    using w1_256x128GlobalType = GlobalTensor<bfloat16_t, w1_256x128ShapeDim5, w1_256x128StrideDim5>;
    w1_256x128GlobalType w1_256x128Global(w1);

    using h_64x128ShapeDim5 = Shape<1, 1, 1, 64, 128>;
    using h_64x128StrideDim5 = Stride<1, 1, 1, 2048, 1>;
    using h_64x128GlobalType = GlobalTensor<float, h_64x128ShapeDim5, h_64x128StrideDim5>;
    h_64x128GlobalType h_64x128Global(h);

    // Tile type definitions and allocations
    using mat_bType = Tile<TileType::Mat, float, 1, 128, BLayout::RowMajor, -1, -1>;
    mat_bType mat_b(1, 128);
    TASSIGN(mat_b, 0x0);

    using mat_x_0Type = Tile<TileType::Mat, bfloat16_t, 64, 256, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    mat_x_0Type mat_x_0(64, 256);
    TASSIGN(mat_x_0, 0x200);

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

    using mat_x_1Type = Tile<TileType::Mat, bfloat16_t, 64, 256, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    mat_x_1Type mat_x_1(64, 256);
    TASSIGN(mat_x_1, 0x18200);

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
    // gelu_mlp.py:46
    set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
    set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID1);
    set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID2);
    set_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
    for (int64_t n = 0; n < 2048; n += 128) {
        // gelu_mlp.py:47
        TASSIGN(b1_1x128Global, b1 + 0 * 2048 + n);
        TLOAD(mat_b, b1_1x128Global);
        set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
        // gelu_mlp.py:48
        wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
        TASSIGN(x_64x256Global, x + 0 * 512 + 0);
        TLOAD(mat_x_0, x_64x256Global);
        set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
        // gelu_mlp.py:49
        wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID1);
        TASSIGN(w1_256x128Global, w1 + 0 * 2048 + n);
        TLOAD(mat_w_0, w1_256x128Global);
        set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID2);
        // gelu_mlp.py:50
        wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
        TMOV(bias, mat_b);
        set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID3);
        // gelu_mlp.py:51
        wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
        TMOV(left_0, mat_x_0);
        set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
        // gelu_mlp.py:52
        wait_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID2);
        TMOV(right_0, mat_w_0);
        set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID1);
        set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
        // gelu_mlp.py:53
        wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
        TMATMUL_BIAS(acc_0, left_0, right_0, bias);
        set_flag(PIPE_M, PIPE_MTE1, EVENT_ID1);
        // gelu_mlp.py:54
        wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID2);
        wait_flag(PIPE_M, PIPE_MTE1, EVENT_ID1);
        using acc_iterType = Tile<TileType::Acc, float, 64, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
        acc_iterType acc_iter(64, 128);
        TASSIGN(acc_iter, 0x0);
        acc_iter = acc_0;
        for (int64_t k = 256; k < 512; k += 256) {
            // gelu_mlp.py:55
            TASSIGN(x_64x256Global, x + 0 * 512 + k);
            TLOAD(mat_x_1, x_64x256Global);
            set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID3);
            // gelu_mlp.py:56
            TASSIGN(w1_256x128Global, w1 + k * 2048 + n);
            TLOAD(mat_w_1, w1_256x128Global);
            set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID4);
            // gelu_mlp.py:57
            wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID3);
            TMOV(left_1, mat_x_1);
            // gelu_mlp.py:58
            wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID4);
            TMOV(right_1, mat_w_1);
            set_flag(PIPE_MTE1, PIPE_M, EVENT_ID1);
            // gelu_mlp.py:59
            wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID1);
            TMATMUL_ACC(acc_1, acc_iter, left_1, right_1);
            acc_iter = acc_1;
        }
        // gelu_mlp.py:54
        set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID2);
        set_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
        set_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
        // gelu_mlp.py:60
        wait_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
        TASSIGN(h_64x128Global, h + 0 * 2048 + n);
        TSTORE(h_64x128Global, acc_iter);
        set_flag(PIPE_FIX, PIPE_M, EVENT_ID0);
        // gelu_mlp.py:46
        wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID3);
        wait_flag(PIPE_FIX, PIPE_M, EVENT_ID0);
    }
    wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
    wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID1);
    wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID2);
    wait_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runWiden(args);
}
