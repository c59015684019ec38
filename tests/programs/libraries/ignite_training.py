"""ignite: engines, events, metrics, handlers, checkpoints, schedules."""
# needs: ignite

import torch
from ignite.engine import Engine, Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import (
    Checkpoint,
    CosineAnnealingScheduler,
    DiskSaver,
    EarlyStopping,
    EMAHandler,
    FastaiLRFinder,
    LRScheduler,
    TerminateOnNan,
    create_lr_scheduler_with_warmup,
    global_step_from_engine,
)
from ignite.metrics import (
    PSNR,
    SSIM,
    Accuracy,
    ConfusionMatrix,
    DiceCoefficient,
    Loss,
    MeanAbsoluteError,
    MetricsLambda,
    Precision,
    Recall,
    RunningAverage,
    TopKCategoricalAccuracy,
    mIoU,
)
from ignite.utils import manual_seed, to_onehot
from shown import show
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

manual_seed(0)
X = torch.randn(64, 10)
loader = DataLoader(TensorDataset(X, X[:, :3].argmax(1)), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
trainer = create_supervised_trainer(model, optimizer, nn.CrossEntropyLoss(), device="cpu")
precision, recall, matrix = Precision(average=False), Recall(average=False), ConfusionMatrix(3)
evaluator = create_supervised_evaluator(model, {
    "accuracy": Accuracy(), "loss": Loss(nn.CrossEntropyLoss()), "precision": precision, "recall": recall, "cm": matrix,
    "f1": MetricsLambda(lambda p, r: (2 * p * r / (p + r + 1e-20)).mean(), precision, recall), "iou": mIoU(matrix),
    "dice": DiceCoefficient(matrix), "top": TopKCategoricalAccuracy(2)})
RunningAverage(output_transform=lambda x: x).attach(trainer, "running")
trainer.add_event_handler(Events.ITERATION_COMPLETED, LRScheduler(torch.optim.lr_scheduler.StepLR(optimizer, 4, 0.5)))
trainer.add_event_handler(Events.ITERATION_COMPLETED, TerminateOnNan())
average = EMAHandler(model, momentum=0.1)
average.attach(trainer, event=Events.ITERATION_COMPLETED)
saver = Checkpoint({"model": model, "optimizer": optimizer, "trainer": trainer}, DiskSaver("best", create_dir=True),
                   n_saved=2, score_function=lambda e: e.state.metrics["accuracy"], score_name="accuracy",
                   global_step_transform=global_step_from_engine(trainer))
evaluator.add_event_handler(Events.COMPLETED, saver)
evaluator.add_event_handler(Events.COMPLETED, EarlyStopping(3, lambda e: e.state.metrics["accuracy"], trainer))


@trainer.on(Events.EPOCH_COMPLETED)
def evaluate(engine):
    evaluator.run(loader)
    show("epoch", engine.state.epoch, engine.state.output, engine.state.metrics["running"],
         optimizer.param_groups[0]["lr"], evaluator.state.metrics)


@trainer.on(Events.ITERATION_COMPLETED(every=3) | Events.STARTED)
def tell(engine):
    show("iteration", engine.state.iteration)


trainer.run(loader, max_epochs=3)
show("average", [p.sum() for p in average.ema_model.parameters()])
show("saved", str(saver.last_checkpoint))
Checkpoint.load_objects({"model": model, "optimizer": optimizer}, torch.load(str(saver.last_checkpoint)))
show("restored", [p.sum() for p in model.parameters()])

adam, rates = torch.optim.Adam(model.parameters(), 0.1), []
schedule = create_lr_scheduler_with_warmup(CosineAnnealingScheduler(adam, "lr", 0.1, 0.0, 8), warmup_start_value=0.0,
                                           warmup_end_value=0.1, warmup_duration=3)
for _ in range(8):
    schedule(None)
    rates.append(adam.param_groups[0]["lr"])
show("rates", rates)
pictures = Engine(lambda engine, batch: batch)
for name, metric in {"mae": MeanAbsoluteError(), "psnr": PSNR(1.0), "ssim": SSIM(1.0)}.items():
    metric.attach(pictures, name)
show("pictures", pictures.run([(torch.rand(2, 3, 24, 24), torch.rand(2, 3, 24, 24)) for _ in range(2)]).metrics)
finder = FastaiLRFinder()
with finder.attach(trainer, {"model": model, "optimizer": optimizer}, num_iter=10, end_lr=1.0) as finding:
    finding.run(loader)
show("finder", finder.get_results()["lr"][:4], finder.get_results()["loss"][:4])
show("onehot", to_onehot(torch.tensor([0, 2]), 3))
lower = create_supervised_trainer(model, optimizer, nn.CrossEntropyLoss(), device="cpu", amp_mode="amp")
show("lower precision", round(lower.run(loader, max_epochs=1).output, 2))
