"""Annotations that `build_stubs.py` gives to arguments and results: by the name of a parameter, and the exceptions.

Where a name means one thing everywhere, `PARAMETERS` says so; ``<function>.<parameter>`` in `SPECIAL` goes first.
What neither knows is Any, since a wrong annotation is worse than none;
tests/structure/test_stubs.py compares with calls. A
default None adds ``| None``, an op's definition says itself which of its inputs are numbers or lists of tensors.
"""


def table(kinds):
    """Annotation -> names, turned round."""
    return {name: kind for kind, names in kinds.items() for name in names.split()}


PARAMETERS = table({
    "Tensor": """input input1 input2 tensor tensor1 tensor2 mat mat1 mat2 vec vec1 vec2 batch1 batch2 A B L LU
        LU_data LU_pivots pivots x x1 x2 y a b weight bias target targets log_probs running_mean running_var
        query key mask src source sorter grid theta anchor positive negative residual cos sin pos_weight
        per_sample_weights offsets attn_mask key_padding_mask in_proj_weight in_proj_bias bias_k bias_v
        out_proj_weight out_proj_bias q_proj_weight k_proj_weight v_proj_weight static_k static_v weights
        fweights aweights logits sorted_sequence boundaries var prepend append the_template new_state prob
        matrices out indices values index _random_samples""",
    "_bool": """keepdim requires_grad pin_memory inplace training ceil_mode return_indices upper left hermitian
        count_include_pad align_corners equal_nan right out_int32 sorted return_inverse return_counts descending
        stable largest accumulate include_self full log_target log_input zero_infinity sparse scale_grad_by_freq
        swap assume_unique invert sparse_grad as_tuple with_replacement replacement unitriangular transpose
        check_errors pivot full_matrices compute_uv some unpack_data unpack_pivots adjoint get_infos increasing
        is_causal enable_gqa need_weights use_separate_proj_weight average_attn_weights add_zero_attn
        include_last_offset hard use_input_stats interleaved antialias recompute_scale_factor density
        non_blocking implicit retain_graph create_graph force unbiased size_average return_scalar copy keepdims""",
    "_int": """dim0 dim1 dim2 axis0 axis1 start_dim end_dim offset diagonal chunks length num_samples steps r n
        m row col groups num_classes num_groups num_heads embed_dim_to_check ignore_index padding_idx blank
        decimals upscale_factor downscale_factor minlength edge_order ind seed N storage_offset dimension
        split_size divisor_override _stacklevel protocol dim""",
    "_Number": """alpha beta value eps negative_slope lambd margin momentum label_smoothing dropout_p scale
        lower min_val max_val delta nan posinf neginf base d maxnorm max_norm median std mean norm_type dx
        correction k min max start end step threshold fill_value p""",
    "_str": """reduction mode padding_mode approximate interpolation UPLO indexing compute_mode side driver
        rounding_mode norm reduce""",
    "_int | Sequence[_int]": """kernel_size stride dilation output_padding output_size normalized_shape size
        sizes shape shapes physical_layout axis dims destination shifts split_size_or_sections s""",
    "_int | Sequence[_int] | _str": "padding",
    "Sequence[_int]": "pad split_sizes",
    "_int | Sequence[_int] | Tensor": "sections indices_or_sections tensor_indices_or_sections repeats",
    "Sequence[Tensor]": "tensors",
    "_dtype | builtins.type[Any]": "dtype",
    "_device | _str | _int": "device",
    "_layout": "layout",
    "_memory_format": "memory_format",
    "_Generator": "generator",
    "_Operand": "other test_elements elements exponent",
    "_Number | _str": "ord",
    "_Number | Tensor": "q rtol atol tol rcond",
    "_float | Sequence[_float]": "scale_factor output_ratio",
    "Tensor | Sequence[_int]": "input_lengths target_lengths",
    "Callable[[Tensor, Tensor], Tensor]": "distance_function",
    "Callable[..., Any]": "hook",
})

