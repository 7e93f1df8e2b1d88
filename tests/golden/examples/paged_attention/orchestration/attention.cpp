#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "pto_orchestration_api.h"

#define ARG_PTR_Q 0
#define ARG_PTR_K_CACHE 1
#define ARG_PTR_V_CACHE 2
#define ARG_PTR_BLOCK_TABLE 3
#define ARG_PTR_CONTEXT_LENGTHS 4
#define ARG_PTR_POSITIONS 5
#define ARG_PTR_OUT 6

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

template <typename T>
static inline T int_min(T a, T b)
{
    return a < b ? a : b;
}

extern "C" {

__attribute__((visibility("default")))
PTO2OrchestrationConfig aicpu_orchestration_config(uint64_t* args, int arg_count)
{
    (void)args;
    (void)arg_count;
    return PTO2OrchestrationConfig{
        .expected_arg_count = 7,
    };
}

__attribute__((visibility("default")))
void aicpu_orchestration_entry(PTO2Runtime* rt, uint64_t* args, int arg_count)
{
    (void)arg_count;

    void* arg_q_ptr = reinterpret_cast<void*>(args[ARG_PTR_Q]);
    uint64_t q_shapes[2] = {256, 128};
    Tensor ext_q = make_tensor_external(arg_q_ptr, q_shapes, 2, DataType::BFLOAT16);

    void* arg_k_cache_ptr = reinterpret_cast<void*>(args[ARG_PTR_K_CACHE]);
    uint64_t k_cache_shapes[2] = {65536, 128};
    Tensor ext_k_cache = make_tensor_external(arg_k_cache_ptr, k_cache_shapes, 2, DataType::BFLOAT16);

    void* arg_v_cache_ptr = reinterpret_cast<void*>(args[ARG_PTR_V_CACHE]);
    uint64_t v_cache_shapes[2] = {65536, 128};
    Tensor ext_v_cache = make_tensor_external(arg_v_cache_ptr, v_cache_shapes, 2, DataType::BFLOAT16);

    void* arg_block_table_ptr = reinterpret_cast<void*>(args[ARG_PTR_BLOCK_TABLE]);
    uint64_t block_table_shapes[2] = {8, 32};
    Tensor ext_block_table = make_tensor_external(arg_block_table_ptr, block_table_shapes, 2, DataType::INT32);

    void* arg_context_lengths_ptr = reinterpret_cast<void*>(args[ARG_PTR_CONTEXT_LENGTHS]);
    uint64_t context_lengths_shapes[1] = {8};
    Tensor ext_context_lengths = make_tensor_external(arg_context_lengths_ptr, context_lengths_shapes, 1, DataType::INT32);

    void* arg_positions_ptr = reinterpret_cast<void*>(args[ARG_PTR_POSITIONS]);
    uint64_t positions_shapes[2] = {1, 128};
    Tensor ext_positions = make_tensor_external(arg_positions_ptr, positions_shapes, 2, DataType::FLOAT32);

    void* arg_out_ptr = reinterpret_cast<void*>(args[ARG_PTR_OUT]);
    uint64_t out_shapes[2] = {256, 128};
    Tensor ext_out = make_tensor_external(arg_out_ptr, out_shapes, 2, DataType::BFLOAT16);

    // paged_attention.py:152
    for (int64_t request = 0; request < 8; request += 1) {
        PTO2_SCOPE(rt) {
            // paged_attention.py:153
            int32_t _t0 = static_cast<const int32_t*>(arg_context_lengths_ptr)[request];
            int64_t length = static_cast<int64_t>(_t0);
            // paged_attention.py:154
            for (int64_t head = 0; head < 2; head += 1) {
                PTO2_SCOPE(rt) {
                    // paged_attention.py:155
                    int64_t row = request * 32 + head * 16;
                    // paged_attention.py:156
                    Tensor rows_q = ext_q.view({16, 128}, {static_cast<uint64_t>(row), 0});
                    // paged_attention.py:157
                    Tensor rows_out = ext_out.view({16, 128}, {static_cast<uint64_t>(row), 0});
                    // paged_attention.py:158
                    uint64_t largest_so_far_shapes[2] = {16, 1};
                    Tensor largest_so_far = make_tensor(largest_so_far_shapes, 2, DataType::FLOAT32);
                    // paged_attention.py:159
                    uint64_t total_so_far_shapes[2] = {16, 1};
                    Tensor total_so_far = make_tensor(total_so_far_shapes, 2, DataType::FLOAT32);
                    // paged_attention.py:160
                    uint64_t result_shapes[2] = {16, 128};
                    Tensor result = make_tensor(result_shapes, 2, DataType::FLOAT32);
                    // paged_attention.py:161
                    for (int64_t number = 0; number < floor_div(length + 128 - 1, 128); number += 1) {
                        PTO2_SCOPE(rt) {
                            // paged_attention.py:162
                            int32_t _t1 = static_cast<const int32_t*>(arg_block_table_ptr)[request * 32 + number];
                            int64_t block = static_cast<int64_t>(_t1);
                            // paged_attention.py:163
                            int64_t first = (block * 2 + head) * 128;
                            // paged_attention.py:164
                            Tensor rows_k = ext_k_cache.view({128, 128}, {static_cast<uint64_t>(first), 0});
                            // paged_attention.py:165
                            Tensor rows_v = ext_v_cache.view({128, 128}, {static_cast<uint64_t>(first), 0});
                            // paged_attention.py:166
                            float tokens = static_cast<float>(int_min<int64_t>(length - number * 128, 128));
                            // paged_attention.py:167
                            uint64_t s_shapes[2] = {16, 128};
                            Tensor s = make_tensor(s_shapes, 2, DataType::FLOAT32);
                            // paged_attention.py:168
                            uint64_t p_shapes[2] = {16, 128};
                            Tensor p = make_tensor(p_shapes, 2, DataType::BFLOAT16);
                            // paged_attention.py:169
                            uint64_t step_shapes[2] = {16, 128};
                            Tensor step = make_tensor(step_shapes, 2, DataType::FLOAT32);
                            // paged_attention.py:170
                            uint64_t largest_shapes[2] = {16, 1};
                            Tensor largest = make_tensor(largest_shapes, 2, DataType::FLOAT32);
                            // paged_attention.py:171
                            uint64_t total_shapes[2] = {16, 1};
                            Tensor total = make_tensor(total_shapes, 2, DataType::FLOAT32);
                            // paged_attention.py:172
                            // Task 0: scores
                            PTOParam params_t0[] = {
                                make_input_param(rows_q),
                                make_input_param(rows_k),
                                make_output_param(s),
                            };
                            pto2_rt_submit_task(rt, 0, PTO2_WORKER_CUBE, params_t0, 3);
                            // paged_attention.py:173
                            // Task 1: powers
                            PTOParam params_t1[] = {
                                make_input_param(s),
                                make_input_param(ext_positions),
                                make_scalar_param(float_to_u64(tokens)),
                                make_output_param(p),
                                make_output_param(largest),
                                make_output_param(total),
                            };
                            pto2_rt_submit_task(rt, 1, PTO2_WORKER_VECTOR, params_t1, 6);
                            // paged_attention.py:174
                            // Task 2: values
                            PTOParam params_t2[] = {
                                make_input_param(p),
                                make_input_param(rows_v),
                                make_output_param(step),
                            };
                            pto2_rt_submit_task(rt, 2, PTO2_WORKER_CUBE, params_t2, 3);
                            // paged_attention.py:175
                            // Task 3: update
                            PTOParam params_t3[] = {
                                make_scalar_param(static_cast<uint64_t>(number)),
                                make_input_param(largest),
                                make_input_param(total),
                                make_input_param(step),
                                make_inout_param(largest_so_far),
                                make_inout_param(total_so_far),
                                make_inout_param(result),
                            };
                            pto2_rt_submit_task(rt, 3, PTO2_WORKER_VECTOR, params_t3, 7);
                        }
                    }
                    // paged_attention.py:176
                    // Task 4: finish
                    PTOParam params_t4[] = {
                        make_input_param(total_so_far),
                        make_input_param(result),
                        make_output_param(rows_out),
                    };
                    pto2_rt_submit_task(rt, 4, PTO2_WORKER_VECTOR, params_t4, 3);
                }
            }
        }
    }
}

}  // extern "C"
