#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "pto_orchestration_api.h"

#define ARG_PTR_X 0
#define ARG_PTR_NORM 1
#define ARG_PTR_WQ 2
#define ARG_PTR_WK 3
#define ARG_PTR_WV 4
#define ARG_PTR_Q 5
#define ARG_PTR_K 6
#define ARG_PTR_V 7

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
        .expected_arg_count = 8,
    };
}

__attribute__((visibility("default")))
void aicpu_orchestration_entry(PTO2Runtime* rt, uint64_t* args, int arg_count)
{
    (void)arg_count;

    void* arg_x_ptr = reinterpret_cast<void*>(args[ARG_PTR_X]);
    uint64_t x_shapes[2] = {16, 1024};
    Tensor ext_x = make_tensor_external(arg_x_ptr, x_shapes, 2, DataType::FLOAT32);

    void* arg_norm_ptr = reinterpret_cast<void*>(args[ARG_PTR_NORM]);
    uint64_t norm_shapes[2] = {1, 1024};
    Tensor ext_norm = make_tensor_external(arg_norm_ptr, norm_shapes, 2, DataType::FLOAT32);

    void* arg_wq_ptr = reinterpret_cast<void*>(args[ARG_PTR_WQ]);
    uint64_t wq_shapes[2] = {512, 1024};
    Tensor ext_wq = make_tensor_external(arg_wq_ptr, wq_shapes, 2, DataType::BFLOAT16);

    void* arg_wk_ptr = reinterpret_cast<void*>(args[ARG_PTR_WK]);
    uint64_t wk_shapes[2] = {128, 1024};
    Tensor ext_wk = make_tensor_external(arg_wk_ptr, wk_shapes, 2, DataType::BFLOAT16);

    void* arg_wv_ptr = reinterpret_cast<void*>(args[ARG_PTR_WV]);
    uint64_t wv_shapes[2] = {128, 1024};
    Tensor ext_wv = make_tensor_external(arg_wv_ptr, wv_shapes, 2, DataType::BFLOAT16);

    void* arg_q_ptr = reinterpret_cast<void*>(args[ARG_PTR_Q]);
    uint64_t q_shapes[2] = {16, 512};
    Tensor ext_q = make_tensor_external(arg_q_ptr, q_shapes, 2, DataType::FLOAT32);

    void* arg_k_ptr = reinterpret_cast<void*>(args[ARG_PTR_K]);
    uint64_t k_shapes[2] = {16, 128};
    Tensor ext_k = make_tensor_external(arg_k_ptr, k_shapes, 2, DataType::FLOAT32);

    void* arg_v_ptr = reinterpret_cast<void*>(args[ARG_PTR_V]);
    uint64_t v_shapes[2] = {16, 128};
    Tensor ext_v = make_tensor_external(arg_v_ptr, v_shapes, 2, DataType::FLOAT32);

    // projections.py:69
    uint64_t normed_0_shapes[2] = {16, 1024};
    Tensor normed_0 = make_tensor(normed_0_shapes, 2, DataType::BFLOAT16);
    // projections.py:30
    // Task 0: rms_norm
    PTOParam params_t0[] = {
        make_input_param(ext_norm),
        make_output_param(normed_0),
        make_input_param(ext_x),
    };
    pto2_rt_submit_task(rt, 0, PTO2_WORKER_VECTOR, params_t0, 3);
    // projections.py:70
    // projections.py:46
    for (int64_t block_0 = 0; block_0 < 8; block_0 += 1) {
        PTO2_SCOPE(rt) {
            // Task 1: project
            PTOParam params_t1[] = {
                make_scalar_param(static_cast<uint64_t>(block_0)),
                make_input_param(normed_0),
                make_output_param(ext_q),
                make_input_param(ext_wq),
            };
            pto2_rt_submit_task(rt, 1, PTO2_WORKER_CUBE, params_t1, 4);
        }
    }
    // projections.py:71
    // projections.py:46
    for (int64_t block_1 = 0; block_1 < 2; block_1 += 1) {
        PTO2_SCOPE(rt) {
            // Task 2: project_1
            PTOParam params_t2[] = {
                make_scalar_param(static_cast<uint64_t>(block_1)),
                make_output_param(ext_k),
                make_input_param(normed_0),
                make_input_param(ext_wk),
            };
            pto2_rt_submit_task(rt, 2, PTO2_WORKER_CUBE, params_t2, 4);
        }
    }
    // projections.py:72
    // projections.py:46
    for (int64_t block_2 = 0; block_2 < 2; block_2 += 1) {
        PTO2_SCOPE(rt) {
            // Task 3: project_2
            PTOParam params_t3[] = {
                make_scalar_param(static_cast<uint64_t>(block_2)),
                make_input_param(normed_0),
                make_output_param(ext_v),
                make_input_param(ext_wv),
            };
            pto2_rt_submit_task(rt, 3, PTO2_WORKER_CUBE, params_t3, 4);
        }
    }
    // projections.py:73
}

}  // extern "C"
