"""A tiny model for llama.cpp: random f32 weights, and a vocabulary in which the text of a token tells which it is."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import gguf
import numpy as np

VOCABULARY, FIRST = 1024, 259  # what comes before the first is marks and bytes, which are never generated
WIDTH, LAYERS, HEADS, INNER = 64, 2, 4, 128
SIZES = {
    "context_length": 4096, "embedding_length": WIDTH, "block_count": LAYERS, "feed_forward_length": INNER,
    "head_count": HEADS, "head_count_kv": HEADS, "rope_dimension_count": WIDTH // HEADS, "layer_norm_rms_eps": 1e-5,
    "vocab_size": VOCABULARY, "unk_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "add_bos_token": False,
    "add_space_prefix": False,
}  # fmt: skip
BLOCK = dict.fromkeys(("attn_norm", "ffn_norm"), (WIDTH,)) | dict.fromkeys(("ffn_gate", "ffn_up"), (INNER, WIDTH))
BLOCK |= dict.fromkeys(("attn_q", "attn_k", "attn_v", "attn_output"), (WIDTH, WIDTH)) | {"ffn_down": (WIDTH, INNER)}
SHAPES: dict[str, tuple[int, ...]] = {"token_embd": (VOCABULARY, WIDTH), "output": (VOCABULARY, WIDTH)}
SHAPES |= {"output_norm": (WIDTH,)} | {f"blk.{k}.{name}": shape for k in range(LAYERS) for name, shape in BLOCK.items()}


@cache
def model_file() -> str:
    """Write the model, once a process."""
    folder = tempfile.mkdtemp(prefix="slotspec-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path, rng = str(Path(folder) / "tiny.gguf"), np.random.default_rng(0)
    file: Any = gguf.GGUFWriter(path, "llama")
    for name, value in SIZES.items():
        getattr(file, f"add_{name}")(value)
    file.add_tokenizer_model("llama")
    words = [text(number) for number in range(FIRST, VOCABULARY)]
    file.add_token_list([b"<unk>", b"<s>", b"</s>", *(b"<0x%02X>" % n for n in range(256)), *words])
    file.add_token_scores([0.0] * VOCABULARY)
    file.add_token_types([2, 3, 3, *[6] * 256, *[1] * len(words)])
    for name, shape in SHAPES.items():
        scale = 1.0 if VOCABULARY in shape else 2 / np.sqrt(shape[-1])
        weights = np.ones(shape) if len(shape) == 1 else rng.standard_normal(shape) * scale
        weights[: FIRST if name == "output" else 0] = 0
        file.add_tensor(f"{name}.weight", weights.astype(np.float32))
    for write in (file.write_header_to_file, file.write_kv_data_to_file, file.write_tensors_to_file, file.close):
        write()
    return path


def text(number: int) -> bytes:
    """What a token that can be generated reads as; no other's text is within it."""
    return b"t%d " % number
