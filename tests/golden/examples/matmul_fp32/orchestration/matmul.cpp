#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "pto_orchestration_api.h"

#define ARG_PTR_A 0
#define ARG_PTR_B 1
#define ARG_PTR_C 2

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
        .expected_arg_count = 3,
    };
}

__attribute__((visibility("default")))
void aicpu_orchestration_entry(PTO2Runtime* rt, uint64_t* args, int arg_count)
{
    (void)arg_count;

    void* arg_a_ptr = reinterpret_cast<void*>(args[ARG_PTR_A]);
    uint64_t a_shapes[2] = {512, 512};
    Tensor ext_a = make_tensor_external(arg_a_ptr, a_shapes, 2, DataType::FLOAT32);

    void* arg_b_ptr = reinterpret_cast<void*>(args[ARG_PTR_B]);
    uint64_t b_shapes[2] = {512, 512};
    Tensor ext_b = make_tensor_external(arg_b_ptr, b_shapes, 2, DataType::FLOAT32);

    void* arg_c_ptr = reinterpret_cast<void*>(args[ARG_PTR_C]);
    uint64_t c_shapes[2] = {512, 512};
    Tensor ext_c = make_tensor_external(arg_c_ptr, c_shapes, 2, DataType::FLOAT32);

    // matmul.py:61
    for (int64_t m = 0; m < 512; m += 64) {
        PTO2_SCOPE(rt) {
            // matmul.py:62
            Tensor rows_a = ext_a.view({64, 512}, {static_cast<uint64_t>(m), 0});
            // matmul.py:63
            Tensor rows_c = ext_c.view({64, 512}, {static_cast<uint64_t>(m), 0});
            // matmul.py:64
            // Task 0: matmul_block
            PTOParam params_t0[] = {
                make_input_param(rows_a),
                make_input_param(ext_b),
                make_output_param(rows_c),
            };
            pto2_rt_submit_task(rt, 0, PTO2_WORKER_CUBE, params_t0, 3);
        }
    }
}

}  // extern "C"
