#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runWiden(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ bfloat16_t* a = reinterpret_cast<__gm__ bfloat16_t*>(args[0]);
    __gm__ bfloat16_t* w = reinterpret_cast<__gm__ bfloat16_t*>(args[1]);
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[2]);

    // Global tensor declarations
    using aShapeDim5 = Shape<1, 1, 1, 64, 512>;
    using aStrideDim5 = Stride<1, 1, 1, 512, 1>;
    using aGlobalType = GlobalTensor<bfloat16_t, aShapeDim5, aStrideDim5>;
    aGlobalType aGlobal(a);

    using wShapeDim5 = Shape<1, 1, 1, 512, 1024>;
    using wStrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using wGlobalType = GlobalTensor<bfloat16_t, wShapeDim5, wStrideDim5>;
    wGlobalType wGlobal(w);

    using outShapeDim5 = Shape<1, 1, 1, 64, 1024>;
    using outStrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using a_64x128ShapeDim5 = Shape<1, 1, 1, 64, 128>;
    using a_64x128StrideDim5 = Stride<1, 1, 1, 512, 1>;
    using a_64x128GlobalType = GlobalTensor<bfloat16_t, a_64x128ShapeDim5, a_64x128StrideDim5>;
    a_64x128GlobalType a_64x128Global(a);

    using w_128x128ShapeDim5 = Shape<1, 1, 1, 128, 128>;
    using w_128x128StrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using w_128x128GlobalType = GlobalTensor<bfloat16_t, w_128x128ShapeDim5, w_128x128StrideDim5>;
    w_128x128GlobalType w_128x128Global(w);

    using out_64x128ShapeDim5 = Shape<1, 1, 1, 64, 128>;
    using out_64x128StrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using out_64x128GlobalType = GlobalTensor<float, out_64x128ShapeDim5, out_64x128StrideDim5>;
    out_64x128GlobalType out_64x128Global(out);

    // Tile type definitions and allocations
    using mat_a_0Type = Tile<TileType::Mat, bfloat16_t, 64, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    mat_a_0Type mat_a_0(64, 128);
    TASSIGN(mat_a_0, 0x0);

    using mat_w_0Type = Tile<TileType::Mat, bfloat16_t, 128, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    mat_w_0Type mat_w_0(128, 128);
    TASSIGN(mat_w_0, 0x4000);

    using left_0Type = Tile<TileType::Left, bfloat16_t, 64, 128, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    left_0Type left_0(64, 128);
    TASSIGN(left_0, 0x0);

    using right_0Type = Tile<TileType::Right, bfloat16_t, 128, 128, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    right_0Type right_0(128, 128);
    TASSIGN(right_0, 0x0);

    using acc_0Type = Tile<TileType::Acc, float, 64, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_0Type acc_0(64, 128);
    TASSIGN(acc_0, 0x0);

    using mat_a_1Type = Tile<TileType::Mat, bfloat16_t, 64, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    mat_a_1Type mat_a_1(64, 128);
    TASSIGN(mat_a_1, 0xc000);

    using mat_w_1Type = Tile<TileType::Mat, bfloat16_t, 128, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    mat_w_1Type mat_w_1(128, 128);
    TASSIGN(mat_w_1, 0x10000);

    using left_1Type = Tile<TileType::Left, bfloat16_t, 64, 128, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    left_1Type left_1(64, 128);
    TASSIGN(left_1, 0x4000);

    using right_1Type = Tile<TileType::Right, bfloat16_t, 128, 128, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    right_1Type right_1(128, 128);
    TASSIGN(right_1, 0x8000);

    using acc_1Type = Tile<TileType::Acc, float, 64, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_1Type acc_1(64, 128);
    TASSIGN(acc_1, 0x0);

    // Function body
    // llama_layer.py:92
    for (int64_t n = 0; n < 1024; n += 128) {
        // llama_layer.py:93
        TASSIGN(a_64x128Global, a + 0 * 512 + 0);
        TLOAD(mat_a_0, a_64x128Global);
        set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
        // llama_layer.py:94
        TASSIGN(w_128x128Global, w + 0 * 1024 + n);
        TLOAD(mat_w_0, w_128x128Global);
        set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
        // llama_layer.py:95
        wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
        TMOV(left_0, mat_a_0);
        // llama_layer.py:96
        wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
        TMOV(right_0, mat_w_0);
        set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
        // llama_layer.py:97
        wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
        TMATMUL(acc_0, left_0, right_0);
        // llama_layer.py:98
        set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
        using acc_iterType = Tile<TileType::Acc, float, 64, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
        acc_iterType acc_iter(64, 128);
        TASSIGN(acc_iter, 0x0);
        acc_iter = acc_0;
        for (int64_t k = 128; k < 512; k += 128) {
            // llama_layer.py:99
            TASSIGN(a_64x128Global, a + 0 * 512 + k);
            TLOAD(mat_a_1, a_64x128Global);
            set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID2);
            // llama_layer.py:100
            wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
            TASSIGN(w_128x128Global, w + k * 1024 + n);
            TLOAD(mat_w_1, w_128x128Global);
            set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID3);
            // llama_layer.py:101
            wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID2);
            TMOV(left_1, mat_a_1);
            set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID1);
            // llama_layer.py:102
            wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID3);
            TMOV(right_1, mat_w_1);
            set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
            set_flag(PIPE_MTE1, PIPE_M, EVENT_ID1);
            // llama_layer.py:103
            wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID1);
            TMATMUL_ACC(acc_1, acc_iter, left_1, right_1);
            set_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
            // llama_layer.py:98
            wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID1);
            wait_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
            acc_iter = acc_1;
        }
        wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
        set_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
        // llama_layer.py:104
        wait_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
        TASSIGN(out_64x128Global, out + 0 * 1024 + n);
        TSTORE(out_64x128Global, acc_iter);
        set_flag(PIPE_FIX, PIPE_M, EVENT_ID0);
        // llama_layer.py:92
        wait_flag(PIPE_FIX, PIPE_M, EVENT_ID0);
    }
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runWiden(args);
}
