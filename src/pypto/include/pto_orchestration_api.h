// The task runtime's interface under the name by which orchestrations include it.
#ifndef PTO_ORCHESTRATION_API_H
#define PTO_ORCHESTRATION_API_H

#include "pto/runtime/api.hpp"

#endif
