"""Facts about functions: control flow, accesses, lifetimes, values. Changes nothing."""
