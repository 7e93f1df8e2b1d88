// The functions that core/signals.hpp declares and that are the same in every kernel.
#ifndef PTO_DETAIL_ONCE_SIGNALS_HPP
#define PTO_DETAIL_ONCE_SIGNALS_HPP

#include "../core/signals.hpp"

namespace pto {
namespace detail {

PTO_COLD PTO_ONCE void settle_all()
{
    while (kernel_state.held.count != 0) {
        settle_held(0);
    }
}

PTO_COLD PTO_ONCE cpu::Host* host_of_launch()
{
    const Launch* launch = kernel_state.launch;
    return launch == nullptr || launch->run == nullptr ? nullptr : launch->run->host;
}

}  // namespace detail
}  // namespace pto

#endif
