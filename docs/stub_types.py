"""What `build_stubs.py` says of arguments and results: annotations by the name of a parameter, and the exceptions.

Where a name means one thing everywhere, `PARAMETERS` says so; ``"<function>.<parameter>"`` in `SPECIAL` goes first.
What neither knows is Any, since a wrong annotation is worse than none; tests/test_stubs.py compares with calls.
"""

INTS = "_int | Sequence[_int]"
NUMBER = "_Number"
OPERAND = "_Operand"



PARAMETERS = {
    **dict.fromkeys("""input input1 input2 tensor tensor1 tensor2 mat mat1 mat2 vec vec1 vec2 batch1 batch2 A B L LU
        LU_data LU_pivots pivots x x1 x2 y a b weight bias target targets log_probs running_mean running_var query key
        mask src source sorter grid theta anchor positive negative residual cos sin pos_weight per_sample_weights
        offsets attn_mask key_padding_mask in_proj_weight in_proj_bias bias_k bias_v out_proj_weight out_proj_bias
        q_proj_weight k_proj_weight v_proj_weight static_k static_v weights fweights aweights logits
        sorted_sequence boundaries var prepend append the_template new_state prob""".split(), "Tensor"),
    **dict.fromkeys("""keepdim requires_grad pin_memory inplace training ceil_mode return_indices upper left hermitian
        count_include_pad align_corners equal_nan right out_int32 sorted return_inverse return_counts descending stable
        largest accumulate include_self full log_target log_input zero_infinity sparse scale_grad_by_freq swap
        assume_unique invert sparse_grad as_tuple with_replacement replacement unitriangular transpose check_errors
        pivot full_matrices compute_uv some unpack_data unpack_pivots adjoint get_infos increasing is_causal enable_gqa
        need_weights use_separate_proj_weight average_attn_weights add_zero_attn include_last_offset hard
        use_input_stats interleaved antialias recompute_scale_factor density non_blocking implicit retain_graph
        create_graph force unbiased size_average return_scalar copy""".split(), "_bool"),
    **dict.fromkeys("""dim0 dim1 dim2 axis0 axis1 start_dim end_dim offset diagonal chunks length num_samples steps r n m
        row col groups num_classes num_groups num_heads embed_dim_to_check ignore_index padding_idx blank decimals
        upscale_factor downscale_factor minlength edge_order ind seed N storage_offset dimension split_size
        divisor_override _stacklevel protocol""".split(), "_int"),
    **dict.fromkeys("""alpha beta value eps negative_slope lambd margin momentum label_smoothing dropout_p scale lower
        min_val max_val delta nan posinf neginf base d maxnorm max_norm median std mean norm_type dx correction
        k min max start end step threshold fill_value""".split(), NUMBER),
    **dict.fromkeys("reduction mode padding_mode approximate interpolation UPLO indexing compute_mode side driver "
                    "rounding_mode".split(), "_str"),
    **dict.fromkeys("kernel_size stride dilation output_padding output_size normalized_shape size sizes shape shapes "
                    "physical_layout".split(), INTS),
    "padding": INTS + " | _str",
    "pad": "Sequence[_int]",
    "dim": "_int", "axis": INTS, "keepdims": "_bool",
    "dims": INTS, "destination": INTS, "shifts": INTS,
    "split_sizes": "Sequence[_int]", "split_size_or_sections": INTS,
    "sections": INTS + " | Tensor", "indices_or_sections": INTS + " | Tensor",
    "tensor_indices_or_sections": INTS + " | Tensor",
    "tensors": "Sequence[Tensor]", "matrices": "Tensor",
    "dtype": "_dtype", "device": "_device | _str | _int", "layout": "_layout", "memory_format": "_memory_format",
    "generator": "_Generator", "out": "Tensor", "other": OPERAND,
    "norm": "_str", "ord": "_Number | _str", "p": NUMBER, "q": "_Number | Tensor",
    "rtol": "_Number | Tensor", "atol": "_Number | Tensor", "tol": "_Number | Tensor", "rcond": "_Number | Tensor",
    "scale_factor": "_float | Sequence[_float]", "s": INTS,
    "indices": "Tensor", "values": "Tensor", "index": "Tensor", "reduce": "_str",
    "input_lengths": "Tensor | Sequence[_int]", "target_lengths": "Tensor | Sequence[_int]",
    "distance_function": "Callable[[Tensor, Tensor], Tensor]", "test_elements": OPERAND, "elements": OPERAND,
    "output_ratio": "_float | Sequence[_float]", "_random_samples": "Tensor", "exponent": OPERAND,
    "repeats": INTS + " | Tensor", "hook": "Callable[..., Any]",
}