SPECIAL = table({
    "_int | Sequence[_int] | None": """sum.dim mean.dim nansum.dim nanmean.dim prod.dim all.dim any.dim amax.dim
        amin.dim std.dim var.dim std_mean.dim var_mean.dim logsumexp.dim norm.dim count_nonzero.dim squeeze.dim
        fft.fftshift.dim fft.ifftshift.dim fft.fft2.dim fft.ifft2.dim fft.rfft2.dim fft.irfft2.dim fft.hfft2.dim
        fft.ihfft2.dim fft.fftn.dim fft.ifftn.dim fft.rfftn.dim fft.irfftn.dim fft.hfftn.dim fft.ihfftn.dim
        linalg.vector_norm.dim linalg.matrix_norm.dim linalg.norm.dim special.logsumexp.dim""",
    "_int": """unique.dim select.index select_scatter.index slice_scatter.start slice_scatter.end
        slice_scatter.step histc.bins rot90.k topk.k kthvalue.k frombuffer.count combinations.r
        repeat_interleave.output_size nn.functional.local_response_norm.size polygamma.n cov.correction
        manual_seed.seed as_strided.storage_offset linalg.tensorinv.ind linalg.vander.N fft.fftfreq.n
        fft.rfftfreq.n matrix_power.n randperm.n unique_consecutive.dim Tensor.unfold.size Tensor.unfold.step
        Tensor.size.dim Tensor.stride.dim Tensor.checked_dim.dim""",
    "_Operand": """add.input sub.input subtract.input mul.input multiply.input div.input divide.input
        true_divide.input floor_divide.input where.input bucketize.input pow.input float_power.input rsub.input
        remainder.input fmod.input result_type.input bitwise_left_shift.input bitwise_right_shift.input
        bitwise_and.input bitwise_or.input bitwise_xor.input clamp.min clamp.max clip.min clip.max clamp_min.min
        clamp_min.max clamp_max.min clamp_max.max clamp_.min clamp_.max clip_.min clip_.max clamp_min_.min
        clamp_min_.max clamp_max_.min clamp_max_.max masked_fill.value masked_fill_.value index_fill.value
        index_fill_.value fill.value fill_.value full.value scatter.src scatter_.src lerp.weight lerp.end
        lerp_.weight lerp_.end heaviside.values heaviside_.values normal.mean normal.std where.other
        searchsorted.input isin.elements rsub.other Tensor.float_power_.exponent""",
    "Tensor": """special.polygamma.input lerp.start linalg.householder_product.tau orgqr.tau binomial.count
        nn.functional.scaled_dot_product_attention.value nn.functional.multi_head_attention_forward.value
        linalg.vecdot.x histogramdd.weight broadcast_tensors.tensors block_diag.tensors
        cartesian_prod.tensors searchsorted.sorted_sequence equal.other Tensor.to.other Tensor.copy_.other
        Tensor.view_as.other Tensor.type_as.other Tensor.reshape_as.other Tensor.where.condition
        Tensor.backward.gradient Tensor.is_set_to.tensor _standard_gamma_grad.output _dirichlet_grad.alpha
        _dirichlet_grad.total""",
    "_bool | None": """nn.functional.mse_loss.reduce nn.functional.l1_loss.reduce
        nn.functional.smooth_l1_loss.reduce nn.functional.poisson_nll_loss.reduce nn.functional.kl_div.reduce
        nn.functional.binary_cross_entropy_with_logits.reduce nn.functional.binary_cross_entropy.reduce
        nn.functional.nll_loss.reduce nn.functional.cross_entropy.reduce nn.functional.soft_margin_loss.reduce
        nn.functional.hinge_embedding_loss.reduce nn.functional.margin_ranking_loss.reduce
        nn.functional.cosine_embedding_loss.reduce nn.functional.triplet_margin_loss.reduce
        nn.functional.multilabel_margin_loss.reduce nn.functional.multi_margin_loss.reduce
        nn.functional.multilabel_soft_margin_loss.reduce""",
    "_int | Sequence[_int]": """movedim.source moveaxis.source nn.functional.max_unpool1d.output_size
        gradient.dim Tensor.reshape.args Tensor.reshape.shape Tensor.expand.args Tensor.expand.size
        Tensor.permute.args Tensor.permute.dims Tensor.repeat.args Tensor.repeat.repeats Tensor.tile.args
        Tensor.tile.dims Tensor.flip.args Tensor.flip.dims Tensor.sum_to_size.args Tensor.sum_to_size.size
        Tensor.resize_.sizes Tensor.new_empty.size Tensor.new_zeros.size Tensor.new_ones.size""",
    "_int | Tensor": "narrow.start narrow_copy.start",
    "_Number | Tensor": """linspace.start linspace.end linspace.step logspace.start logspace.end logspace.step
        arange.start arange.end arange.step range.start range.end range.step bernoulli_.p""",
    "Any": """scalar_tensor.s histogram.bins histogramdd.bins randint.low randint.high randint.size
        randint_like.low randint_like.high randint_like.size tensordot.dims linalg.tensorsolve.dims einsum.args
        atleast_1d.tensors atleast_2d.tensors atleast_3d.tensors meshgrid.tensors Tensor.backward.inputs
        Tensor.check_grad.g Tensor.__init__.data Tensor.__contains__.element Tensor.__array__.dtype
        Tensor.__array__.copy""",
    "_int | Sequence[_int] | Tensor": "tensor_split.indices hsplit.indices vsplit.indices dsplit.indices",
    "Sequence[Tensor | None]": "index_put.indices index_put_.indices",
    "_Number": """nn.functional.dropout.p bernoulli.p nn.functional.gumbel_softmax.tau nn.functional.pad.value
        trapezoid.dx nn.functional.threshold.value logit.eps scatter.value scatter_.value linalg.lstsq.rcond
        nn.functional.rms_norm.eps rrelu.upper rrelu_.upper Tensor.new_full.fill_value Tensor.geometric_.p""",
    "Sequence[Tensor]": """topk.out sort.out kthvalue.out mode.out cummax.out cummin.out frexp.out aminmax.out
        linalg.qr.out qr.out linalg.svd.out svd.out linalg.eigh.out linalg.eig.out slogdet.out
        linalg.slogdet.out linalg.lstsq.out triangular_solve.out linalg.cholesky_ex.out linalg.inv_ex.out
        linalg.solve_ex.out linalg.lu.out linalg.lu_factor.out linalg.lu_factor_ex.out lu_unpack.out
        histogram.out lu.out std_mean.out var_mean.out geqrf.out""",
    "Tensor | None": """nn.functional.batch_norm.running_mean nn.functional.batch_norm.running_var
        nn.functional.multi_head_attention_forward.in_proj_weight
        nn.functional.multi_head_attention_forward.in_proj_bias nn.functional.multi_head_attention_forward.bias_k
        nn.functional.multi_head_attention_forward.bias_v nn.functional.multi_head_attention_forward.out_proj_bias""",
    "_int | Sequence[_int | None]": """nn.functional.adaptive_avg_pool2d.output_size
        nn.functional.adaptive_avg_pool3d.output_size nn.functional.adaptive_max_pool2d.output_size
        nn.functional.adaptive_max_pool3d.output_size nn.functional.adaptive_max_pool2d_with_indices.output_size
        nn.functional.adaptive_max_pool3d_with_indices.output_size""",
    "Sequence[_int]": "nn.functional.affine_grid.size rot90.dims Tensor.as_strided.size Tensor.as_strided.stride",
    "Tensor | _float": "nn.functional.gaussian_nll_loss.var",
    "_Number | _str": "linalg.norm.ord norm.p linalg.cond.p",
    "object": "is_tensor.obj",
    "_memory_format": "empty_like.memory_format",
    "SupportsIndex": "Tensor.__reduce_ex__.protocol",
    "_int | Sequence[_int] | _dtype": "Tensor.view.shape",
    "_dtype | builtins.type[Any] | _device | _str | _int | Tensor | _bool | _memory_format | None": "Tensor.to.args",
    "_int | None": "Tensor.random_.bounds Tensor.random_.named",
    "_float": "Tensor.uniform_.bounds Tensor.uniform_.named",
    "_dtype | builtins.type[Any] | _str": "Tensor.type.dtype",
    "_bool": "Tensor.numpy.force",
    "_str": "Tensor.__format__.spec",
})

