#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "pto_orchestration_api.h"

#define ARG_PTR_X 0
#define ARG_F 1
#define ARG_N 2
#define ARG_FLAG 3
#define ARG_PTR_OUT 4

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
        .expected_arg_count = 5,
    };
}

__attribute__((visibility("default")))
void aicpu_orchestration_entry(PTO2Runtime* rt, uint64_t* args, int arg_count)
{
    (void)arg_count;

    void* arg_x_ptr = reinterpret_cast<void*>(args[ARG_PTR_X]);
    uint64_t x_shapes[2] = {64, 64};
    Tensor ext_x = make_tensor_external(arg_x_ptr, x_shapes, 2, DataType::FLOAT32);

    union { uint64_t word; float value; } f_bits;
    f_bits.word = args[ARG_F];
    float f = f_bits.value;

    int64_t n = static_cast<int64_t>(args[ARG_N]);

    bool flag = args[ARG_FLAG] != 0;

    void* arg_out_ptr = reinterpret_cast<void*>(args[ARG_PTR_OUT]);
    uint64_t out_shapes[2] = {16, 64};
    Tensor ext_out = make_tensor_external(arg_out_ptr, out_shapes, 2, DataType::FLOAT32);

    // <string>:24
    Tensor rows = ext_x.view({16, 64}, {static_cast<uint64_t>(n * 16), 0});
    // <string>:25
    uint64_t scratch_shapes[2] = {16, 64};
    Tensor scratch = make_tensor(scratch_shapes, 2, DataType::FLOAT32);
    // <string>:27
    float first = static_cast<const float*>(arg_x_ptr)[n * 64 + 3];
    // <string>:28
    // Task 0: scale
    PTOParam params_t0[] = {
        make_input_param(rows),
        make_scalar_param(float_to_u64(f * first)),
        make_output_param(scratch),
    };
    pto2_rt_submit_task(rt, 0, PTO2_WORKER_VECTOR, params_t0, 3);
    // <string>:29
    int64_t count_0 = n;
    // <string>:30
    int64_t count_iter = count_0;
    for (int64_t i = 0; i < floor_div(n, 2); i += 1) {
        PTO2_SCOPE(rt) {
            // <string>:31
            int64_t count_1 = count_iter + i;
            // <string>:32
            // Task 1: both
            PTOParam params_t1[] = {
                make_input_param(scratch),
                make_scalar_param(static_cast<uint64_t>(floor_mod(count_1, 3))),
                make_output_param(ext_out),
                make_inout_param(scratch),
            };
            pto2_rt_submit_task(rt, 1, PTO2_WORKER_VECTOR, params_t1, 4);
            count_iter = count_1;
        }
    }
    // <string>:33
    if (flag) {
        PTO2_SCOPE(rt) {
            // <string>:34
            // Task 2: scale
            PTOParam params_t2[] = {
                make_input_param(scratch),
                make_scalar_param(float_to_u64(2.0f)),
                make_output_param(ext_out),
            };
            pto2_rt_submit_task(rt, 0, PTO2_WORKER_VECTOR, params_t2, 3);
        }
    } else {
        PTO2_SCOPE(rt) {
            // <string>:36
            // Task 3: scale
            PTOParam params_t3[] = {
                make_input_param(rows),
                make_scalar_param(float_to_u64(f)),
                make_output_param(ext_out),
            };
            pto2_rt_submit_task(rt, 0, PTO2_WORKER_VECTOR, params_t3, 3);
        }
    }
}

}  // extern "C"