MANY_DIMS = """sum mean nansum nanmean prod all any amax amin std var std_mean var_mean logsumexp norm count_nonzero
    squeeze unique fft.fftshift fft.ifftshift fft.fft2 fft.ifft2 fft.rfft2 fft.irfft2 fft.hfft2 fft.ihfft2 fft.fftn
    fft.ifftn fft.rfftn fft.irfftn fft.hfftn fft.ihfftn linalg.vector_norm linalg.matrix_norm linalg.norm
    special.logsumexp""".split()

# Functions of which the first input may be a number too, though their definition is a composite.
NUMBERS_FIRST = """add sub subtract mul multiply div divide true_divide floor_divide where bucketize pow float_power
    rsub remainder fmod result_type bitwise_left_shift bitwise_right_shift bitwise_and bitwise_or bitwise_xor
    special.polygamma""".split()

LOSS = "_bool | None"
SPECIAL = {
    **{f"{name}.dim": INTS + " | None" for name in MANY_DIMS},
    **{f"{name}.input": OPERAND for name in NUMBERS_FIRST},
    **{f"nn.functional.{name}.reduce": LOSS for name in """mse_loss l1_loss smooth_l1_loss poisson_nll_loss kl_div
        binary_cross_entropy_with_logits binary_cross_entropy nll_loss cross_entropy soft_margin_loss hinge_embedding_loss
        margin_ranking_loss cosine_embedding_loss triplet_margin_loss multilabel_margin_loss multi_margin_loss
        multilabel_soft_margin_loss""".split()},
    **{f"{name}.{p}": OPERAND for name in ("clamp", "clip", "clamp_min", "clamp_max", "clamp_", "clip_", "clamp_min_",
                                           "clamp_max_") for p in ("min", "max")},
    **{f"{name}.index": "_int" for name in ("select", "select_scatter")},
    **{f"{name}.value": OPERAND for name in ("masked_fill", "masked_fill_", "index_fill", "index_fill_", "fill", "fill_",
                                             "full")},
    **{f"{name}.{p}": INTS for name in ("movedim", "moveaxis") for p in ("source",)},
    **{f"{name}.src": OPERAND for name in ("scatter", "scatter_")},
    **{f"{name}.{p}": "_int" for name in ("slice_scatter",) for p in ("start", "end", "step")},
    **{f"{name}.start": "_int | Tensor" for name in ("narrow", "narrow_copy")},
    **{f"{name}.{p}": OPERAND for name in ("lerp", "lerp_") for p in ("weight", "end")},
    **{f"{name}.{p}": "_Number | Tensor" for name in ("linspace", "logspace", "arange", "range")
       for p in ("start", "end", "step")},
    **{f"{name}.start": "Tensor" for name in ("lerp",)},
    **{f"{name}.end": OPERAND for name in ("lerp", "lerp_")},
    **{f"{name}.s": "Any" for name in ("scalar_tensor",)},
    **{f"{name}.indices": INTS + " | Tensor" for name in ("tensor_split", "hsplit", "vsplit", "dsplit")},
    **{f"{name}.indices": "Sequence[Tensor | None]" for name in ("index_put", "index_put_")},
    **{f"{name}.values": OPERAND for name in ("heaviside", "heaviside_")},
    **{f"{name}.bins": "_int" for name in ("histc",)},
    **{f"{name}.bins": "Any" for name in ("histogram", "histogramdd")},
    **{f"{name}.{p}": OPERAND for name in ("normal",) for p in ("mean", "std")},
    **{f"{name}.{p}": "Any" for name in ("randint", "randint_like") for p in ("low", "high", "size")},
    **{f"{name}.dims": "Any" for name in ("tensordot", "linalg.tensorsolve")},
    **{f"{name}.k": "_int" for name in ("rot90", "topk", "kthvalue")},
    **{f"{name}.bias": "Tensor" for name in ()},
    **{f"nn.functional.{name}.p": "_Number" for name in ("dropout",)},
    **{f"{name}.tau": "Tensor" for name in ("linalg.householder_product", "orgqr")},
    **{f"{name}.out": "Sequence[Tensor]" for name in """topk sort kthvalue mode cummax cummin frexp aminmax linalg.qr qr
        linalg.svd svd linalg.eigh linalg.eig slogdet linalg.slogdet linalg.lstsq triangular_solve linalg.cholesky_ex
        linalg.inv_ex linalg.solve_ex linalg.lu linalg.lu_factor linalg.lu_factor_ex lu_unpack histogram lu
        std_mean var_mean geqrf""".split()},
    "nn.functional.batch_norm.running_mean": "Tensor | None", "nn.functional.batch_norm.running_var": "Tensor | None",
    "bernoulli.p": NUMBER, "bernoulli_.p": "_Number | Tensor", "binomial.count": "Tensor",
    "frombuffer.count": "_int", "combinations.r": "_int", "nn.functional.gumbel_softmax.tau": NUMBER,
    "nn.functional.scaled_dot_product_attention.value": "Tensor",
    "nn.functional.multi_head_attention_forward.value": "Tensor",
    "nn.functional.max_unpool1d.output_size": INTS, "nn.functional.affine_grid.size": "Sequence[_int]",
    "nn.functional.pad.value": NUMBER, "repeat_interleave.input": "Tensor", "repeat_interleave.output_size": "_int",
    "nn.functional.gaussian_nll_loss.var": "Tensor | _float", "nn.functional.local_response_norm.size": "_int",
    "linalg.vecdot.x": "Tensor", "histogramdd.weight": "Tensor", "where.other": OPERAND, "einsum.args": "Any",
    "broadcast_tensors.tensors": "Tensor", "block_diag.tensors": "Tensor", "cartesian_prod.tensors": "Tensor",
    "atleast_1d.tensors": "Any", "atleast_2d.tensors": "Any", "atleast_3d.tensors": "Any", "meshgrid.tensors": "Any",
    "polygamma.n": "_int", "special.polygamma.input": "Tensor", "rot90.dims": "Sequence[_int]",
    "linalg.norm.ord": "_Number | _str", "gradient.dim": INTS, "trapezoid.dx": NUMBER, "cov.correction": "_int",
    "searchsorted.input": OPERAND, "searchsorted.sorted_sequence": "Tensor", "is_tensor.obj": "object",
    "manual_seed.seed": "_int", "empty_like.memory_format": "_memory_format", "arange.end": "_Number | Tensor",
    "as_strided.storage_offset": "_int", "isin.elements": OPERAND, "rsub.other": OPERAND, "tensor.dtype": "_dtype",
    "linalg.tensorinv.ind": "_int", "linalg.vander.N": "_int", "fft.fftfreq.n": "_int", "fft.rfftfreq.n": "_int",
    "matrix_power.n": "_int", "randperm.n": "_int", "nn.functional.threshold.value": NUMBER,
    "unique.dim": "_int", "unique_consecutive.dim": "_int", "logit.eps": NUMBER, "scatter.value": NUMBER,
    "scatter_.value": NUMBER, "linalg.lstsq.rcond": NUMBER, "nn.functional.rms_norm.eps": NUMBER, "equal.other": "Tensor",
    **{f"{name}.input": "Any" for name in ("tile", )},
    "tile.input": "Tensor",
    **{f"{name}.upper": NUMBER for name in ("rrelu", "rrelu_")},
    "norm.p": "_Number | _str", "linalg.cond.p": "_Number | _str", "Tensor.__reduce_ex__.protocol": "SupportsIndex",
    # methods
    **{f"Tensor.{name}": INTS for name in """reshape.args reshape.shape expand.args expand.size permute.args permute.dims
        repeat.args repeat.repeats tile.args tile.dims flip.args flip.dims sum_to_size.args sum_to_size.size
        resize_.sizes new_empty.size new_zeros.size new_ones.size""".split()},
    "Tensor.view.shape": INTS + " | _dtype", "Tensor.unfold.size": "_int", "Tensor.unfold.step": "_int",
    "Tensor.to.args": "_dtype | _device | _str | _int | Tensor | _bool | _memory_format | None", "Tensor.to.other": "Tensor",
    "Tensor.random_.bounds": "_int | None", "Tensor.random_.named": "_int | None", "Tensor.uniform_.bounds": "_float",
    "Tensor.uniform_.named": "_float", "Tensor.copy_.other": "Tensor", "Tensor.view_as.other": "Tensor",
    "Tensor.type_as.other": "Tensor", "Tensor.reshape_as.other": "Tensor", "Tensor.where.condition": "Tensor",
    "Tensor.type.dtype": "_dtype | _str", "Tensor.new_full.fill_value": NUMBER, "Tensor.geometric_.p": NUMBER,
    "Tensor.backward.gradient": "Tensor", "Tensor.backward.inputs": "Any", "Tensor.check_grad.g": "Any",
    "Tensor.__init__.data": "Any", "Tensor.size.dim": "_int", "Tensor.stride.dim": "_int", "Tensor.numpy.force": "_bool",
    "Tensor.__format__.spec": "_str", "Tensor.__contains__.element": "Any", "Tensor.checked_dim.dim": "_int",
    "Tensor.is_set_to.tensor": "Tensor", "Tensor.as_strided.size": "Sequence[_int]", "Tensor.float_power_.exponent": OPERAND,
    "Tensor.as_strided.stride": "Sequence[_int]", "Tensor.__array__.dtype": "Any", "Tensor.__array__.copy": "Any",
}

