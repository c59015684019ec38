"""PyTorch's place of modules whose forward pass is computed again."""
