"""The Trainer of transformers: training, checkpoints, going on from one, evaluation, and files of weights."""
# needs: transformers accelerate safetensors

import os
import tempfile

import torch
from shown import show
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    set_seed,
)


class Words(torch.utils.data.Dataset):
    def __init__(self, n, seed):
        self.words = torch.randint(3, 50, (n, 10), generator=torch.Generator().manual_seed(seed))

    def __len__(self):
        return len(self.words)

    def __getitem__(self, i):
        return {"input_ids": self.words[i], "labels": self.words[i]}


class Told(TrainerCallback):
    def on_log(self, args, state, control, logs, **kwargs):
        show(f"step {state.global_step}", {k: float(v) for k, v in logs.items()
                                           if "runtime" not in k and "per_second" not in k})


def trained(folder, resume=None):
    set_seed(0)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_positions=32, n_embd=16, n_layer=2, n_head=2, bos_token_id=1,
                                       eos_token_id=2))
    options = TrainingArguments(
        output_dir=folder, per_device_train_batch_size=4, num_train_epochs=2, logging_steps=2, save_steps=4,
        report_to=[], disable_tqdm=True, learning_rate=1e-3, eval_strategy="steps", eval_steps=4, seed=3,
        lr_scheduler_type="cosine", warmup_steps=2, weight_decay=0.01, gradient_accumulation_steps=2, use_cpu=True)
    trainer = Trainer(model=model, args=options, train_dataset=Words(32, 1), eval_dataset=Words(8, 2),
                      callbacks=[Told()])
    trainer.pop_callback(next(type(c) for c in trainer.callback_handler.callbacks if "Printer" in type(c).__name__))
    show("trained", trainer.train(resume_from_checkpoint=resume).training_loss, trainer.evaluate()["eval_loss"])
    return model


with tempfile.TemporaryDirectory() as folder:
    model = trained(folder)
    show("files", sorted(os.listdir(f"{folder}/checkpoint-4")))
    again = trained(folder, f"{folder}/checkpoint-4")
    show("equal", all(torch.allclose(a, b, atol=1e-6) for a, b in zip(model.parameters(), again.parameters())))
    for size in ("1GB", "10KB"):
        model.save_pretrained(f"{folder}/{size}", max_shard_size=size)
        read = GPT2LMHeadModel.from_pretrained(f"{folder}/{size}")
        show("read", all(torch.equal(a, b) for a, b in zip(model.parameters(), read.parameters())))
    half = GPT2LMHeadModel.from_pretrained(f"{folder}/1GB", dtype=torch.bfloat16)
    show("half", str(half.dtype), str(half.lm_head.weight.dtype))
