"""Adapters of peft on a small GPT-2: training, saved and read, switched off, merged."""
# needs: peft transformers

import tempfile

import torch
from peft import (
    IA3Config,
    LoraConfig,
    PeftModel,
    PrefixTuningConfig,
    PromptTuningConfig,
    get_peft_model,
)
from shown import show
from transformers import GPT2Config, GPT2LMHeadModel, set_seed

ids = torch.arange(3, 23).reshape(2, 10)
words = dict(input_ids=ids, labels=ids)
ATTENTION = dict(target_modules=["c_attn"], task_type="CAUSAL_LM", fan_in_fan_out=True)
ADAPTERS = {
    "LoRA": LoraConfig(r=4, lora_alpha=8, lora_dropout=0.1, **ATTENTION),
    "DoRA": LoraConfig(r=2, use_dora=True, **ATTENTION),
    "PiSSA": LoraConfig(r=2, init_lora_weights="pissa", **ATTENTION),
    "IA3": IA3Config(feedforward_modules=[], **ATTENTION),
    "prompt": PromptTuningConfig(num_virtual_tokens=3, task_type="CAUSAL_LM"),
    "prefix": PrefixTuningConfig(num_virtual_tokens=3, task_type="CAUSAL_LM"),
}


def base():
    set_seed(0)
    return GPT2LMHeadModel(GPT2Config(vocab_size=50, n_positions=32, n_embd=16, n_layer=2, n_head=2, bos_token_id=1,
                                      eos_token_id=2))


for name, config in ADAPTERS.items():
    model = get_peft_model(base(), config)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], 1e-2)
    for _ in range(3):
        loss = model.train()(**words).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        read = PeftModel.from_pretrained(base(), folder).eval()
    show(name, model.get_nb_trainable_parameters(), loss, model(**words).loss, read(**words).loss)
    if name.endswith("RA"):
        with model.disable_adapter():
            off = model(**words).loss
        show("off, merged", off, model.merge_and_unload()(**words).loss)
