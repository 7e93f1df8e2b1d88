// Boxes of a buffer and the open accesses to them, found without a linear search.
//
// An index is used by one thread. Up to a few entries it is a list; beyond that, entries are in grids: one grid for each size
// of boxes (rounded up to powers of two), so that a box touches few cells, and a search visits the cells that its own box
// touches or all entries of a grid, whichever are fewer.
#ifndef PTO_RUNTIME_ACCESS_MAP_HPP
#define PTO_RUNTIME_ACCESS_MAP_HPP

#include <cstdint>
#include <utility>
#include <vector>

#include "api.hpp"

namespace pto2 {

constexpr int kMaxDims = PTO2_MAX_DIMS;

// First index and exclusive end in each dimension.
struct Box {
    int64_t low[kMaxDims];
    int64_t high[kMaxDims];
};

inline bool overlap(const Box& a, const Box& b, int ndim)
{
    for (int i = 0; i < ndim; i++) {
        if (a.high[i] <= b.low[i] || b.high[i] <= a.low[i]) {
            return false;
        }
    }
    return true;
}

inline bool covers(const Box& a, const Box& b, int ndim)
{
    for (int i = 0; i < ndim; i++) {
        if (b.low[i] < a.low[i] || a.high[i] < b.high[i]) {
            return false;
        }
    }
    return true;
}

inline bool same(const Box& a, const Box& b, int ndim)
{
    return covers(a, b, ndim) && covers(b, a, ndim);
}

// The boxes of one buffer. `Value` is the data of a box; `is_open(value)` tells whether it still matters.
template <class Value>
class RegionIndex {
public:
    void reset(int ndim)
    {
        ndim_ = ndim;
        entries_.clear();
        free_.clear();
        grids_.clear();
        live_ = 0;
        limit_ = kListed;
        is_listed_ = true;
    }

    int64_t size() const { return live_; }

    // Calls visit(box, value) for each entry whose box overlaps; it returns true to remove the entry.
    template <class Visit>
    void each_overlapping(const Box& box, Visit&& visit)
    {
        if (is_listed_) {
            for (size_t i = 0; i < entries_.size();) {
                Entry& entry = entries_[i];
                if (overlap(entry.box, box, ndim_) && visit(entry.box, entry.value)) {
                    if (i + 1 < entries_.size()) {
                        std::swap(entry, entries_.back());
                    }
                    entries_.pop_back();
                    live_--;
                } else {
                    i++;
                }
            }
            return;
        }
        stamp_++;
        for (Grid& grid : grids_) {
            if (grid.count > 0) {
                search(grid, box, visit);
            }
        }
    }

    // Returns the value of the entry of exactly this box, creating it if there is none.
    template <class IsOpen>
    Value& at(const Box& box, IsOpen&& is_open)
    {
        Value* found = nullptr;
        if (is_listed_) {
            for (Entry& entry : entries_) {
                if (same(entry.box, box, ndim_)) {
                    return entry.value;
                }
            }
        } else {
            stamp_++;
            const Key key = key_of(box);
            for (Grid& grid : grids_) {
                if (grid.key == key) {
                    // One cell is enough: an equal box touches the same cells.
                    look(grid, cell_hash(grid, box.low), box, [&](const Box& other, Value& value) {
                        found = same(other, box, ndim_) ? &value : found;
                        return false;
                    });
                }
            }
            if (found != nullptr) {
                return *found;
            }
        }
        if (free_.empty() && static_cast<int64_t>(entries_.size()) >= limit_) {
            rebuild(is_open);
        }
        return insert(box);
    }

private:
    static constexpr int64_t kListed = 16;  // up to this many entries are a list
    static constexpr size_t kGrids = 12;    // boxes of more sizes share the last grid, which is searched whole