TENSORS = "tuple[Tensor, ...]"
PAIR = "tuple[Tensor, Tensor]"
RESULTS = {                                                # what is no tensor
    **{name: f"return_types.{name.replace('.', '_')}" for name in """cummax cummin histogram kthvalue mode qr slogdet
        sort svd topk aminmax frexp histogramdd lu_unpack triangular_solve linalg.cholesky_ex linalg.eig linalg.eigh
        linalg.inv_ex linalg.lstsq linalg.lu linalg.lu_factor linalg.lu_factor_ex linalg.qr linalg.slogdet
        linalg.solve_ex linalg.svd""".split()},
    **dict.fromkeys("std_mean var_mean nn.functional.max_pool1d_with_indices nn.functional.max_pool2d_with_indices "
                    "nn.functional.max_pool3d_with_indices max_pool1d_with_indices max_pool2d_with_indices "
                    "max_pool3d_with_indices nn.functional.adaptive_max_pool1d_with_indices "
                    "nn.functional.adaptive_max_pool2d_with_indices nn.functional.adaptive_max_pool3d_with_indices "
                    "nn.functional.fractional_max_pool2d_with_indices geqrf "
                    "nn.functional.fractional_max_pool3d_with_indices".split(), PAIR),
    **dict.fromkeys("unravel_index chunk split split_with_sizes unbind tensor_split hsplit vsplit dsplit unsafe_chunk "
                    "unsafe_split broadcast_tensors meshgrid gradient".split(), TENSORS),
    **dict.fromkeys("nn.functional.add_layer_norm nn.functional.add_rms_norm".split(), "Any"),
    **dict.fromkeys("allclose equal is_tensor is_floating_point is_complex is_signed is_nonzero is_same_size".split(),
                    "_bool"),
    **dict.fromkeys("numel seed initial_seed".split(), "_int"),
    **dict.fromkeys("atleast_1d atleast_2d atleast_3d lu unique unique_consecutive".split(), "Any"),
    "broadcast_shapes": "Size", "manual_seed": "_Generator", "set_rng_state": "None",
    "nn.functional.multi_head_attention_forward": "tuple[Tensor, Tensor | None]",
    **{f"Tensor.{name}": "_int" for name in """numel nelement dim ndimension element_size storage_offset data_ptr
        get_device __len__ __int__ __index__ checked_dim __hash__ ndim itemsize nbytes _version""".split()},
    **{f"Tensor.{name}": "_bool" for name in """__bool__ __contains__ is_complex is_floating_point is_signed
        is_contiguous is_inference is_pinned is_shared is_set_to is_cuda is_cpu is_leaf requires_grad
        retains_grad""".split()},
    **{f"Tensor.{name}": "None" for name in "backward retain_grad check_grad __setitem__ __init__".split()},
    **{f"Tensor.{name}": "Any" for name in """item tolist only_element numpy __array__ __array_wrap__ __dlpack__
        storage edge graph layout grad_fn __deepcopy__ __reduce_ex__ _repr_html_ type register_hook
        register_post_accumulate_grad_hook lu""".split()},
    "Tensor.untyped_storage": "_UntypedStorage", "Tensor.storage": "_TypedStorage",
    "Tensor.numpy": "_np.ndarray[Any, Any]", "Tensor.__array__": "_np.ndarray[Any, Any]",
    "Tensor.shape": "Size", "Tensor.dtype": "_dtype", "Tensor.device": "_device", "Tensor.grad": "Tensor | None",
    "Tensor.data": "Tensor", "Tensor.__float__": "_float", "Tensor.__complex__": "_complex", "Tensor.size": "Any",
    "Tensor.stride": "Any", "Tensor.__repr__": "_str", "Tensor.__format__": "_str", "Tensor.__iter__": "Iterator[Tensor]",
    "Tensor.storage_range": "tuple[_int, _int]", "Tensor.__dlpack_device__": "Any",
}

