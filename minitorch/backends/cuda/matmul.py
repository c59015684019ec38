"""Matrix products on CUDA, and the switches that programs set."""

library = "minitorch"                                      # whose kernels: "minitorch", "cublas" or "auto"
allow_tf32 = False
allow_fp16_reduced_precision_reduction = False
