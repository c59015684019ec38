"""Algorithms built on collectives: communication hooks of `DistributedDataParallel`."""