# Results that are not tensors.
RESULTS = table({
    "tuple[Tensor, Tensor]": """std_mean var_mean nn.functional.max_pool1d_with_indices
        nn.functional.max_pool2d_with_indices nn.functional.max_pool3d_with_indices max_pool1d_with_indices
        max_pool2d_with_indices max_pool3d_with_indices nn.functional.adaptive_max_pool1d_with_indices
        nn.functional.adaptive_max_pool2d_with_indices nn.functional.adaptive_max_pool3d_with_indices
        nn.functional.fractional_max_pool2d_with_indices geqrf nn.functional.fractional_max_pool3d_with_indices""",
    "tuple[Tensor, ...]": """unravel_index chunk split split_with_sizes unbind tensor_split hsplit vsplit dsplit
        unsafe_chunk unsafe_split broadcast_tensors meshgrid gradient""",
    "Any": """nn.functional.add_layer_norm nn.functional.add_rms_norm atleast_1d atleast_2d atleast_3d lu unique
        unique_consecutive Tensor.item Tensor.tolist Tensor.only_element Tensor.__array_wrap__ Tensor.__dlpack__
        Tensor.edge Tensor.graph Tensor.layout Tensor.grad_fn Tensor.__deepcopy__ Tensor.__reduce_ex__
        Tensor._repr_html_ Tensor.type Tensor.storage_type
        Tensor.register_hook Tensor.register_post_accumulate_grad_hook Tensor.lu
        Tensor.size Tensor.stride Tensor.__dlpack_device__""",
    "_bool": """allclose equal is_tensor is_floating_point is_complex is_signed is_nonzero is_same_size
        is_storage is_conj is_neg
        Tensor.__bool__ Tensor.__contains__ Tensor.is_complex Tensor.is_floating_point Tensor.is_signed
        Tensor.is_contiguous Tensor.is_inference Tensor.is_pinned Tensor.is_shared Tensor.is_set_to
        Tensor.is_cuda Tensor.is_cpu Tensor.is_leaf Tensor.requires_grad Tensor.retains_grad""",
    "_int": """numel seed initial_seed get_device Tensor.output_nr Tensor.numel Tensor.nelement
        Tensor.dim Tensor.ndimension
        Tensor.element_size Tensor.storage_offset Tensor.data_ptr Tensor.get_device Tensor.__len__
        Tensor.__int__ Tensor.__index__ Tensor.checked_dim Tensor.__hash__ Tensor.ndim Tensor.itemsize
        Tensor.nbytes Tensor._version""",
    "Size": "broadcast_shapes Tensor.shape",
    "_Generator": "manual_seed",
    "None": """set_rng_state set_default_tensor_type
        Tensor.backward Tensor.retain_grad Tensor.check_grad Tensor.__setitem__
        Tensor.__init__""",
    "tuple[Tensor, Tensor | None]": "nn.functional.multi_head_attention_forward",
    "_np.ndarray[Any, Any]": "Tensor.numpy Tensor.__array__",
    "_TypedStorage": "Tensor.storage",
    "_UntypedStorage": "Tensor.untyped_storage",
    "_dtype": "Tensor.dtype",
    "_device": "Tensor.device",
    "Tensor | None": "Tensor.grad",
    "Tensor": "Tensor.data",
    "_float": "Tensor.__float__",
    "_complex": "Tensor.__complex__",
    "_str": "typename Tensor.__repr__ Tensor.__format__",
    "Iterator[Tensor]": "Tensor.__iter__",
    "tuple[_int, _int]": "Tensor.storage_range",
})
NAMED = """cummax cummin histogram kthvalue mode qr slogdet sort svd topk aminmax frexp histogramdd lu_unpack
    triangular_solve linalg.cholesky_ex linalg.eig linalg.eigh linalg.inv_ex linalg.lstsq linalg.lu
    linalg.lu_factor linalg.lu_factor_ex linalg.qr linalg.slogdet linalg.solve_ex linalg.svd"""
