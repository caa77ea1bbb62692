#!/usr/bin/env python3
"""Write a checkpoint as a GGUF file: matrices Q8_0 (or F16), norms F32, llama.cpp's conventions for the architecture `llama`.

    export.py target.pt --tokenizer DIR/tokenizer.json --name "Inkstone Story 5M" --out story-5m-q8_0.gguf [--type q8_0|f16]
"""
import argparse
import json

import gguf
import numpy as np
import torch
from gguf.quants import quantize

from model import load
from tokenizer import BOS, EOS, IM_END, SPECIAL

TEMPLATE = ("{{ bos_token }}{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + "
            "'<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")


def permute(w, heads):
    """Hugging Face rope layout (halves) to the one of GGUF llama files (pairs)."""
    return w.reshape(heads, 2, w.shape[0] // heads // 2, w.shape[1]).swapaxes(1, 2).reshape(w.shape)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("checkpoint")
    ap.add_argument("--tokenizer")
    ap.add_argument("--name")
    ap.add_argument("--out")
    ap.add_argument("--type", choices=["q8_0", "f16"], default="q8_0")
    a = ap.parse_args()
    m, ck = load(a.checkpoint)
    c = m.cfg
    w = gguf.GGUFWriter(a.out, "llama")
    w.add_name(a.name)
    w.add_license("apache-2.0")
    w.add_description("Tells short stories for children; trained from scratch on a generated corpus")
    w.add_languages(["en"])
    w.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0 if a.type == "q8_0" else gguf.LlamaFileType.MOSTLY_F16)
    w.add_quantization_version(gguf.GGML_QUANT_VERSION)
    w.add_context_length(c.ctx)
    w.add_embedding_length(c.dim)
    w.add_block_count(c.layers)
    w.add_feed_forward_length(c.ffn)
    w.add_head_count(c.heads)
    w.add_head_count_kv(c.kv_heads)
    w.add_key_length(c.head_dim)
    w.add_value_length(c.head_dim)
    w.add_rope_dimension_count(c.head_dim)
    w.add_rope_freq_base(c.rope_base)
    w.add_layer_norm_rms_eps(c.eps)
    w.add_vocab_size(c.vocab)

    t = json.load(open(a.tokenizer, encoding="utf-8"))["model"]
    tokens = [None] * c.vocab
    for s, i in t["vocab"].items():
        tokens[i] = s
    assert None not in tokens and tokens[:4] == SPECIAL
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("gpt-2")
    w.add_token_list(tokens)
    w.add_token_types([gguf.TokenType.CONTROL] * 4 + [gguf.TokenType.NORMAL] * (c.vocab - 4))
    w.add_token_merges([x if isinstance(x, str) else " ".join(x) for x in t["merges"]])
    w.add_bos_token_id(BOS)
    w.add_eos_token_id(EOS)
    w.add_eot_token_id(IM_END)
    w.add_pad_token_id(EOS)
    w.add_add_bos_token(True)
    w.add_add_eos_token(False)
    w.add_chat_template(TEMPLATE)

    def add(name, x):
        x = x.detach().numpy().astype(np.float32)
        if x.ndim == 1:
            w.add_tensor(name, x)
        elif a.type == "f16":
            w.add_tensor(name, x.astype(np.float16))
        else:
            q = gguf.GGMLQuantizationType.Q8_0
            w.add_tensor(name, quantize(x, q), raw_dtype=q)

    add("token_embd.weight", m.embed.weight)
    for i, b in enumerate(m.blocks):
        p = f"blk.{i}."
        add(p + "attn_norm.weight", b.n1.weight)
        add(p + "attn_q.weight", torch.from_numpy(permute(b.q.weight.detach().numpy(), c.heads)))
        add(p + "attn_k.weight", torch.from_numpy(permute(b.k.weight.detach().numpy(), c.kv_heads)))
        add(p + "attn_v.weight", b.v.weight)
        add(p + "attn_output.weight", b.o.weight)
        add(p + "ffn_norm.weight", b.n2.weight)
        add(p + "ffn_gate.weight", b.gate.weight)
        add(p + "ffn_up.weight", b.up.weight)
        add(p + "ffn_down.weight", b.down.weight)
    add("output_norm.weight", m.norm.weight)
    if not c.tied:
        add("output.weight", m.out.weight)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    print(f"{a.out}: step {ck['step']}, {sum(p.numel() for p in m.parameters())} parameters")


if __name__ == "__main__":
    main()
