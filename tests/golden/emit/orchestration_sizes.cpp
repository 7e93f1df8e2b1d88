#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "pto_orchestration_api.h"

#define ARG_N 0
#define ARG_PTR_X 1
#define ARG_PTR_TABLE 2
#define ARG_PTR_OUT 3
#define ARG_N_1 4
#define ARG_PTR_ALL_ROWS 5

static inline uint64_t float_to_u64(float value)
{
    union { uint64_t word; float value; } bits;
    bits.word = 0;
    bits.value = value;
    return bits.word;
}

static void host_four_times(PTO2Runtime* rt, Tensor& x, Tensor& out, int64_t M)
{
    // <string>:20
    uint64_t made_0_shapes[2] = {static_cast<uint64_t>(M), 64};
    Tensor made_0 = make_tensor(made_0_shapes, 2, DataType::FLOAT32);
    // <string>:21
    // Task 0: twice
    PTOParam params_t0[] = {
        make_input_param(x),
        make_output_param(made_0),
        make_scalar_param(static_cast<uint64_t>(M)),
    };
    pto2_rt_submit_task(rt, 0, PTO2_WORKER_VECTOR, params_t0, 3);
    // <string>:22
    // Task 1: twice
    PTOParam params_t1[] = {
        make_input_param(made_0),
        make_output_param(out),
        make_scalar_param(static_cast<uint64_t>(M)),
    };
    pto2_rt_submit_task(rt, 0, PTO2_WORKER_VECTOR, params_t1, 3);
}

extern "C" {

__attribute__((visibility("default")))
PTO2OrchestrationConfig aicpu_orchestration_config(uint64_t* args, int arg_count)
{
    (void)args;
    (void)arg_count;
    return PTO2OrchestrationConfig{
        .expected_arg_count = 6,
    };
}

__attribute__((visibility("default")))
void aicpu_orchestration_entry(PTO2Runtime* rt, uint64_t* args, int arg_count)
{
    (void)arg_count;

    int64_t n = static_cast<int64_t>(args[ARG_N]);

    void* arg_out_ptr = reinterpret_cast<void*>(args[ARG_PTR_OUT]);
    uint64_t out_shapes[2] = {48, 64};
    Tensor ext_out = make_tensor_external(arg_out_ptr, out_shapes, 2, DataType::FLOAT32);

    int64_t N = static_cast<int64_t>(args[ARG_N_1]);

    void* arg_x_ptr = reinterpret_cast<void*>(args[ARG_PTR_X]);
    uint64_t x_shapes[2] = {static_cast<uint64_t>(N), 64};
    Tensor ext_x = make_tensor_external(arg_x_ptr, x_shapes, 2, DataType::FLOAT32);

    void* arg_table_ptr = reinterpret_cast<void*>(args[ARG_PTR_TABLE]);
    uint64_t table_shapes[3] = {static_cast<uint64_t>(n + 1), static_cast<uint64_t>(N), 2};
    Tensor ext_table = make_tensor_external(arg_table_ptr, table_shapes, 3, DataType::INT64);

    void* arg_all_rows_ptr = reinterpret_cast<void*>(args[ARG_PTR_ALL_ROWS]);
    uint64_t all_rows_shapes[2] = {static_cast<uint64_t>(N), 64};
    Tensor ext_all_rows = make_tensor_external(arg_all_rows_ptr, all_rows_shapes, 2, DataType::FLOAT32);

    // <string>:33
    host_four_times(rt, ext_x, ext_all_rows, N);
    // <string>:34
    int64_t rows = static_cast<const int64_t*>(arg_table_ptr)[1 * N * 2 + n * 2 + 1];
    // <string>:35
    Tensor _t0 = ext_all_rows.view({48, 64}, {0, 0});
    host_four_times(rt, _t0, ext_out, 48);
    // <string>:36
    Tensor _t1 = ext_x.view({static_cast<uint64_t>(rows), 64}, {0, 0});
    Tensor _t2 = ext_all_rows.view({static_cast<uint64_t>(rows), 64}, {0, 0});
    // Task 2: twice
    PTOParam params_t2[] = {
        make_input_param(_t1),
        make_output_param(_t2),
        make_scalar_param(static_cast<uint64_t>(rows)),
    };
    pto2_rt_submit_task(rt, 0, PTO2_WORKER_VECTOR, params_t2, 3);
}

}  // extern "C"
