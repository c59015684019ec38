"""A training loop of accelerate: accumulated gradients, their norm, a schedule, saved state, empty parameters."""
# needs: accelerate safetensors

import os
import tempfile

import torch
from accelerate import (
    Accelerator,
    infer_auto_device_map,
    init_empty_weights,
    load_checkpoint_and_dispatch,
)
from accelerate.utils import compute_module_sizes, find_executable_batch_size, set_seed
from shown import show
from torch import nn


def network():
    return nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 1))


def epoch(label):
    for x, y in loader:
        with accelerator.accumulate(model):
            loss = ((model(x) - y) ** 2).mean()
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                norm = accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
    show(label, loss, norm, schedule.get_last_lr(), accelerator.gather(loss))


set_seed(0)
with tempfile.TemporaryDirectory() as folder:
    accelerator = Accelerator(gradient_accumulation_steps=2, cpu=True, project_dir=folder)
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 3, 0.5)
    x = torch.randn(32, 4)
    data = torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True))
    loader = torch.utils.data.DataLoader(data, batch_size=4, shuffle=True)
    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
    epoch("first")
    accelerator.save_state(f"{folder}/state")
    show("files", sorted(os.listdir(f"{folder}/state")))
    epoch("second")
    accelerator.load_state(f"{folder}/state")
    epoch("second again")
    plain = accelerator.unwrap_model(model)
    show("parameters", type(plain).__name__, sum(p.double().sum() for p in plain.parameters()))
    accelerator.save_model(model, f"{folder}/model")
    with init_empty_weights():
        empty = network()
    show("empty", [p.device.type for p in empty.parameters()], dict(infer_auto_device_map(empty, {"cpu": "1GB"})))
    full = load_checkpoint_and_dispatch(empty, f"{folder}/model/model.safetensors", device_map={"": "cpu"}).eval()
    show("full", full(x[:1]), compute_module_sizes(full)[""])


@find_executable_batch_size(starting_batch_size=8)
def fitting(batch_size):
    if batch_size > 2:
        raise RuntimeError("CUDA out of memory.")
    return batch_size


show("batch size", fitting())
