#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "pto_orchestration_api.h"

#define ARG_PTR_A 0
#define ARG_PTR_B 1
#define ARG_PTR_C 2
#define ARG_PTR_OUT 3

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
        .expected_arg_count = 4,
    };
}

__attribute__((visibility("default")))
void aicpu_orchestration_entry(PTO2Runtime* rt, uint64_t* args, int arg_count)
{
    (void)arg_count;

    void* arg_a_ptr = reinterpret_cast<void*>(args[ARG_PTR_A]);
    uint64_t a_shapes[2] = {4096, 4096};
    Tensor ext_a = make_tensor_external(arg_a_ptr, a_shapes, 2, DataType::FLOAT32);

    void* arg_b_ptr = reinterpret_cast<void*>(args[ARG_PTR_B]);
    uint64_t b_shapes[2] = {4096, 4096};
    Tensor ext_b = make_tensor_external(arg_b_ptr, b_shapes, 2, DataType::FLOAT32);

    void* arg_c_ptr = reinterpret_cast<void*>(args[ARG_PTR_C]);
    uint64_t c_shapes[2] = {4096, 4096};
    Tensor ext_c = make_tensor_external(arg_c_ptr, c_shapes, 2, DataType::FLOAT32);

    void* arg_out_ptr = reinterpret_cast<void*>(args[ARG_PTR_OUT]);
    uint64_t out_shapes[2] = {4096, 4096};
    Tensor ext_out = make_tensor_external(arg_out_ptr, out_shapes, 2, DataType::FLOAT32);

    // elementwise.py:54
    for (int64_t r = 0; r < 4096; r += 128) {
        PTO2_SCOPE(rt) {
            // elementwise.py:55
            Tensor rows_a = ext_a.view({128, 4096}, {static_cast<uint64_t>(r), 0});
            // elementwise.py:56
            Tensor rows_b = ext_b.view({128, 4096}, {static_cast<uint64_t>(r), 0});
            // elementwise.py:57
            Tensor rows_c = ext_c.view({128, 4096}, {static_cast<uint64_t>(r), 0});
            // elementwise.py:58
            Tensor rows_out = ext_out.view({128, 4096}, {static_cast<uint64_t>(r), 0});
            // elementwise.py:59
            // Task 0: silu_block
            PTOParam params_t0[] = {
                make_input_param(rows_a),
                make_input_param(rows_b),
                make_input_param(rows_c),
                make_output_param(rows_out),
            };
            pto2_rt_submit_task(rt, 0, PTO2_WORKER_VECTOR, params_t0, 4);
        }
    }
}

}  // extern "C"
