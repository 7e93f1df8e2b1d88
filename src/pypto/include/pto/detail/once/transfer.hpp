// The functions that transfer/transfer.hpp declares and that are the same in every kernel.
#ifndef PTO_DETAIL_ONCE_TRANSFER_HPP
#define PTO_DETAIL_ONCE_TRANSFER_HPP

#include "../transfer/transfer.hpp"

namespace pto {
namespace detail {

PTO_LIGHT PTO_ONCE LineSizes line_sizes(const GlobalView& g)
{
    int64_t shape[5], stride[5];
    for (int i = 0; i < 5; ++i) {
        shape[i] = g.shape[i];
        stride[i] = g.stride[i];
    }
    return line_sizes(g.layout, shape, stride);
}

PTO_LIGHT PTO_ONCE bool in_tensor(const Region& region)
{
    const Extents& known = kernel_state.extents;
    for (int i = 0; i < known.count; ++i) {
        if (known.of[i].begin == region.origin && region.begin >= region.origin &&
            region.begin + static_cast<uintptr_t>(region.bytes) <= known.of[i].end) {
            const uint64_t place = (region.begin - region.origin) / static_cast<uint64_t>(region.size);
            const uint64_t line = static_cast<uint64_t>(region.line);
            if (line == 0 || place % line + static_cast<uint64_t>(region.width) <= line) {
                return true;
            }
        }
    }
    return known.count == 0;
}

PTO_COLD PTO_ONCE bool in_some_tensor(Region region, const Asked& asked, bool dn, bool flat)
{
    if (region.bytes == 0) {
        take_pending_error();
        return true;
    }
    do {
        const int64_t place = static_cast<int64_t>(region.begin - region.origin) / region.size;
        if (in_tensor(region) && (flat || kernel_state.extents.count == 0 || stays_in_dimensions(place, asked.n, asked.step, dn))) {
            return true;
        }
        region.origin = another_origin(asked, region.origin);
    } while (region.origin != 0);
    return false;
}

PTO_LIGHT PTO_ONCE bool inside(const GlobalView& g, const LineSizes& lines, const char* verb)
{
    const int64_t* const steps = g.stride.fixed;
    const bool flat = steps[0] == 1 && steps[1] == 1 && steps[2] == 1;
    const bool dn = g.layout == Layout::DN;
    const bool has_lines = flat && lines.unit == 1 && steps[dn ? 4 : 3] != 1;
    const Region region{reinterpret_cast<uintptr_t>(g.data),
                        reinterpret_cast<uintptr_t>(g.origin),
                        lines.span * g.size,
                        g.size,
                        has_lines ? lines.line_step : 0,
                        lines.length};
    return (flat && in_tensor(region)) || in_some_tensor(region, Asked{g.data, g.size, g.shape, g.stride, verb}, dn, flat);
}

PTO_LIGHT PTO_ONCE void before_write(const GlobalView& g, const LineSizes& lines)
{
    if (kernel_state.held.count != 0) {
        int64_t first = 0, last = 1;  // elements from the address to the start of the region (not positive), and to its end
        for (int i = 0; i < 5; ++i) {
            const int64_t far = (lines.n[i] - 1) * lines.step[i];
            first += far > 0 ? 0 : far;
            last += far > 0 ? far : 0;
        }
        const uintptr_t begin = reinterpret_cast<uintptr_t>(g.data);
        settle_readers(begin + static_cast<uintptr_t>(first * g.size), begin + static_cast<uintptr_t>(last * g.size));
    }
}

PTO_LIGHT PTO_ONCE void expect_next(bool to_tile, const GlobalView& g, const LineSizes& lines)
{
    const bool plain = lines.group == lines.count && lines.unit == 1;
    expect(reinterpret_cast<uintptr_t>(g.data), plain ? g.moved : 0, lines.line_step * g.size, lines.count,
           lines.length * g.size, !to_tile);
}

PTO_COLD PTO_ONCE void copy_elements(bool to_tile, int64_t size, const Places& tile, GlobalSizes g, Layout layout, Bytes* dst,
                                     const Bytes* src, int64_t rows, int64_t cols)
{
    for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < cols; ++c) {
            const int64_t t = tile.offset(r, c) * size, p = g.place(layout, r, c) * size;
            std::memcpy(dst + (to_tile ? t : p), src + (to_tile ? p : t), static_cast<std::size_t>(size));
        }
    }
}

