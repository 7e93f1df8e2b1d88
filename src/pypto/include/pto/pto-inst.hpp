// The tile instruction set on a CPU: one header for generated kernels, source compatible with the NPU headers of the same
// name. Every instruction executes at once on the calling thread, which plays one core: it has its own tile memories with
// the capacities of the A2/A3 chip, and a sticky error instead of a trap. A launcher talks to namespace pto::cpu.
//
// Define PTO_CPU_LAX=1 before inclusion to also accept operand locations and layouts that no NPU executes.
#ifndef PTO_PTO_INST_HPP
#define PTO_PTO_INST_HPP

#include "detail/config.hpp"

#include "detail/enums.hpp"
#include "detail/types.hpp"

#include "detail/global.hpp"
#include "detail/memory.hpp"
#include "detail/sync.hpp"
#include "detail/tile.hpp"

#include "detail/check.hpp"

#include "detail/argreduce.hpp"
#include "detail/arithmetic.hpp"
#include "detail/broadcast.hpp"
#include "detail/compare.hpp"
#include "detail/elementwise.hpp"
#include "detail/fused.hpp"
#include "detail/index.hpp"
#include "detail/matmul.hpp"
#include "detail/move.hpp"
#include "detail/quantize.hpp"
#include "detail/reduce.hpp"
#include "detail/sort.hpp"
#include "detail/transfer.hpp"
#include "detail/window.hpp"

#endif
