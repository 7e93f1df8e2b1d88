#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "pto_orchestration_api.h"

#define ARG_PTR_Q 0
#define ARG_PTR_K 1
#define ARG_PTR_V 2
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

    void* arg_q_ptr = reinterpret_cast<void*>(args[ARG_PTR_Q]);
    uint64_t q_shapes[2] = {1024, 128};
    Tensor ext_q = make_tensor_external(arg_q_ptr, q_shapes, 2, DataType::FLOAT32);

    void* arg_k_ptr = reinterpret_cast<void*>(args[ARG_PTR_K]);
    uint64_t k_shapes[2] = {1024, 128};
    Tensor ext_k = make_tensor_external(arg_k_ptr, k_shapes, 2, DataType::FLOAT32);

    void* arg_v_ptr = reinterpret_cast<void*>(args[ARG_PTR_V]);
    uint64_t v_shapes[2] = {1024, 128};
    Tensor ext_v = make_tensor_external(arg_v_ptr, v_shapes, 2, DataType::FLOAT32);

    void* arg_out_ptr = reinterpret_cast<void*>(args[ARG_PTR_OUT]);
    uint64_t out_shapes[2] = {1024, 128};
    Tensor ext_out = make_tensor_external(arg_out_ptr, out_shapes, 2, DataType::FLOAT32);

    // flash_attention.py:148
    for (int64_t i = 0; i < 1024; i += 128) {
        PTO2_SCOPE(rt) {
            // flash_attention.py:149
            uint64_t scaled_shapes[2] = {128, 128};
            Tensor scaled = make_tensor(scaled_shapes, 2, DataType::FLOAT32);
            // flash_attention.py:150
            uint64_t s_shapes[2] = {128, 512};
            Tensor s = make_tensor(s_shapes, 2, DataType::FLOAT32);
            // flash_attention.py:151
            uint64_t p_shapes[2] = {128, 512};
            Tensor p = make_tensor(p_shapes, 2, DataType::FLOAT32);
            // flash_attention.py:152
            uint64_t step_shapes[2] = {128, 128};
            Tensor step = make_tensor(step_shapes, 2, DataType::FLOAT32);
            // flash_attention.py:153
            uint64_t largest_shapes[2] = {128, 1};
            Tensor largest = make_tensor(largest_shapes, 2, DataType::FLOAT32);
            // flash_attention.py:154
            uint64_t total_shapes[2] = {128, 1};
            Tensor total = make_tensor(total_shapes, 2, DataType::FLOAT32);
            // flash_attention.py:155
            uint64_t shrink_shapes[2] = {128, 1};
            Tensor shrink = make_tensor(shrink_shapes, 2, DataType::FLOAT32);
            // flash_attention.py:156
            Tensor rows_q = ext_q.view({128, 128}, {static_cast<uint64_t>(i), 0});
            // flash_attention.py:157
            Tensor rows_out = ext_out.view({128, 128}, {static_cast<uint64_t>(i), 0});
            // flash_attention.py:158
            // Task 0: start
            PTOParam params_t0[] = {
                make_input_param(rows_q),
                make_output_param(scaled),
                make_output_param(largest),
                make_output_param(total),
                make_output_param(rows_out),
            };
            pto2_rt_submit_task(rt, 0, PTO2_WORKER_VECTOR, params_t0, 5);
            // flash_attention.py:159
            for (int64_t j = 0; j < 1024; j += 512) {
                PTO2_SCOPE(rt) {
                    // flash_attention.py:160
                    Tensor rows_k = ext_k.view({512, 128}, {static_cast<uint64_t>(j), 0});
                    // flash_attention.py:161
                    Tensor rows_v = ext_v.view({512, 128}, {static_cast<uint64_t>(j), 0});
                    // flash_attention.py:162
                    // Task 1: scores
                    PTOParam params_t1[] = {
                        make_input_param(scaled),
                        make_input_param(rows_k),
                        make_output_param(s),
                    };
                    pto2_rt_submit_task(rt, 1, PTO2_WORKER_CUBE, params_t1, 3);
                    // flash_attention.py:163
                    // Task 2: softmax
                    PTOParam params_t2[] = {
                        make_input_param(s),
                        make_inout_param(largest),
                        make_inout_param(total),
                        make_output_param(shrink),
                        make_output_param(p),
                    };
                    pto2_rt_submit_task(rt, 2, PTO2_WORKER_VECTOR, params_t2, 5);
                    // flash_attention.py:164
                    // Task 3: values
                    PTOParam params_t3[] = {
                        make_input_param(p),
                        make_input_param(rows_v),
                        make_output_param(step),
                    };
                    pto2_rt_submit_task(rt, 3, PTO2_WORKER_CUBE, params_t3, 3);
                    // flash_attention.py:165
                    // Task 4: accumulate
                    PTOParam params_t4[] = {
                        make_input_param(step),
                        make_input_param(shrink),
                        make_inout_param(rows_out),
                    };
                    pto2_rt_submit_task(rt, 4, PTO2_WORKER_VECTOR, params_t4, 3);
                }
            }
            // flash_attention.py:166
            // Task 5: finish
            PTOParam params_t5[] = {
                make_input_param(total),
                make_inout_param(rows_out),
            };
            pto2_rt_submit_task(rt, 5, PTO2_WORKER_VECTOR, params_t5, 2);
        }
    }
}

}  // extern "C"