# Signatures of which the result depends on the arguments.
REDUCED = ["(input: Tensor, *, out: Tensor | None = None) -> Tensor",
           "(input: Tensor, dim: _Int, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None)"
           " -> return_types.{name}",
           "(input: Tensor, *, axis: _Int, keepdims: _bool = False, out: Sequence[Tensor] | None = None)"
           " -> return_types.{name}"]
EITHER = [*REDUCED, "(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor"]
OVERLOADS = {
    "max": EITHER, "min": EITHER, "median": REDUCED[:2], "nanmedian": REDUCED[:2],
    "nonzero": ["(input: Tensor, *, as_tuple: Literal[False] = False, out: Tensor | None = None) -> Tensor",
                "(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]"],
    "Tensor.size": ["(self, dim: None = None) -> Size", "(self, dim: _Int) -> _int"],
    "Tensor.stride": ["(self, dim: None = None) -> tuple[_int, ...]", "(self, dim: _Int) -> _int"],
    "Tensor.type": ["(self, dtype: None = None) -> _str",
                    "(self, dtype: _dtype | _str, non_blocking: _bool = False) -> Tensor"],
    "where": ["(condition: Tensor, input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor",
              "(condition: Tensor) -> tuple[Tensor, ...]"],
    "Tensor.where": [],
}
