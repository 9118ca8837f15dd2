"""Build the four published architectures at a ten-thousandth of their size, weights random.

The processors and chat templates are the native ones; only sizes differ. Used by the training
script and by the tests.
"""

from __future__ import annotations

import torch
from transformers import (
    InternVLConfig,
    InternVLForConditionalGeneration,
    InternVLProcessor,
    LlavaOnevisionConfig,
    LlavaOnevisionForConditionalGeneration,
    LlavaOnevisionProcessor,
    Mistral3Config,
    Mistral3ForConditionalGeneration,
    PixtralImageProcessor,
    PixtralProcessor,
    PreTrainedModel,
    ProcessorMixin,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
    Qwen3VLProcessor,
)
from transformers.models.got_ocr2.image_processing_got_ocr2 import GotOcr2ImageProcessor
from transformers.models.internvl.video_processing_internvl import InternVLVideoProcessor
from transformers.models.llava_onevision.image_processing_llava_onevision import (
    LlavaOnevisionImageProcessor,
)
from transformers.models.llava_onevision.video_processing_llava_onevision import (
    LlavaOnevisionVideoProcessor,
)
from transformers.models.qwen2_vl.image_processing_qwen2_vl import Qwen2VLImageProcessor
from transformers.models.qwen3_vl.video_processing_qwen3_vl import Qwen3VLVideoProcessor

from models.tokenizer import build_tokenizer

# Templates after the published checkpoints' own: what stands around roles, images and text.
CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' }}"
    "{% if message['content'] is string %}{{ message['content'] }}"
    "{% else %}{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}{{ 'IMAGE' }}"
    "{% elif part['type'] == 'text' %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endif %}{{ '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
LLAVA = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + ' ' }}"
    "{% for part in message['content'] if part['type'] == 'image' %}{{ '<image>' }}{% endfor %}"
    "{% for part in message['content'] if part['type'] == 'text' %}"
    "{{ '\n' + part['text'] }}{% endfor %}"
    "{{ '<|im_end|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
MISTRAL = (
    "{{ bos_token }}{% for message in messages %}"
    "{% if message['role'] == 'system' %}{{ '[SYSTEM_PROMPT]' }}"
    "{% elif message['role'] == 'user' %}{{ '[INST]' }}{% endif %}"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}{{ '[IMG]' }}"
    "{% elif part['type'] == 'text' %}{{ part['text'] }}{% endif %}{% endfor %}"
    "{% if message['role'] == 'system' %}{{ '[/SYSTEM_PROMPT]' }}"
    "{% elif message['role'] == 'user' %}{{ '[/INST]' }}"
    "{% else %}{{ eos_token }}{% endif %}{% endfor %}"
)
STATISTICS = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3}
INITIAL = 0.08
"""About 1 / sqrt(width); the usual 0.02 is for widths of thousands and starts this one too flat."""
THETA = 1e6
"""As in the published text models: slow rotations leave more of a head to matching contents."""
TEXT = {
    "hidden_size": 96,
    "intermediate_size": 256,
    "num_hidden_layers": 5,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "head_dim": 32,
    "max_position_embeddings": 2048,
    "tie_word_embeddings": True,
    "initializer_range": INITIAL,
}


def text_config(model_type: str, tokenizer, **changes: object) -> dict:
    """Text model's configuration at mini size, with the tokenizer's ids."""
    return {
        "model_type": model_type,
        "vocab_size": len(tokenizer),
        "pad_token_id": tokenizer.pad_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "bos_token_id": tokenizer.bos_token_id,
        "rope_parameters": {"rope_type": "default", "rope_theta": THETA},
        **TEXT,
        **changes,
    }


def internvl(seed: int, **text: int) -> tuple[PreTrainedModel, ProcessorMixin]:
    """InternVL 3: a ViT with pixel shuffle and a Qwen2 text model; 64 pixels are 16 tokens."""
    names = {
        "start_image_token": "<img>",
        "end_image_token": "</img>",
        "context_image_token": "<IMG_CONTEXT>",
        "video_token": "<video>",
    }
    tokenizer = build_tokenizer(
        ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *names.values()],
        pad="<|endoftext|>",
        eos="<|im_end|>",
        **names,
    )
    size = {"height": 64, "width": 64}
    processor = InternVLProcessor(
        GotOcr2ImageProcessor(size=size, max_patches=1, **STATISTICS),
        tokenizer,
        InternVLVideoProcessor(size=size, **STATISTICS),
        image_seq_length=16,
        chat_template=CHATML.replace("IMAGE", "<IMG_CONTEXT>\\n"),
    )
    config = InternVLConfig(
        vision_config={
            "image_size": [64, 64],
            "patch_size": [8, 8],
            "hidden_size": 96,
            "intermediate_size": 256,
            "num_hidden_layers": 3,
            "num_attention_heads": 4,
            "use_qk_norm": False,
            "initializer_range": INITIAL,
            "norm_type": "layer_norm",
        },
        text_config=text_config("qwen2", tokenizer, **text),
        image_token_id=tokenizer.context_image_token_id,
        image_seq_length=16,
        downsample_ratio=0.5,
    )
    torch.manual_seed(seed)
    return InternVLForConditionalGeneration(config).eval(), processor