RESULTS |= {name: f"return_types.{name.replace('.', '_')}" for name in NAMED.split()}

# Signatures where the result depends on the arguments.
REDUCED = ["(input: Tensor, *, out: Tensor | None = None) -> Tensor",
           "(input: Tensor, dim: _Int, keepdim: _bool = False, *, out: Sequence[Tensor] | None = None)"
           " -> return_types.{name}",
           "(input: Tensor, *, axis: _Int, keepdims: _bool = False, out: Sequence[Tensor] | None = None)"
           " -> return_types.{name}"]
EITHER = [*REDUCED, "(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor"]
OVERLOADS = {
    "max": EITHER, "min": EITHER, "median": REDUCED, "nanmedian": REDUCED,
    "nonzero": ["(input: Tensor, *, as_tuple: Literal[False] = False, out: Tensor | None = None) -> Tensor",
                "(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]"],
    "Tensor.size": ["(self, dim: None = None) -> Size", "(self, dim: _Int) -> _int"],
    "Tensor.stride": ["(self, dim: None = None) -> tuple[_int, ...]", "(self, dim: _Int) -> _int"],
    "Tensor.type": ["(self, dtype: None = None) -> _str",
                    "(self, dtype: _dtype | _str, non_blocking: _bool = False) -> Tensor"],
    "where": ["(condition: Tensor, input: _Operand, other: _Operand, *, out: Tensor | None = None) -> Tensor",
              "(condition: Tensor) -> tuple[Tensor, ...]"],
    "Tensor.where": [],                                    # not the function's
}
