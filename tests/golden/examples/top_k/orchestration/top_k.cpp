#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "pto_orchestration_api.h"

#define ARG_PTR_X 0
#define ARG_PTR_POSITIONS 1
#define ARG_PTR_VALUES 2
#define ARG_PTR_INDICES 3

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
    uint64_t x_shapes[2] = {1024, 512};
    Tensor ext_x = make_tensor_external(arg_x_ptr, x_shapes, 2, DataType::FLOAT32);

    void* arg_positions_ptr = reinterpret_cast<void*>(args[ARG_PTR_POSITIONS]);
    uint64_t positions_shapes[2] = {1, 512};
    Tensor ext_positions = make_tensor_external(arg_positions_ptr, positions_shapes, 2, DataType::FLOAT32);

    void* arg_values_ptr = reinterpret_cast<void*>(args[ARG_PTR_VALUES]);
    uint64_t values_shapes[2] = {64, 128};
    Tensor ext_values = make_tensor_external(arg_values_ptr, values_shapes, 2, DataType::FLOAT32);

    void* arg_indices_ptr = reinterpret_cast<void*>(args[ARG_PTR_INDICES]);
    uint64_t indices_shapes[2] = {64, 128};
    Tensor ext_indices = make_tensor_external(arg_indices_ptr, indices_shapes, 2, DataType::INT32);

    // top_k.py:68
    for (int64_t block = 0; block < 8; block += 1) {
        PTO2_SCOPE(rt) {
            // top_k.py:69
            Tensor rows_x = ext_x.view({128, 512}, {static_cast<uint64_t>(block * 128), 0});
            // top_k.py:70
            Tensor rows_values = ext_values.view({8, 128}, {static_cast<uint64_t>(block * 8), 0});
            // top_k.py:71
            Tensor rows_indices = ext_indices.view({8, 128}, {static_cast<uint64_t>(block * 8), 0});
            // top_k.py:72
            // Task 0: top_k_block
            PTOParam params_t0[] = {
                make_input_param(rows_x),
                make_input_param(ext_positions),
                make_output_param(rows_values),
                make_output_param(rows_indices),
            };
            pto2_rt_submit_task(rt, 0, PTO2_WORKER_VECTOR, params_t0, 4);
        }
    }
}

}  // extern "C"
