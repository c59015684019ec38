"""Models of transformers from small configurations: loss, gradients, and text by three ways of decoding."""
# needs: transformers

import torch
import transformers
from shown import show

SMALL = dict(vocab_size=100, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
             max_position_embeddings=64)
GROUPED = dict(SMALL, num_key_value_heads=2)
IMAGES = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, image_size=16,
              patch_size=4, num_labels=5)
MODELS = {
    "GPT2LMHeadModel": dict(vocab_size=100, n_positions=64, n_embd=32, n_layer=2, n_head=4, bos_token_id=1,
                            eos_token_id=2),
    "LlamaForCausalLM": GROUPED, "MistralForCausalLM": dict(GROUPED, sliding_window=8), "Qwen2ForCausalLM": GROUPED,
    "BertForMaskedLM": SMALL, "ViTForImageClassification": IMAGES,
    "T5ForConditionalGeneration": dict(vocab_size=100, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4,
                                       decoder_start_token_id=0),
    "WhisperForConditionalGeneration": dict(
        vocab_size=100, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, pad_token_id=0,
        decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48, max_source_positions=30, bos_token_id=1,
        max_target_positions=40, num_mel_bins=8, eos_token_id=2, decoder_start_token_id=3, suppress_tokens=None,
        begin_suppress_tokens=None),
}


def inputs(name):
    """The model's inputs for training, and those for generation."""
    ids = torch.randint(3, 100, (2, 12))
    mask = torch.ones_like(ids)
    mask[1, 9:] = 0
    if name.startswith("ViT"):
        return dict(pixel_values=torch.randn(2, 3, 16, 16), labels=torch.tensor([0, 4])), None
    if name.startswith("Whisper"):
        sound = dict(input_features=torch.randn(2, 8, 60))
        return dict(sound, labels=ids[:, :7].contiguous()), sound
    words = dict(input_ids=ids, attention_mask=mask)
    if name.startswith("T5"):
        return dict(words, labels=ids[:, :7].contiguous()), words
    return dict(words, labels=ids), None if "Masked" in name else dict(input_ids=ids[:1, :5],
                                                                       attention_mask=mask[:1, :5])


for name, options in MODELS.items():
    transformers.set_seed(0)
    kind = getattr(transformers, name)
    model = kind(kind.config_class(**options))
    training, prompt = inputs(name)
    loss = model(**training).loss
    loss.backward()
    show(name, loss, sum((p.grad.double() ** 2).sum() for p in model.parameters() if p.grad is not None) ** 0.5)
    model.eval()
    if prompt is not None:
        transformers.set_seed(1)
        show("greedy", model.generate(**prompt, max_new_tokens=10, do_sample=False, pad_token_id=0))
    if prompt is not None and name != "WhisperForConditionalGeneration":
        show("sampled", model.generate(**prompt, max_new_tokens=10, do_sample=True, top_k=20, top_p=0.9,
                                       temperature=0.8, pad_token_id=0))
        show("beams", model.generate(**prompt, max_new_tokens=8, num_beams=3, do_sample=False, pad_token_id=0))
