"""Parts of diffusers from configurations: UNets, an autoencoder, a transformer, schedules, a pipeline."""
# needs: diffusers transformers accelerate

import tempfile

import diffusers
import torch
from diffusers.training_utils import EMAModel
from shown import show

torch.manual_seed(0)
x = torch.randn(2, 1, 16, 16)
unet = diffusers.UNet2DModel(
    sample_size=16, in_channels=1, out_channels=1, layers_per_block=1, block_out_channels=(8, 16), norm_num_groups=4,
    attention_head_dim=4, down_block_types=("DownBlock2D", "AttnDownBlock2D"),
    up_block_types=("AttnUpBlock2D", "UpBlock2D"))
noising = diffusers.DDPMScheduler(num_train_timesteps=50)
optimizer, mean = torch.optim.AdamW(unet.parameters(), 1e-3), EMAModel(unet.parameters(), decay=0.9)
for step in range(2):
    noise, t = torch.randn_like(x), torch.randint(0, 50, (2,))
    loss = ((unet(noising.add_noise(x, noise, t), t).sample - noise) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(unet.parameters(), 1.0)
    optimizer.step()
    mean.step(unet.parameters())
    show(f"step {step}", loss, norm)
pipeline = diffusers.DDPMPipeline(unet, noising)
pipeline.set_progress_bar_config(disable=True)
show("pipeline", float(pipeline(num_inference_steps=3, generator=torch.Generator().manual_seed(3),
                                output_type="np").images.mean()))
for name in ("DDIMScheduler", "EulerDiscreteScheduler", "DPMSolverMultistepScheduler", "HeunDiscreteScheduler"):
    schedule = getattr(diffusers, name)(num_train_timesteps=50)
    schedule.set_timesteps(3)
    y = torch.randn(1, 1, 16, 16, generator=torch.Generator().manual_seed(1)) * schedule.init_noise_sigma
    with torch.no_grad():
        for t in schedule.timesteps:
            y = schedule.step(unet(schedule.scale_model_input(y, t), t).sample, t, y).prev_sample
    show(name, y.double().abs().sum())


def gradient(model):
    return sum((p.grad.double() ** 2).sum() for p in model.parameters() if p.grad is not None) ** 0.5


told = diffusers.UNet2DConditionModel(
    sample_size=8, in_channels=4, out_channels=4, layers_per_block=1, block_out_channels=(8, 16), norm_num_groups=4,
    attention_head_dim=4, cross_attention_dim=12, down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
    up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"))
loss = (told(torch.randn(2, 4, 8, 8), torch.tensor([3, 7]), torch.randn(2, 5, 12)).sample ** 2).mean()
loss.backward()
show("with a text", loss, gradient(told))
with tempfile.TemporaryDirectory() as folder:
    told.save_pretrained(folder)
    read = diffusers.UNet2DConditionModel.from_pretrained(folder)
    show("read", all(torch.equal(a, b) for a, b in zip(told.parameters(), read.parameters())))
coder = diffusers.AutoencoderKL(block_out_channels=(8, 16), down_block_types=("DownEncoderBlock2D",) * 2,
                                up_block_types=("UpDecoderBlock2D",) * 2, norm_num_groups=4, latent_channels=2)
code = coder.encode(torch.randn(1, 3, 16, 16)).latent_dist
loss = (coder.decode(code.sample()).sample ** 2).mean() + code.kl().mean()
loss.backward()
show("autoencoder", loss, gradient(coder))