def qwen3_vl(seed: int, **text: int) -> tuple[PreTrainedModel, ProcessorMixin]:
    """Qwen3-VL: a ViT of any resolution with 2 × 2 merging, interleaved M-RoPE, DeepStack."""
    names = {
        "image_token": "<|image_pad|>",
        "video_token": "<|video_pad|>",
        "vision_start_token": "<|vision_start|>",
        "vision_end_token": "<|vision_end|>",
    }
    tokenizer = build_tokenizer(
        ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *names.values()],
        pad="<|endoftext|>",
        eos="<|im_end|>",
        **names,
    )
    patches = {"patch_size": 8, "temporal_patch_size": 2, "merge_size": 2}
    size = {"shortest_edge": 64 * 64, "longest_edge": 64 * 64}
    processor = Qwen3VLProcessor(
        Qwen2VLImageProcessor(size=size, **patches, **STATISTICS),
        tokenizer,
        Qwen3VLVideoProcessor(size=size, **patches, **STATISTICS),
        chat_template=CHATML.replace("IMAGE", "<|vision_start|><|image_pad|><|vision_end|>"),
    )
    rope = {"rope_type": "default", "mrope_section": [6, 5, 5], "mrope_interleaved": True}
    config = Qwen3VLConfig(
        vision_config={
            "depth": 3,
            "hidden_size": 96,
            "intermediate_size": 256,
            "num_heads": 4,
            "patch_size": 8,
            "temporal_patch_size": 2,
            "spatial_merge_size": 2,
            "out_hidden_size": text.get("hidden_size", TEXT["hidden_size"]),
            "num_position_embeddings": 64,
            "deepstack_visual_indexes": [0],
        },
        text_config=text_config(
            "qwen3_vl_text", tokenizer, rope_parameters={**rope, "rope_theta": THETA}, **text
        ),
        image_token_id=tokenizer.convert_tokens_to_ids("<|image_pad|>"),
        video_token_id=tokenizer.convert_tokens_to_ids("<|video_pad|>"),
        vision_start_token_id=tokenizer.convert_tokens_to_ids("<|vision_start|>"),
        vision_end_token_id=tokenizer.convert_tokens_to_ids("<|vision_end|>"),
        tie_word_embeddings=True,
    )
    torch.manual_seed(seed)
    return Qwen3VLForConditionalGeneration(config).eval(), processor


def llava_onevision(seed: int, **text: int) -> tuple[PreTrainedModel, ProcessorMixin]:
    """LLaVA-OneVision: SigLIP on a base view and tiles, newline tokens, a Qwen2 text model."""
    names = {"image_token": "<image>", "video_token": "<video>"}
    tokenizer = build_tokenizer(
        ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *names.values()],
        pad="<|endoftext|>",
        eos="<|im_end|>",
        **names,
    )
    # Patches of 16 pixels: a square picture is a view and one tile, 36 tokens with the newlines.
    size = {"height": 64, "width": 64}
    pinpoints = [[64, 64], [64, 128], [128, 64]]
    processor = LlavaOnevisionProcessor(
        LlavaOnevisionImageProcessor(size=size, image_grid_pinpoints=pinpoints, **STATISTICS),
        tokenizer,
        LlavaOnevisionVideoProcessor(size=size, **STATISTICS),
        num_image_tokens=16,
        vision_feature_select_strategy="full",
        chat_template=LLAVA,
    )
    config = LlavaOnevisionConfig(
        vision_config={
            "model_type": "siglip_vision_model",
            "image_size": 64,
            "patch_size": 16,
            "hidden_size": 96,
            "intermediate_size": 256,
            "num_hidden_layers": 3,
            "num_attention_heads": 4,
            "vision_use_head": False,
        },
        text_config=text_config("qwen2", tokenizer, **text),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        video_token_index=tokenizer.convert_tokens_to_ids("<video>"),
        image_grid_pinpoints=pinpoints,
        vision_feature_layer=-1,
        vision_feature_select_strategy="full",
        vision_aspect_ratio="anyres_max_9",
        tie_word_embeddings=True,
    )
    torch.manual_seed(seed)
    return LlavaOnevisionForConditionalGeneration(config).eval(), processor


def ministral3(seed: int, **text: int) -> tuple[PreTrainedModel, ProcessorMixin]:
    """Ministral 3: a Pixtral vision tower with 2 × 2 merging and a Ministral 3 text model."""
    tokenizer = build_tokenizer(
        ["<pad>", "<s>", "</s>", "[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"]
        + ["[IMG]", "[IMG_BREAK]", "[IMG_END]"],
        pad="<pad>",
        eos="</s>",
        bos="<s>",
    )
    processor = PixtralProcessor(
        PixtralImageProcessor(size={"longest_edge": 64}, patch_size=8, **STATISTICS),
        tokenizer,
        patch_size=8,
        spatial_merge_size=2,
        chat_template=MISTRAL,
    )
    return ministral3_model(
        seed, tokenizer, tokenizer.convert_tokens_to_ids("[IMG]"), **text
    ), processor


def ministral3_model(seed: int, tokenizer, image_token_id: int, **text: int) -> PreTrainedModel:
    """Build the model of `ministral3` for any tokenizer, mistral-common's included."""
    rope = {"rope_type": "yarn", "rope_theta": THETA, "factor": 4.0, "llama_4_scaling_beta": 0.1}
    rope |= {"original_max_position_embeddings": 512, "beta_fast": 32.0, "beta_slow": 1.0}
    config = Mistral3Config(
        vision_config={
            "model_type": "pixtral",
            "image_size": 64,
            "patch_size": 8,
            "hidden_size": 96,
            "head_dim": 24,
            "intermediate_size": 256,
            "num_hidden_layers": 3,
            "num_attention_heads": 4,
        },
        text_config=text_config("ministral3", tokenizer, rope_parameters=rope, **text),
        image_token_index=image_token_id,
        spatial_merge_size=2,
        vision_feature_layer=-1,
        tie_word_embeddings=True,
    )
    torch.manual_seed(seed)
    return Mistral3ForConditionalGeneration(config).eval()


FAMILIES = {
    "qwen3_vl": qwen3_vl,
    "internvl": internvl,
    "llava_onevision": llava_onevision,
    "ministral3": ministral3,
}
"""Builder of each family, by family key."""
