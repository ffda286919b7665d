"""A request for no tokens is given one.

llama.cpp's server, xllamacpp 2026.10.11549. Promise: stream/finish, a request with nothing to generate ends as `length`
without a token. The server says so of `n_predict` too: "When 0, no tokens will be generated but the prompt is evaluated
into the cache". Expected: no token. Observed: one. The limit is looked at when a token was sampled already
(`process_token`, `has_budget` in server-context.cpp). ggml-org/llama.cpp#4047 tells of it, and is closed as stale.
"""

import json
import sys
import tempfile
import urllib.request

import gguf
import numpy as np
import xllamacpp

path, words, size = tempfile.mkdtemp() + "/tiny.gguf", 320, 64
file, random = gguf.GGUFWriter(path, "llama"), np.random.default_rng(0)
for name in ("context_length", "embedding_length", "feed_forward_length", "block_count", "head_count"):
    getattr(file, f"add_{name}")(size if "length" in name else 1)
file.add_layer_norm_rms_eps(1e-5)
file.add_tokenizer_model("llama")
file.add_token_list(["<unk>", "<s>", "</s>", *(f"<0x{n:02X}>" for n in range(256)), *map(str, range(259, words))])
file.add_token_types([2, 3, 3, *[6] * 256, *[1] * (words - 259)])
file.add_token_scores([0.0] * words)
blocks = "attn_q attn_k attn_v attn_output ffn_gate ffn_up ffn_down attn_norm ffn_norm".split()  # noqa: SIM905
shapes = {"token_embd": (words, size), "output_norm": (size,)}
shapes |= {f"blk.0.{name}": (size,) if "norm" in name else (size, size) for name in blocks}
for name, shape in shapes.items():
    file.add_tensor(f"{name}.weight", random.standard_normal(shape, np.float32))
for write in (file.write_header_to_file, file.write_kv_data_to_file, file.write_tensors_to_file, file.close):
    write()
params = xllamacpp.CommonParams()
params.model.path, params.port, params.verbosity, params.n_ctx = path, 0, -1, 512
address = (server := xllamacpp.Server(params)).listening_address
body = json.dumps({"prompt": [300], "n_predict": 0, "return_tokens": True}).encode()
answer = json.load(urllib.request.urlopen(f"{address}/completion", body))
sys.exit(print("n_predict 0 gives the tokens", answer["tokens"]) or (1 if answer["tokens"] else 0))