    struct Key {
        int8_t shift[kMaxDims] = {};
        bool operator==(const Key& other) const
        {
            bool equal = true;
            for (int i = 0; i < kMaxDims; i++) {
                equal = equal && shift[i] == other.shift[i];
            }
            return equal;
        }
    };
    struct Entry {
        Box box{};
        Value value{};
        uint64_t stamp = 0;
        int32_t nodes = 0;  // in the lists of cells
        bool is_live = true;
    };
    struct Node {
        uint64_t hash;
        int32_t entry;
        int32_t next;
    };
    struct Grid {
        Key key;
        bool is_rest = false;
        int64_t count = 0;
        std::vector<int32_t> heads;  // by hash, -1 for none
        std::vector<Node> nodes;
        std::vector<int32_t> members;
        int32_t free_node = -1;
    };

    int ndim_ = 0;
    std::vector<Entry> entries_;
    std::vector<int32_t> free_;
    std::vector<Grid> grids_;
    int64_t live_ = 0;
    int64_t limit_ = kListed;
    uint64_t stamp_ = 0;
    bool is_listed_ = true;

    Key key_of(const Box& box) const
    {
        Key key;
        for (int i = 0; i < ndim_; i++) {
            const int64_t size = box.high[i] - box.low[i];
            while (key.shift[i] < 62 && (int64_t{1} << key.shift[i]) < size) {
                key.shift[i]++;
            }
        }
        return key;
    }

    uint64_t cell_hash(const Grid& grid, const int64_t* place) const
    {
        uint64_t hash = 0;
        for (int i = 0; i < ndim_; i++) {
            hash = (hash ^ static_cast<uint64_t>(place[i] >> grid.key.shift[i])) * 0x9e3779b97f4a7c15u;
            hash ^= hash >> 29;
        }
        return hash;
    }

    // Calls visit(hash) for each cell that the box touches.
    template <class Visit>
    void each_cell(const Grid& grid, const Box& box, Visit&& visit)
    {
        int64_t place[kMaxDims] = {};
        for (int i = 0; i < ndim_; i++) {
            place[i] = box.low[i];
        }
        while (true) {
            visit(cell_hash(grid, place));
            int i = ndim_ - 1;
            for (; i >= 0; i--) {
                const int shift = grid.key.shift[i];
                const int64_t next = ((place[i] >> shift) + 1) << shift;
                if (next < box.high[i]) {
                    place[i] = next;
                    break;
                }
                place[i] = box.low[i];
            }
            if (i < 0) {
                return;
            }
        }
    }

    int64_t cell_count(const Grid& grid, const Box& box, int64_t most) const
    {
        int64_t count = 1;
        for (int i = 0; i < ndim_; i++) {
            const int shift = grid.key.shift[i];
            const int64_t high = box.high[i] > box.low[i] ? box.high[i] - 1 : box.low[i];
            const int64_t cells = (high >> shift) - (box.low[i] >> shift) + 1;
            if (cells > most / count) {
                return most + 1;
            }
            count *= cells;
        }
        return count;
    }

    template <class Visit>
    void search(Grid& grid, const Box& box, Visit& visit)
    {
        if (!grid.is_rest && cell_count(grid, box, grid.count) <= grid.count) {
            each_cell(grid, box, [&](uint64_t hash) { look(grid, hash, box, visit); });
            return;
        }
        for (size_t i = 0; i < grid.members.size();) {
            Entry& entry = entries_[static_cast<size_t>(grid.members[i])];
            if (!entry.is_live) {
                const int32_t number = grid.members[i];
                grid.members[i] = grid.members.back();
                grid.members.pop_back();
                forget(number);
                continue;
            }
            offer(grid, entry, box, visit);
            i++;
        }
    }

    template <class Visit>
    void look(Grid& grid, uint64_t hash, const Box& box, Visit&& visit)
    {
        int32_t* link = &grid.heads[hash & (grid.heads.size() - 1)];
        while (*link >= 0) {
            Node& node = grid.nodes[static_cast<size_t>(*link)];
            Entry& entry = entries_[static_cast<size_t>(node.entry)];
            if (!entry.is_live) {
                const int32_t dead = *link;
                *link = node.next;
                node.next = grid.free_node;
                grid.free_node = dead;
                forget(node.entry);
                continue;
            }
            if (node.hash == hash) {
                offer(grid, entry, box, visit);
            }
            link = &node.next;
        }
    }

