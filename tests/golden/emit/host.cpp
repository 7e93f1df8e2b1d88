#include <stddef.h>
#include <stdint.h>

#include "pto_orchestration_api.h"

static void host_twice(int line, PTO2Runtime* rt, const Tensor& x, const Tensor& out, Tensor& result_0, int64_t& result_1)
{
    (void)line, (void)rt;
    pto2_rt_check(rt, x, DataType::FLOAT32, {16, 64}, "x", "Tensor[[16, 64], FP32]", line);
    pto2_rt_check(rt, out, DataType::FLOAT32, {16, 64}, "out", "Tensor[[16, 64], FP32]", line);
    // <string>:18
    // Task 0: scale
    PTOParam params_t0[] = {
        make_input_param(x),
        make_scalar_param(pto2::bits<uint64_t>(2.0f)),
        make_output_param(out),
    };
    pto2_rt_submit_task(rt, 0, PTO2_WORKER_VECTOR, params_t0, 3);
    // <string>:19
    result_0 = out;
    result_1 = 2;
}

static void host_main(int line, PTO2Runtime* rt, const Tensor& x, [[maybe_unused]] float h, [[maybe_unused]] bool flag, [[maybe_unused]] int8_t low, Tensor& result_0, int64_t& result_1)
{
    (void)line, (void)rt;
    pto2_rt_check(rt, x, DataType::FLOAT32, {-1, 64}, "x", "Tensor[[ROWS, 64], FP32]", line);
    const int64_t ROWS = x.shapes[0];
    (void)ROWS;
    // <string>:26
    uint64_t held_0_shapes[2] = {16, 64};
    Tensor held_0 = make_tensor(held_0_shapes, 2, DataType::FLOAT32);
    // <string>:27
    int64_t count_0 = 0;
    (void)count_0;
    // <string>:28
    int64_t count_iter = count_0;
    Tensor held_iter = held_0;
    const int64_t i_start = 0;
    const int64_t i_stop = pto2::floor_divide<int64_t>(ROWS, 16);
    const int64_t i_step = 1;
    for (int64_t i = i_start; i < i_stop; i += i_step) {
        PTO2_SCOPE(rt) {
            // <string>:29
            Tensor rows = x.view({16, 64}, {static_cast<uint64_t>(i * 16), 0});
            // <string>:30
            uint64_t fresh_0_shapes[2] = {16, 64};
            Tensor fresh_0 = make_tensor(fresh_0_shapes, 2, DataType::FLOAT32);
            // <string>:31
            Tensor twice_0{};
            int64_t twice_1{};
            host_twice(__LINE__, rt, rows, fresh_0, twice_0, twice_1);
            int64_t more = twice_1;
            (void)more;
            // <string>:32
            float _t0 = pto2_rt_read<float>(rt, rows, {0, 3});
            (void)_t0;
            int64_t count_2{};
            Tensor held_2{};
            if (_t0 > 0.5f) {
                PTO2_SCOPE(rt) {
                    // <string>:33
                    // <string>:34
                    int64_t count_1 = count_iter + pto2::modulo<int64_t>(more, 3);
                    (void)count_1;
                    int64_t count_2_next = count_1;
                    Tensor held_2_next = twice_0;
                    count_2 = count_2_next;
                    held_2 = held_2_next;
                }
            }
            else {
                PTO2_SCOPE(rt) {
                    // <string>:36
                    float _t1 = pto2_rt_read<float>(rt, x, {static_cast<int64_t>(i), 0});
                    (void)_t1;
                    // Task 1: scale
                    PTOParam params_t1[] = {
                        make_input_param(rows),
                        make_scalar_param(pto2::bits<uint64_t>(_t1 * 0.5f)),
                        make_output_param(held_iter),
                    };
                    pto2_rt_submit_task(rt, 0, PTO2_WORKER_VECTOR, params_t1, 3);
                    int64_t count_2_next_1 = count_iter;
                    Tensor held_2_next_1 = held_iter;
                    count_2 = count_2_next_1;
                    held_2 = held_2_next_1;
                }
            }
            int64_t count_iter_next = count_2;
            Tensor held_iter_next = held_2;
            count_iter = count_iter_next;
            held_iter = held_iter_next;
        }
    }
    // <string>:37
    int64_t count_iter_1 = count_iter;
    while ((count_iter_1 > 10) && flag) {
        PTO2_SCOPE(rt) {
            // <string>:38
            int64_t count_4 = count_iter_1 - pto2::maximum<int64_t>(pto2::floor_divide<int64_t>(count_iter_1, 2), 1);
            (void)count_4;
            count_iter_1 = count_4;
        }
    }
    // <string>:39
    result_0 = held_iter;
    result_1 = count_iter_1;
}

static void entry(PTO2Runtime* rt, uint64_t* args, int arg_count)
{
    (void)arg_count;
    uint64_t x_shapes[2] = {args[4], 64};
    Tensor x = make_tensor_external(reinterpret_cast<void*>(args[0]), x_shapes, 2, DataType::FLOAT32);
    float h = pto2::from_bf16(static_cast<uint16_t>(args[1]));
    bool flag = args[2] != 0;
    int8_t low = static_cast<int8_t>(args[3]);
    Tensor result_0{};
    int64_t result_1{};
    host_main(__LINE__, rt, x, h, flag, low, result_0, result_1);
    pto2_rt_return(rt, result_0);
    pto2_rt_return_word(rt, static_cast<uint64_t>(result_1));
}

extern "C" __attribute__((visibility("default"))) int pypto_enter(PTO2Runtime* rt, uint64_t* args, int count)
{
    return pto2_enter(rt, args, count, entry);
}
