"""Lightning: fit with checkpoints and early stopping, going on, validation, test, prediction, 16 bits, Fabric."""
# needs: lightning

import logging
import os
import tempfile
import warnings

import lightning
import torch
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from shown import show
from torch import nn
from torch.nn.functional import cross_entropy

warnings.simplefilter("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Data(lightning.LightningDataModule):
    def setup(self, stage):
        x = torch.randn(96, 6, generator=torch.Generator().manual_seed(0))
        self.all = torch.utils.data.TensorDataset(x, (x[:, :3].sum(1) > 0).long())

    def part(self, begin, end, shuffle=False):
        part = torch.utils.data.Subset(self.all, range(begin, end))
        return torch.utils.data.DataLoader(part, batch_size=8, shuffle=shuffle)

    def train_dataloader(self):
        return self.part(0, 64, shuffle=True)

    def val_dataloader(self):
        return self.part(64, 80)

    def test_dataloader(self):
        return self.part(80, 96)

    predict_dataloader = test_dataloader


class Net(lightning.LightningModule):
    def __init__(self, width=8):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(6, width, bias=False), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(0.1),
                                 nn.Linear(width, 2))

    def training_step(self, batch, i):
        loss = cross_entropy(self.net(batch[0]), batch[1])
        self.log("loss", loss, on_epoch=True, on_step=True)
        return loss

    def validation_step(self, batch, i):
        self.log("val_loss", cross_entropy(self.net(batch[0]), batch[1]))

    def test_step(self, batch, i):
        self.log("test_loss", cross_entropy(self.net(batch[0]), batch[1]))

    def predict_step(self, batch, i):
        return self.net(batch[0]).argmax(1)

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), 1e-2)
        schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "monitor": "val_loss"}}

    def on_train_epoch_end(self):
        if self.trainer.precision == "32-true":
            show(f"epoch {self.current_epoch}", {k: float(v) for k, v in self.trainer.callback_metrics.items()})


with tempfile.TemporaryDirectory() as folder:
    def trainer(epochs, *callbacks, **options):
        return lightning.Trainer(
            max_epochs=epochs, default_root_dir=folder, enable_progress_bar=False, accelerator="cpu",
            logger=CSVLogger(folder), log_every_n_steps=2, enable_model_summary=False, callbacks=list(callbacks),
            **options)

    lightning.seed_everything(1, verbose=False)
    model, data = Net(), Data()
    best = ModelCheckpoint(dirpath=f"{folder}/best", monitor="val_loss", save_last=True, filename="{epoch}")
    first = trainer(3, best, EarlyStopping("val_loss", patience=2), LearningRateMonitor(), gradient_clip_val=0.5,
                    accumulate_grad_batches=2)
    first.fit(model, data)
    show("files", sorted(os.listdir(f"{folder}/best")), first.global_step)
    show("tested", first.validate(model, data, verbose=False), first.test(model, data, verbose=False))
    show("predicted", torch.cat(first.predict(model, data)))
    read = Net.load_from_checkpoint(best.best_model_path, weights_only=False)
    show("read", dict(read.hparams), sum(p.double().sum() for p in read.parameters()))
    again = Net()
    further = trainer(5)
    further.fit(again, data, ckpt_path=f"{folder}/best/last.ckpt", weights_only=False)
    show("further", further.global_step, sum(p.double().sum() for p in again.parameters()))
    half = Net()
    trainer(1, precision="bf16-mixed").fit(half, data)
    show("half", sorted({str(p.dtype) for p in half.parameters()}))
    fabric = lightning.Fabric(accelerator="cpu")
    fabric.launch()
    fabric.seed_everything(4, verbose=False)
    layer, optimizer = fabric.setup(layer := nn.Linear(6, 2), torch.optim.SGD(layer.parameters(), 0.1))
    loss = layer(torch.ones(2, 6)).sum()
    fabric.backward(loss)
    fabric.clip_gradients(layer, optimizer, max_norm=1.0)
    optimizer.step()
    show("fabric", loss, sum(p.sum() for p in layer.parameters()))
