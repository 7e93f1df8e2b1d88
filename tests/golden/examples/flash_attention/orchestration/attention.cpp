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

static inline int64_t floor_div(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return (q * b != a && (a < 0) != (b < 0)) ? q - 1 : q;
}

static inline int64_t floor_mod(int64_t a, int64_t b)
{
    int64_t r = a % b;
    return (r != 0 && (r < 0) != (b < 0)) ? r + b : r;
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

    // flash_attention.py:150
    uint64_t all_scaled_shapes[2] = {1024, 128};
    Tensor all_scaled = make_tensor(all_scaled_shapes, 2, DataType::FLOAT32);
    // flash_attention.py:151
    uint64_t all_s_shapes[2] = {1024, 512};
    Tensor all_s = make_tensor(all_s_shapes, 2, DataType::FLOAT32);
    // flash_attention.py:152
    uint64_t all_p_shapes[2] = {1024, 512};
    Tensor all_p = make_tensor(all_p_shapes, 2, DataType::FLOAT32);
    // flash_attention.py:153
    uint64_t all_step_shapes[2] = {1024, 128};
    Tensor all_step = make_tensor(all_step_shapes, 2, DataType::FLOAT32);
    // flash_attention.py:154
    uint64_t all_largest_shapes[2] = {1024, 1};
    Tensor all_largest = make_tensor(all_largest_shapes, 2, DataType::FLOAT32);
    // flash_attention.py:155
    uint64_t all_total_shapes[2] = {1024, 1};
    Tensor all_total = make_tensor(all_total_shapes, 2, DataType::FLOAT32);
    // flash_attention.py:156
    uint64_t all_shrink_shapes[2] = {1024, 1};
    Tensor all_shrink = make_tensor(all_shrink_shapes, 2, DataType::FLOAT32);
    // flash_attention.py:157
    for (int64_t i = 0; i < 1024; i += 128) {
        PTO2_SCOPE(rt) {
            // flash_attention.py:158
            int64_t at = floor_mod(floor_div(i, 128), 8) * 128;
            // flash_attention.py:159
            Tensor scaled = all_scaled.view({128, 128}, {static_cast<uint64_t>(at), 0});
            // flash_attention.py:160
            Tensor s = all_s.view({128, 512}, {static_cast<uint64_t>(at), 0});
            // flash_attention.py:161
            Tensor p = all_p.view({128, 512}, {static_cast<uint64_t>(at), 0});
            // flash_attention.py:162
            Tensor step = all_step.view({128, 128}, {static_cast<uint64_t>(at), 0});
            // flash_attention.py:163
            Tensor largest = all_largest.view({128, 1}, {static_cast<uint64_t>(at), 0});
            // flash_attention.py:164
            Tensor total = all_total.view({128, 1}, {static_cast<uint64_t>(at), 0});
            // flash_attention.py:165
            Tensor shrink = all_shrink.view({128, 1}, {static_cast<uint64_t>(at), 0});
            // flash_attention.py:166
            Tensor rows_q = ext_q.view({128, 128}, {static_cast<uint64_t>(i), 0});
            // flash_attention.py:167
            Tensor rows_out = ext_out.view({128, 128}, {static_cast<uint64_t>(i), 0});
            // flash_attention.py:168
            // Task 0: start
            PTOParam params_t0[] = {
                make_input_param(rows_q),
                make_output_param(scaled),
                make_output_param(largest),
                make_output_param(total),
                make_output_param(rows_out),
            };
            pto2_rt_submit_task(rt, 0, PTO2_WORKER_VECTOR, params_t0, 5);
            // flash_attention.py:169
            for (int64_t j = 0; j < 1024; j += 512) {
                PTO2_SCOPE(rt) {
                    // flash_attention.py:170
                    Tensor rows_k = ext_k.view({512, 128}, {static_cast<uint64_t>(j), 0});
                    // flash_attention.py:171
                    Tensor rows_v = ext_v.view({512, 128}, {static_cast<uint64_t>(j), 0});
                    // flash_attention.py:172
                    // Task 1: scores
                    PTOParam params_t1[] = {
                        make_input_param(scaled),
                        make_input_param(rows_k),
                        make_output_param(s),
                    };
                    pto2_rt_submit_task(rt, 1, PTO2_WORKER_CUBE, params_t1, 3);
                    // flash_attention.py:173
                    // Task 2: softmax
                    PTOParam params_t2[] = {
                        make_input_param(s),
                        make_inout_param(largest),
                        make_inout_param(total),
                        make_output_param(shrink),
                        make_output_param(p),
                    };
                    pto2_rt_submit_task(rt, 2, PTO2_WORKER_VECTOR, params_t2, 5);
                    // flash_attention.py:174
                    // Task 3: values
                    PTOParam params_t3[] = {
                        make_input_param(p),
                        make_input_param(rows_v),
                        make_output_param(step),
                    };
                    pto2_rt_submit_task(rt, 3, PTO2_WORKER_CUBE, params_t3, 3);
                    // flash_attention.py:175
                    // Task 4: accumulate
                    PTOParam params_t4[] = {
                        make_input_param(step),
                        make_input_param(shrink),
                        make_inout_param(rows_out),
                    };
                    pto2_rt_submit_task(rt, 4, PTO2_WORKER_VECTOR, params_t4, 3);
                }
            }
            // flash_attention.py:176
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
