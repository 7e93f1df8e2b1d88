#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "pto_orchestration_api.h"

#define ARG_PTR_A 0
#define ARG_PTR_B 1
#define ARG_PTR_SCALE_A 2
#define ARG_PTR_SCALE_B 3
#define ARG_PTR_OUT 4

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
        .expected_arg_count = 5,
    };
}

__attribute__((visibility("default")))
void aicpu_orchestration_entry(PTO2Runtime* rt, uint64_t* args, int arg_count)
{
    (void)arg_count;

    void* arg_a_ptr = reinterpret_cast<void*>(args[ARG_PTR_A]);
    uint64_t a_shapes[2] = {256, 1024};
    Tensor ext_a = make_tensor_external(arg_a_ptr, a_shapes, 2, DataType::INT8);

    void* arg_b_ptr = reinterpret_cast<void*>(args[ARG_PTR_B]);
    uint64_t b_shapes[2] = {1024, 512};
    Tensor ext_b = make_tensor_external(arg_b_ptr, b_shapes, 2, DataType::INT8);

    void* arg_scale_a_ptr = reinterpret_cast<void*>(args[ARG_PTR_SCALE_A]);
    uint64_t scale_a_shapes[2] = {256, 1};
    Tensor ext_scale_a = make_tensor_external(arg_scale_a_ptr, scale_a_shapes, 2, DataType::FLOAT32);

    void* arg_scale_b_ptr = reinterpret_cast<void*>(args[ARG_PTR_SCALE_B]);
    uint64_t scale_b_shapes[2] = {1, 512};
    Tensor ext_scale_b = make_tensor_external(arg_scale_b_ptr, scale_b_shapes, 2, DataType::FLOAT32);

    void* arg_out_ptr = reinterpret_cast<void*>(args[ARG_PTR_OUT]);
    uint64_t out_shapes[2] = {256, 512};
    Tensor ext_out = make_tensor_external(arg_out_ptr, out_shapes, 2, DataType::FLOAT32);

    // int8_matmul.py:79
    for (int64_t m = 0; m < 256; m += 64) {
        PTO2_SCOPE(rt) {
            // int8_matmul.py:80
            uint64_t sums_shapes[2] = {64, 512};
            Tensor sums = make_tensor(sums_shapes, 2, DataType::INT32);
            // int8_matmul.py:81
            Tensor rows_a = ext_a.view({64, 1024}, {static_cast<uint64_t>(m), 0});
            // int8_matmul.py:82
            Tensor rows_scale = ext_scale_a.view({64, 1}, {static_cast<uint64_t>(m), 0});
            // int8_matmul.py:83
            Tensor rows_out = ext_out.view({64, 512}, {static_cast<uint64_t>(m), 0});
            // int8_matmul.py:84
            // Task 0: product
            PTOParam params_t0[] = {
                make_input_param(rows_a),
                make_input_param(ext_b),
                make_output_param(sums),
            };
            pto2_rt_submit_task(rt, 0, PTO2_WORKER_CUBE, params_t0, 3);
            // int8_matmul.py:85
            // Task 1: dequantise
            PTOParam params_t1[] = {
                make_input_param(sums),
                make_input_param(rows_scale),
                make_input_param(ext_scale_b),
                make_output_param(rows_out),
            };
            pto2_rt_submit_task(rt, 1, PTO2_WORKER_VECTOR, params_t1, 4);
        }
    }
}

}  // extern "C"
