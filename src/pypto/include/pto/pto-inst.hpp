// The tile instruction set on a CPU: one header for generated kernels, source compatible with the NPU headers of the same
// name. Every instruction executes at once on the calling thread, which plays one core: it has its own tile memories with
// the capacities of the A2/A3 chip, and a sticky error instead of a trap. A launcher talks to namespace pto::cpu.
//
// Define PTO_CPU_LAX=1 before inclusion to also accept operand locations and layouts that no NPU executes.
#ifndef PTO_PTO_INST_HPP
#define PTO_PTO_INST_HPP

#include "detail/core/config.hpp"

#include "detail/core/enums.hpp"
#include "detail/core/types.hpp"

#include "detail/core/global.hpp"
#include "detail/core/memory.hpp"
#include "detail/core/sync.hpp"
#include "detail/core/tile.hpp"

#include "detail/core/check.hpp"
#include "detail/core/signals.hpp"

#include "detail/vector/argreduce.hpp"
#include "detail/vector/arithmetic.hpp"
#include "detail/vector/broadcast.hpp"
#include "detail/vector/compare.hpp"
#include "detail/vector/elementwise.hpp"
#include "detail/vector/ternary.hpp"
#include "detail/transfer/gather_scatter.hpp"
#include "detail/matrix/matmul.hpp"
#include "detail/transfer/move.hpp"
#include "detail/vector/quantize.hpp"
#include "detail/vector/reduce.hpp"
#include "detail/vector/sort.hpp"
#include "detail/transfer/transfer.hpp"
#include "detail/transfer/extract_insert.hpp"

#if !defined(PTO_COMPILED_AHEAD)
#include "detail/once/memory.hpp"
#include "detail/once/deferred.hpp"
#include "detail/once/bounds.hpp"
#include "detail/once/signals.hpp"
#include "detail/once/prefetch.hpp"
#include "detail/once/transfer.hpp"
#include "detail/once/layout_copy.hpp"
#endif

#endif