PTO_LIGHT PTO_ONCE bool is_ready(bool to_tile, const GlobalView& g, const LineSizes& lines, const void* tile, int64_t rows,
                                 int64_t cols)
{
    return is_addressed(tile != nullptr) &&
           require(lines.rows == rows && lines.cols == cols,
                   to_tile ? "TLOAD: shape of the GlobalTensor differs from the tile's valid region"
                           : "TSTORE: shape of the GlobalTensor differs from the tile's valid region") &&
           inside(g, lines, to_tile ? "a load reads" : "a store writes");
}

PTO_COLD PTO_ONCE bool hold_lines(const void* tile, int64_t tile_bytes, uint64_t form, const void* src, int64_t step,
                                  int64_t count, int64_t bytes, void (*settle)(const Held&))
{
    if (kernel_state.extents.count == 0 || step < bytes || bytes <= 0 || count * bytes < kLeastHeldBytes) {
        return false;
    }
    unsigned char* first = static_cast<unsigned char*>(const_cast<void*>(tile));
    const char* from = static_cast<const char*>(src);
    hold(Held{first, first + tile_bytes, form, count, bytes, from, from + (count - 1) * step + bytes, step, count * bytes,
              settle});
    return true;
}

PTO_LIGHT PTO_ONCE bool deferred_lines(const LineCopy& kind, bool to_tile, const GlobalView& g, const LineSizes& lines, void* tile)
{
    const bool waits = to_tile && kind.form != 0 && lines.unit == 1 && lines.group == lines.count &&
                       hold_lines(tile, kind.tile_bytes, kind.form, g.data, lines.line_step * g.size, lines.count,
                                  lines.length * g.size, kind.settle);
    if (!waits) {
        settle(tile, kind.tile_bytes);
    }
    return waits;
}

PTO_LIGHT PTO_ONCE bool copy_by_lines(bool to_tile, const LineCopy& kind, const GlobalView& g, const LineSizes& lines,
                                      void* address, int64_t rows, int64_t cols)
{
    if (!is_ready(to_tile, g, lines, address, rows, cols)) {
        return false;
    }
    if (!to_tile) {
        before_write(g, lines);
    }
    if (kind.deferred == nullptr || !kind.deferred(kind, to_tile, g, lines, address)) {
        Bytes* const tile = static_cast<Bytes*>(address);
        Bytes* const data = static_cast<Bytes*>(const_cast<void*>(g.data));
        if (lines.unit != 1) {
            kind.elements(to_tile, g.size, *kind.places, lines, g.layout, to_tile ? tile : data, to_tile ? data : tile, rows, cols);
        } else {
            const int64_t step = lines.line_step * g.size, bytes = lines.length * g.size;
            int64_t first = 0;
            for (int64_t i = 0; i < lines.n[0]; ++i) {
                for (int64_t j = 0; j < lines.n[1]; ++j) {
                    for (int64_t k = 0; k < lines.n[2]; ++k, first += lines.group) {
                        Bytes* const theirs = data + (i * lines.step[0] + j * lines.step[1] + k * lines.step[2]) * g.size;
                        Bytes* const ours = kind.boxes == nullptr ? tile + first * kind.line_step : tile;
                        Bytes *const dst = to_tile ? ours : theirs, *const src = to_tile ? theirs : ours;
                        if (kind.boxes != nullptr) {
                            kind.boxes(to_tile, dst, src, step, first, lines.group, bytes, kind.box);
                        } else {
                            copy_line_bytes(dst, to_tile ? kind.line_step : step, src, to_tile ? step : kind.line_step,
                                            lines.group, bytes);
                        }
                    }
                }
            }
        }
    }
    expect_next(to_tile, g, lines);
    return true;
}

PTO_COLD PTO_ONCE Waiting waiting_lines(const void* tile, uint64_t form, int64_t line, int64_t lines, int64_t pos,
                                        int64_t bytes)
{
    Held* note = find_held(tile, form);
    if (note == nullptr || note->from == nullptr || line + lines > note->count || pos + bytes > note->length ||
        lines * bytes > note->budget) {
        return {nullptr, 0};
    }
    note->budget -= lines * bytes;
    return {note->from + line * note->step + pos, note->step};
}

}  // namespace detail
}  // namespace pto

#endif
