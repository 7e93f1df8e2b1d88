#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "pto_orchestration_api.h"

#define ARG_PTR_X 0
#define ARG_PTR_WEIGHT 1
#define ARG_PTR_BIAS 2
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

    void* arg_x_ptr = reinterpret_cast<void*>(args[ARG_PTR_X]);
    uint64_t x_shapes[2] = {4096, 1024};
    Tensor ext_x = make_tensor_external(arg_x_ptr, x_shapes, 2, DataType::FLOAT32);

    void* arg_weight_ptr = reinterpret_cast<void*>(args[ARG_PTR_WEIGHT]);
    uint64_t weight_shapes[2] = {1, 1024};
    Tensor ext_weight = make_tensor_external(arg_weight_ptr, weight_shapes, 2, DataType::FLOAT32);

    void* arg_bias_ptr = reinterpret_cast<void*>(args[ARG_PTR_BIAS]);
    uint64_t bias_shapes[2] = {1, 1024};
    Tensor ext_bias = make_tensor_external(arg_bias_ptr, bias_shapes, 2, DataType::FLOAT32);

    void* arg_out_ptr = reinterpret_cast<void*>(args[ARG_PTR_OUT]);
    uint64_t out_shapes[2] = {4096, 1024};
    Tensor ext_out = make_tensor_external(arg_out_ptr, out_shapes, 2, DataType::FLOAT32);

    // layer_norm.py:60
    for (int64_t r = 0; r < 4096; r += 128) {
        PTO2_SCOPE(rt) {
            // layer_norm.py:61
            Tensor rows_x = ext_x.view({128, 1024}, {static_cast<uint64_t>(r), 0});
            // layer_norm.py:62
            Tensor rows_out = ext_out.view({128, 1024}, {static_cast<uint64_t>(r), 0});
            // layer_norm.py:63
            // Task 0: layer_norm_block
            PTOParam params_t0[] = {
                make_input_param(rows_x),
                make_input_param(ext_weight),
                make_input_param(ext_bias),
                make_output_param(rows_out),
            };
            pto2_rt_submit_task(rt, 0, PTO2_WORKER_VECTOR, params_t0, 4);
        }
    }
}

}  // extern "C"
