"""The lowering of fusion groups to kernels: `lower` for one group, `table` for the rule of each primitive."""
