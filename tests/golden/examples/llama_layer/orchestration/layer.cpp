#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "pto_orchestration_api.h"

#define ARG_PTR_X 0
#define ARG_PTR_NORM_1 1
#define ARG_PTR_WQ 2
#define ARG_PTR_WK 3
#define ARG_PTR_WV 4
#define ARG_PTR_WO 5
#define ARG_PTR_NORM_2 6
#define ARG_PTR_W_GATE 7
#define ARG_PTR_W_UP 8
#define ARG_PTR_W_DOWN 9
#define ARG_PTR_COS 10
#define ARG_PTR_SIN 11
#define ARG_PTR_MASK 12
#define ARG_PTR_OUT 13

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
        .expected_arg_count = 14,
    };
}

__attribute__((visibility("default")))
void aicpu_orchestration_entry(PTO2Runtime* rt, uint64_t* args, int arg_count)
{
    (void)arg_count;

    void* arg_x_ptr = reinterpret_cast<void*>(args[ARG_PTR_X]);
    uint64_t x_shapes[2] = {256, 512};
    Tensor ext_x = make_tensor_external(arg_x_ptr, x_shapes, 2, DataType::FLOAT32);

    void* arg_norm_1_ptr = reinterpret_cast<void*>(args[ARG_PTR_NORM_1]);
    uint64_t norm_1_shapes[2] = {1, 512};
    Tensor ext_norm_1 = make_tensor_external(arg_norm_1_ptr, norm_1_shapes, 2, DataType::FLOAT32);

    void* arg_wq_ptr = reinterpret_cast<void*>(args[ARG_PTR_WQ]);
    uint64_t wq_shapes[2] = {512, 512};
    Tensor ext_wq = make_tensor_external(arg_wq_ptr, wq_shapes, 2, DataType::BFLOAT16);

    void* arg_wk_ptr = reinterpret_cast<void*>(args[ARG_PTR_WK]);
    uint64_t wk_shapes[2] = {512, 512};
    Tensor ext_wk = make_tensor_external(arg_wk_ptr, wk_shapes, 2, DataType::BFLOAT16);

    void* arg_wv_ptr = reinterpret_cast<void*>(args[ARG_PTR_WV]);
    uint64_t wv_shapes[2] = {512, 512};
    Tensor ext_wv = make_tensor_external(arg_wv_ptr, wv_shapes, 2, DataType::BFLOAT16);

    void* arg_wo_ptr = reinterpret_cast<void*>(args[ARG_PTR_WO]);
    uint64_t wo_shapes[2] = {512, 512};
    Tensor ext_wo = make_tensor_external(arg_wo_ptr, wo_shapes, 2, DataType::BFLOAT16);

    void* arg_norm_2_ptr = reinterpret_cast<void*>(args[ARG_PTR_NORM_2]);
    uint64_t norm_2_shapes[2] = {1, 512};
    Tensor ext_norm_2 = make_tensor_external(arg_norm_2_ptr, norm_2_shapes, 2, DataType::FLOAT32);

    void* arg_w_gate_ptr = reinterpret_cast<void*>(args[ARG_PTR_W_GATE]);
    uint64_t w_gate_shapes[2] = {512, 1024};
    Tensor ext_w_gate = make_tensor_external(arg_w_gate_ptr, w_gate_shapes, 2, DataType::BFLOAT16);

    void* arg_w_up_ptr = reinterpret_cast<void*>(args[ARG_PTR_W_UP]);
    uint64_t w_up_shapes[2] = {512, 1024};
    Tensor ext_w_up = make_tensor_external(arg_w_up_ptr, w_up_shapes, 2, DataType::BFLOAT16);

    void* arg_w_down_ptr = reinterpret_cast<void*>(args[ARG_PTR_W_DOWN]);
    uint64_t w_down_shapes[2] = {1024, 512};
    Tensor ext_w_down = make_tensor_external(arg_w_down_ptr, w_down_shapes, 2, DataType::BFLOAT16);

    void* arg_cos_ptr = reinterpret_cast<void*>(args[ARG_PTR_COS]);
    uint64_t cos_shapes[2] = {256, 64};
    Tensor ext_cos = make_tensor_external(arg_cos_ptr, cos_shapes, 2, DataType::FLOAT32);

    void* arg_sin_ptr = reinterpret_cast<void*>(args[ARG_PTR_SIN]);
    uint64_t sin_shapes[2] = {256, 64};
    Tensor ext_sin = make_tensor_external(arg_sin_ptr, sin_shapes, 2, DataType::FLOAT32);

    void* arg_mask_ptr = reinterpret_cast<void*>(args[ARG_PTR_MASK]);
    uint64_t mask_shapes[2] = {64, 64};
    Tensor ext_mask = make_tensor_external(arg_mask_ptr, mask_shapes, 2, DataType::FLOAT32);

    void* arg_out_ptr = reinterpret_cast<void*>(args[ARG_PTR_OUT]);
    uint64_t out_shapes[2] = {256, 512};
    Tensor ext_out = make_tensor_external(arg_out_ptr, out_shapes, 2, DataType::FLOAT32);

    // llama_layer.py:261
    uint64_t q_shapes[2] = {256, 512};
    Tensor q = make_tensor(q_shapes, 2, DataType::BFLOAT16);
    // llama_layer.py:262
    uint64_t k_shapes[2] = {256, 512};
    Tensor k = make_tensor(k_shapes, 2, DataType::BFLOAT16);
    // llama_layer.py:263
    uint64_t v_shapes[2] = {256, 512};
    Tensor v = make_tensor(v_shapes, 2, DataType::BFLOAT16);
    // llama_layer.py:264
    for (int64_t t_0 = 0; t_0 < 256; t_0 += 64) {
        PTO2_SCOPE(rt) {
            // llama_layer.py:265
            Tensor rows_cos = ext_cos.view({64, 64}, {static_cast<uint64_t>(t_0), 0});
            Tensor rows_sin = ext_sin.view({64, 64}, {static_cast<uint64_t>(t_0), 0});
            // llama_layer.py:266
            uint64_t normed_0_shapes[2] = {64, 512};
            Tensor normed_0 = make_tensor(normed_0_shapes, 2, DataType::BFLOAT16);
            // llama_layer.py:267
            uint64_t plain_q_shapes[2] = {64, 512};
            Tensor plain_q = make_tensor(plain_q_shapes, 2, DataType::BFLOAT16);
            // llama_layer.py:268
            uint64_t plain_k_shapes[2] = {64, 512};
            Tensor plain_k = make_tensor(plain_k_shapes, 2, DataType::BFLOAT16);
            // llama_layer.py:269
            Tensor _t0 = ext_x.view({64, 512}, {static_cast<uint64_t>(t_0), 0});
            // Task 0: norm
            PTOParam params_t0[] = {
                make_input_param(_t0),
                make_input_param(ext_norm_1),
                make_output_param(normed_0),
            };
            pto2_rt_submit_task(rt, 0, PTO2_WORKER_VECTOR, params_t0, 3);
            // llama_layer.py:270
            // Task 1: project
            PTOParam params_t1[] = {
                make_input_param(normed_0),
                make_input_param(ext_wq),
                make_output_param(plain_q),
            };
            pto2_rt_submit_task(rt, 1, PTO2_WORKER_CUBE, params_t1, 3);
            // llama_layer.py:271
            // Task 2: project
            PTOParam params_t2[] = {
                make_input_param(normed_0),
                make_input_param(ext_wk),
                make_output_param(plain_k),
            };
            pto2_rt_submit_task(rt, 1, PTO2_WORKER_CUBE, params_t2, 3);
            // llama_layer.py:272
            Tensor _t1 = v.view({64, 512}, {static_cast<uint64_t>(t_0), 0});
            // Task 3: project
            PTOParam params_t3[] = {
                make_input_param(normed_0),
                make_input_param(ext_wv),
                make_output_param(_t1),
            };
            pto2_rt_submit_task(rt, 1, PTO2_WORKER_CUBE, params_t3, 3);
            // llama_layer.py:273
            Tensor _t2 = q.view({64, 512}, {static_cast<uint64_t>(t_0), 0});
            // Task 4: rope
            PTOParam params_t4[] = {
                make_input_param(plain_q),
                make_input_param(rows_cos),
                make_input_param(rows_sin),
                make_output_param(_t2),
            };
            pto2_rt_submit_task(rt, 2, PTO2_WORKER_VECTOR, params_t4, 4);
            // llama_layer.py:274
            Tensor _t3 = k.view({64, 512}, {static_cast<uint64_t>(t_0), 0});
            // Task 5: rope
            PTOParam params_t5[] = {
                make_input_param(plain_k),
                make_input_param(rows_cos),
                make_input_param(rows_sin),
                make_output_param(_t3),
            };
            pto2_rt_submit_task(rt, 2, PTO2_WORKER_VECTOR, params_t5, 4);
        }
    }
    // llama_layer.py:276
    for (int64_t t_1 = 0; t_1 < 256; t_1 += 64) {
        PTO2_SCOPE(rt) {
            // llama_layer.py:277
            int64_t keys = t_1 + 64;
            // llama_layer.py:278
            uint64_t p_shapes[2] = {256, 256};
            Tensor p = make_tensor(p_shapes, 2, DataType::BFLOAT16);
            // llama_layer.py:279
            for (int64_t head = 0; head < 4; head += 1) {
                PTO2_SCOPE(rt) {
                    // llama_layer.py:280
                    uint64_t s_shapes[2] = {64, 256};
                    Tensor s = make_tensor(s_shapes, 2, DataType::FLOAT32);
                    // llama_layer.py:281
                    Tensor _t4 = q.view({64, 512}, {static_cast<uint64_t>(t_1), 0});
                    // Task 6: scores
                    PTOParam params_t6[] = {
                        make_scalar_param(static_cast<uint64_t>(head * 128)),
                        make_scalar_param(static_cast<uint64_t>(keys)),
                        make_input_param(_t4),
                        make_input_param(k),
                        make_output_param(s),
                    };
                    pto2_rt_submit_task(rt, 3, PTO2_WORKER_CUBE, params_t6, 5);
                    // llama_layer.py:282
                    Tensor _t5 = p.view({64, 256}, {static_cast<uint64_t>(head * 64), 0});
                    // Task 7: softmax
                    PTOParam params_t7[] = {
                        make_scalar_param(static_cast<uint64_t>(keys)),
                        make_input_param(s),
                        make_input_param(ext_mask),
                        make_output_param(_t5),
                    };
                    pto2_rt_submit_task(rt, 4, PTO2_WORKER_VECTOR, params_t7, 4);
                }
            }
            // llama_layer.py:283
            uint64_t attended_shapes[2] = {64, 512};
            Tensor attended = make_tensor(attended_shapes, 2, DataType::BFLOAT16);
            // llama_layer.py:284
            uint64_t attention_shapes[2] = {64, 512};
            Tensor attention = make_tensor(attention_shapes, 2, DataType::BFLOAT16);
            // llama_layer.py:285
            uint64_t h_shapes[2] = {64, 512};
            Tensor h = make_tensor(h_shapes, 2, DataType::FLOAT32);
            // llama_layer.py:286
            // Task 8: values
            PTOParam params_t8[] = {
                make_scalar_param(static_cast<uint64_t>(keys)),
                make_input_param(p),
                make_input_param(v),
                make_output_param(attended),
            };
            pto2_rt_submit_task(rt, 5, PTO2_WORKER_CUBE, params_t8, 4);
            // llama_layer.py:287
            // Task 9: project
            PTOParam params_t9[] = {
                make_input_param(attended),
                make_input_param(ext_wo),
                make_output_param(attention),
            };
            pto2_rt_submit_task(rt, 1, PTO2_WORKER_CUBE, params_t9, 3);
            // llama_layer.py:288
            Tensor _t6 = ext_x.view({64, 512}, {static_cast<uint64_t>(t_1), 0});
            // Task 10: add
            PTOParam params_t10[] = {
                make_input_param(_t6),
                make_input_param(attention),
                make_output_param(h),
            };
            pto2_rt_submit_task(rt, 6, PTO2_WORKER_VECTOR, params_t10, 3);
            // llama_layer.py:290
            uint64_t normed_1_shapes[2] = {64, 512};
            Tensor normed_1 = make_tensor(normed_1_shapes, 2, DataType::BFLOAT16);
            // llama_layer.py:291
            uint64_t gate_shapes[2] = {64, 1024};
            Tensor gate = make_tensor(gate_shapes, 2, DataType::FLOAT32);
            // llama_layer.py:292
            uint64_t up_shapes[2] = {64, 1024};
            Tensor up = make_tensor(up_shapes, 2, DataType::FLOAT32);
            // llama_layer.py:293
            uint64_t active_shapes[2] = {64, 1024};
            Tensor active = make_tensor(active_shapes, 2, DataType::BFLOAT16);
            // llama_layer.py:294
            uint64_t perceptron_shapes[2] = {64, 512};
            Tensor perceptron = make_tensor(perceptron_shapes, 2, DataType::BFLOAT16);
            // llama_layer.py:295
            // Task 11: norm
            PTOParam params_t11[] = {
                make_input_param(h),
                make_input_param(ext_norm_2),
                make_output_param(normed_1),
            };
            pto2_rt_submit_task(rt, 0, PTO2_WORKER_VECTOR, params_t11, 3);
            // llama_layer.py:296
            // Task 12: widen
            PTOParam params_t12[] = {
                make_input_param(normed_1),
                make_input_param(ext_w_gate),
                make_output_param(gate),
            };
            pto2_rt_submit_task(rt, 7, PTO2_WORKER_CUBE, params_t12, 3);
            // llama_layer.py:297
            // Task 13: widen
            PTOParam params_t13[] = {
                make_input_param(normed_1),
                make_input_param(ext_w_up),
                make_output_param(up),
            };
            pto2_rt_submit_task(rt, 7, PTO2_WORKER_CUBE, params_t13, 3);
            // llama_layer.py:298
            // Task 14: activate
            PTOParam params_t14[] = {
                make_input_param(gate),
                make_input_param(up),
                make_output_param(active),
            };
            pto2_rt_submit_task(rt, 8, PTO2_WORKER_VECTOR, params_t14, 3);
            // llama_layer.py:299
            // Task 15: narrow
            PTOParam params_t15[] = {
                make_input_param(active),
                make_input_param(ext_w_down),
                make_output_param(perceptron),
            };
            pto2_rt_submit_task(rt, 9, PTO2_WORKER_CUBE, params_t15, 3);
            // llama_layer.py:300
            Tensor _t7 = ext_out.view({64, 512}, {static_cast<uint64_t>(t_1), 0});
            // Task 16: add
            PTOParam params_t16[] = {
                make_input_param(h),
                make_input_param(perceptron),
                make_output_param(_t7),
            };
            pto2_rt_submit_task(rt, 6, PTO2_WORKER_VECTOR, params_t16, 3);
        }
    }
}

}  // extern "C"
