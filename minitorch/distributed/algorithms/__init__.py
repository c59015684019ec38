"""What is built on collectives: communication hooks of `DistributedDataParallel`."""
