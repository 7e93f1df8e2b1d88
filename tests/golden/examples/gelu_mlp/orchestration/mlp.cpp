#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "pto_orchestration_api.h"

#define ARG_PTR_X 0
#define ARG_PTR_W1 1
#define ARG_PTR_B1 2
#define ARG_PTR_W2 3
#define ARG_PTR_B2 4
#define ARG_PTR_OUT 5

static inline uint64_t float_to_u64(float value)
{
    union { uint64_t word; float value; } bits;
    bits.word = 0;
    bits.value = value;
    return bits.word;
}

extern "C" {

__attribute__((visibility("default")))
PTO2OrchestrationConfig aicpu_orchestration_config(uint64_t* args, int arg_count)
{
    (void)args;
    (void)arg_count;
    return PTO2OrchestrationConfig{
        .expected_arg_count = 6,
    };
}

__attribute__((visibility("default")))
void aicpu_orchestration_entry(PTO2Runtime* rt, uint64_t* args, int arg_count)
{
    (void)arg_count;

    void* arg_x_ptr = reinterpret_cast<void*>(args[ARG_PTR_X]);
    uint64_t x_shapes[2] = {256, 512};
    Tensor ext_x = make_tensor_external(arg_x_ptr, x_shapes, 2, DataType::BFLOAT16);

    void* arg_w1_ptr = reinterpret_cast<void*>(args[ARG_PTR_W1]);
    uint64_t w1_shapes[2] = {512, 2048};
    Tensor ext_w1 = make_tensor_external(arg_w1_ptr, w1_shapes, 2, DataType::BFLOAT16);

    void* arg_b1_ptr = reinterpret_cast<void*>(args[ARG_PTR_B1]);
    uint64_t b1_shapes[2] = {1, 2048};
    Tensor ext_b1 = make_tensor_external(arg_b1_ptr, b1_shapes, 2, DataType::FLOAT32);

    void* arg_w2_ptr = reinterpret_cast<void*>(args[ARG_PTR_W2]);
    uint64_t w2_shapes[2] = {2048, 512};
    Tensor ext_w2 = make_tensor_external(arg_w2_ptr, w2_shapes, 2, DataType::BFLOAT16);

    void* arg_b2_ptr = reinterpret_cast<void*>(args[ARG_PTR_B2]);
    uint64_t b2_shapes[2] = {1, 512};
    Tensor ext_b2 = make_tensor_external(arg_b2_ptr, b2_shapes, 2, DataType::FLOAT32);

    void* arg_out_ptr = reinterpret_cast<void*>(args[ARG_PTR_OUT]);
    uint64_t out_shapes[2] = {256, 512};
    Tensor ext_out = make_tensor_external(arg_out_ptr, out_shapes, 2, DataType::FLOAT32);

    // gelu_mlp.py:112
    for (int64_t t = 0; t < 256; t += 64) {
        PTO2_SCOPE(rt) {
            // gelu_mlp.py:113
            uint64_t h_shapes[2] = {64, 2048};
            Tensor h = make_tensor(h_shapes, 2, DataType::FLOAT32);
            // gelu_mlp.py:114
            uint64_t g_shapes[2] = {64, 2048};
            Tensor g = make_tensor(g_shapes, 2, DataType::BFLOAT16);
            // gelu_mlp.py:115
            Tensor rows_x = ext_x.view({64, 512}, {static_cast<uint64_t>(t), 0});
            // gelu_mlp.py:116
            Tensor rows_out = ext_out.view({64, 512}, {static_cast<uint64_t>(t), 0});
            // gelu_mlp.py:117
            // Task 0: widen
            PTOParam params_t0[] = {
                make_input_param(rows_x),
                make_input_param(ext_w1),
                make_input_param(ext_b1),
                make_output_param(h),
            };
            pto2_rt_submit_task(rt, 0, PTO2_WORKER_CUBE, params_t0, 4);
            // gelu_mlp.py:118
            // Task 1: gelu
            PTOParam params_t1[] = {
                make_input_param(h),
                make_output_param(g),
            };
            pto2_rt_submit_task(rt, 1, PTO2_WORKER_VECTOR, params_t1, 2);
            // gelu_mlp.py:119
            // Task 2: narrow
            PTOParam params_t2[] = {
                make_input_param(g),
                make_input_param(ext_w2),
                make_input_param(ext_b2),
                make_output_param(rows_out),
            };
            pto2_rt_submit_task(rt, 2, PTO2_WORKER_CUBE, params_t2, 4);
        }
    }
}

}  // extern "C"
