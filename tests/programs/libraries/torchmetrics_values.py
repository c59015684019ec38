"""torchmetrics: functional and modular forms of metrics of every kind."""
# needs: torchmetrics lightning_utilities

import copy
import pickle

import torch
import torchmetrics as metrics
import torchmetrics.functional as F
from shown import show
from torchmetrics.functional import audio, clustering, image, nominal, pairwise, retrieval, text

torch.manual_seed(0)
N, C = 60, 4
probabilities, target = torch.randn(N, C).softmax(-1), torch.randint(0, C, (N,))
scores, truth = torch.rand(N), torch.randint(0, 2, (N,))
labels, label_truth = torch.rand(N, 3), torch.randint(0, 2, (N, 3))
a, b = torch.randn(N), torch.randn(N)


def tell(module, names, *inputs, **options):
    for name in names.split():
        show(name, getattr(module, name)(*inputs, **options))


KINDS = "accuracy f1_score precision recall specificity auroc average_precision confusion_matrix matthews_corrcoef " \
        "jaccard_index stat_scores hamming_distance negative_predictive_value"
tell(F, KINDS + " cohen_kappa calibration_error hinge_loss roc precision_recall_curve", scores, truth, task="binary")
tell(F, KINDS + " cohen_kappa calibration_error", probabilities, target, task="multiclass", num_classes=C)
tell(F, KINDS + " exact_match", labels, label_truth, task="multilabel", num_labels=3)
for average in ("macro", "weighted", "none"):
    tell(F, "accuracy f1_score precision recall", probabilities, target, task="multiclass", num_classes=C,
         average=average)
show("thresholds", F.auroc(probabilities, target, task="multiclass", num_classes=C, thresholds=7))
show("top", F.accuracy(probabilities, target, task="multiclass", num_classes=C, top_k=2))
tell(F, "mean_squared_error mean_absolute_error r2_score pearson_corrcoef spearman_corrcoef explained_variance "
        "concordance_corrcoef kendall_rank_corrcoef mean_absolute_percentage_error log_cosh_error "
        "symmetric_mean_absolute_percentage_error relative_squared_error", a, b)
tell(F, "mean_squared_log_error tweedie_deviance_score", a.abs(), b.abs())
show("kl_divergence", F.kl_divergence(probabilities, probabilities.flip(0)))

one, two = torch.rand(2, 3, 32, 32, requires_grad=True), torch.rand(2, 3, 32, 32)
tell(image, "structural_similarity_index_measure universal_image_quality_index spectral_angle_mapper "
            "relative_average_spectral_error spatial_correlation_coefficient", one, two)
show("psnr", image.peak_signal_noise_ratio(one, two, data_range=1.0), image.total_variation(two))
show("gradient", torch.autograd.grad(image.structural_similarity_index_measure(one, two), one)[0].abs().sum())
tell(text, "bleu_score sacre_bleu_score chrf_score translation_edit_rate", ["the cat sat on the mat"],
     [["the cat is on the mat", "a cat sat"]])
tell(text, "char_error_rate word_error_rate edit_distance match_error_rate", ["a b c"], ["a b d"])
show("perplexity", text.perplexity(torch.randn(2, 4, 5), torch.randint(0, 5, (2, 4))))
tell(pairwise, "pairwise_cosine_similarity pairwise_euclidean_distance pairwise_manhattan_distance",
     a.reshape(12, 5)[:4], b.reshape(12, 5)[:3])
tell(retrieval, "retrieval_average_precision retrieval_hit_rate retrieval_normalized_dcg retrieval_precision "
                "retrieval_recall retrieval_reciprocal_rank", scores[:10], truth[:10] == 1)
tell(audio, "signal_noise_ratio scale_invariant_signal_distortion_ratio", torch.randn(2, 200), torch.randn(2, 200))
first, second = torch.randint(0, 3, (40,)), torch.randint(0, 3, (40,))
tell(nominal, "cramers_v theils_u tschuprows_t", first, second)
tell(clustering, "mutual_info_score rand_score adjusted_rand_score v_measure_score", first, second)     # sparse tensors
tell(clustering, "calinski_harabasz_score davies_bouldin_score", torch.randn(40, 3), first)

options = {"task": "multiclass", "num_classes": C}
collection = metrics.MetricCollection({
    "accuracy": metrics.Accuracy(**options), "f1": metrics.F1Score(**options, average="macro"),
    "auroc": metrics.AUROC(**options), "matrix": metrics.ConfusionMatrix(**options)})
for i in range(0, N, 20):
    show("batch", collection(probabilities[i:i + 20], target[i:i + 20]))
show("all", collection.compute())
mean = metrics.MeanMetric()
mean.update(torch.tensor([1.0, 2.0]), weight=torch.tensor([0.3, 0.7]))
mean.persistent(True)
show("copies", pickle.loads(pickle.dumps(mean)).compute(), copy.deepcopy(mean).compute(), mean.state_dict())
tracker = metrics.MetricTracker(metrics.Accuracy(task="binary"))
for x in (scores, 1 - scores):
    tracker.increment()
    tracker.update(x, truth)
show("tracker", tracker.compute_all(), tracker.best_metric())
show("extremes", metrics.MinMaxMetric(metrics.Accuracy(task="binary"))(scores, truth))
show("outputs", metrics.MultioutputWrapper(metrics.R2Score(), 2)(a.reshape(-1, 2), b.reshape(-1, 2)))
running = metrics.aggregation.RunningMean(window=3)
show("running", [running(x) for x in a[:5]])
show("queries", metrics.RetrievalMAP()(scores, truth, indexes=torch.randint(0, 5, (N,))))