    template <class Visit>
    void offer(Grid& grid, Entry& entry, const Box& box, Visit&& visit)
    {
        if (entry.stamp == stamp_) {
            return;
        }
        entry.stamp = stamp_;
        if (overlap(entry.box, box, ndim_) && visit(entry.box, entry.value)) {
            entry.is_live = false;
            grid.count--;
            live_--;
        }
    }

    // A removed entry keeps its number until no list names it.
    void forget(int32_t number)
    {
        if (--entries_[static_cast<size_t>(number)].nodes == 0) {
            free_.push_back(number);
        }
    }

    Value& insert(const Box& box)
    {
        int32_t number;
        if (!is_listed_ && !free_.empty()) {
            number = free_.back();
            free_.pop_back();
            entries_[static_cast<size_t>(number)] = Entry();
        } else {
            number = static_cast<int32_t>(entries_.size());
            entries_.emplace_back();
        }
        entries_[static_cast<size_t>(number)].box = box;
        live_++;
        if (!is_listed_) {
            enter(number);
        }
        return entries_[static_cast<size_t>(number)].value;
    }

    void enter(int32_t number)
    {
        Entry& entry = entries_[static_cast<size_t>(number)];
        Grid& grid = grid_of(entry.box);
        grid.count++;
        grid.members.push_back(number);
        entry.nodes = 1;
        if (grid.is_rest) {
            return;
        }
        if (grid.nodes.size() >= grid.heads.size()) {
            grow(grid);
        }
        each_cell(grid, entry.box, [&](uint64_t hash) {
            int32_t at = grid.free_node;
            if (at >= 0) {
                grid.free_node = grid.nodes[static_cast<size_t>(at)].next;
            } else {
                at = static_cast<int32_t>(grid.nodes.size());
                grid.nodes.emplace_back();
            }
            int32_t& head = grid.heads[hash & (grid.heads.size() - 1)];
            grid.nodes[static_cast<size_t>(at)] = {hash, number, head};
            head = at;
            entry.nodes++;
        });
    }

    Grid& grid_of(const Box& box)
    {
        const Key key = key_of(box);
        for (Grid& grid : grids_) {
            if (!grid.is_rest && grid.key == key) {
                return grid;
            }
        }
        const bool is_full = grids_.size() >= kGrids;
        if (is_full && grids_.back().is_rest) {
            return grids_.back();
        }
        grids_.emplace_back();
        grids_.back().key = key;
        grids_.back().is_rest = is_full;
        grids_.back().heads.assign(64, -1);
        return grids_.back();
    }

    void grow(Grid& grid)
    {
        std::vector<int32_t> heads(grid.heads.size() * 2, -1);
        for (int32_t head : grid.heads) {
            while (head >= 0) {
                Node& node = grid.nodes[static_cast<size_t>(head)];
                const int32_t next = node.next;
                int32_t& target = heads[node.hash & (heads.size() - 1)];
                node.next = target;
                target = head;
                head = next;
            }
        }
        grid.heads.swap(heads);
    }

    // Drops what no longer matters, and makes the rest a list or grids.
    template <class IsOpen>
    void rebuild(IsOpen&& is_open)
    {
        std::vector<Entry> kept;
        for (Entry& entry : entries_) {
            if (entry.is_live && is_open(entry.value)) {
                entry.nodes = 0;
                kept.push_back(std::move(entry));
            }
        }
        entries_.swap(kept);
        free_.clear();
        grids_.clear();
        live_ = static_cast<int64_t>(entries_.size());
        is_listed_ = live_ <= kListed / 2;
        limit_ = is_listed_ ? kListed : live_ * 2 + 64;
        if (!is_listed_) {
            for (int32_t i = 0; i < live_; i++) {
                enter(i);
            }
        }
    }
};

}  // namespace pto2

#endif
