#!/usr/bin/env python3
"""golden.json, held-out.txt and held-out-ids.json from the GGUF files, with transformers in float64 on the dequantised weights.

    golden.py --target story-5m-q8_0.gguf --draft story-draft-q8_0.gguf --q4 story-5m-q4_k_m.gguf --tokenizer DIR/tokenizer.json \
        --corpus corpus.jsonl --held 1500 --out DIR

transformers computes norms, rope tables and (in the eager path) the softmax in float32; here they run in float64.
"""
import argparse
import json
import os

import gguf
import numpy as np
import torch
import torch.nn as nn
from gguf.quants import dequantize
from tokenizers import Tokenizer
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.models.llama import modeling_llama as ml

from tokenizer import BOS, EOS, IM_END


class Norm64(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.variance_epsilon = eps

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon))


class Rope64(nn.Module):
    def __init__(self, config, device=None):
        super().__init__()
        base = config.rope_parameters["rope_theta"]
        self.inv = base ** (-torch.arange(0, config.head_dim, 2, dtype=torch.float64) / config.head_dim)

    def forward(self, x, position_ids):
        ang = position_ids[..., None].double() * self.inv
        ang = torch.cat([ang, ang], dim=-1)
        return ang.cos().to(x.dtype), ang.sin().to(x.dtype)


ml.LlamaRMSNorm = Norm64
ml.LlamaRotaryEmbedding = Rope64


def unpermute(w, heads):
    """GGUF's rope layout of llama files (pairs) to that of transformers (halves)."""
    return w.reshape(heads, w.shape[0] // heads // 2, 2, w.shape[1]).swapaxes(1, 2).reshape(w.shape)


def load_gguf(path):
    """The file's model in float64, on the dequantised weights."""
    r = gguf.GGUFReader(path)
    f = lambda k: r.fields["llama." + k].contents()
    t = {x.name: torch.from_numpy(np.array(dequantize(x.data, x.tensor_type), dtype=np.float64)) for x in r.tensors}
    heads, kv = f("attention.head_count"), f("attention.head_count_kv")
    cfg = LlamaConfig(vocab_size=t["token_embd.weight"].shape[0], hidden_size=f("embedding_length"), num_hidden_layers=f("block_count"),
                      intermediate_size=f("feed_forward_length"), num_attention_heads=heads, num_key_value_heads=kv,
                      head_dim=f("attention.key_length"), rms_norm_eps=f("attention.layer_norm_rms_epsilon"),
                      rope_parameters={"rope_type": "default", "rope_theta": f("rope.freq_base")},
                      max_position_embeddings=f("context_length"), tie_word_embeddings="output.weight" not in t, attn_implementation="sdpa")
    m = LlamaForCausalLM(cfg).double().eval()
    sd = {"model.embed_tokens.weight": t["token_embd.weight"], "model.norm.weight": t["output_norm.weight"]}
    names = {"attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
             "attn_output": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj",
             "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}
    for i in range(cfg.num_hidden_layers):
        for a, b in names.items():
            x = t[f"blk.{i}.{a}.weight"]
            if a in ("attn_q", "attn_k"):
                x = unpermute(x, heads if a == "attn_q" else kv)
            sd[f"model.layers.{i}.{b}.weight"] = x
    if "output.weight" in t:
        sd["lm_head.weight"] = t["output.weight"]
    missing, extra = m.load_state_dict(sd, strict=False)
    assert not extra and set(missing) <= ({"lm_head.weight"} if cfg.tie_word_embeddings else set()), (missing, extra)
    if cfg.tie_word_embeddings:
        m.tie_weights()
    return m


@torch.no_grad()
def logits_of(m, ids):
    return m(torch.tensor([ids]), use_cache=False).logits[0]


@torch.no_grad()
def greedy(m, prompt, limit, ctx=512):
    """Greedy tokens with the margin between the two best logits at each step; stops at EOS, <|im_end|>, limit or context."""
    out, margins, past, x = [], [], None, prompt
    while len(out) < limit and len(prompt) + len(out) < ctx:
        r = m(torch.tensor([x]), past_key_values=past, use_cache=True)
        past = r.past_key_values
        v, i = r.logits[0, -1].topk(2)
        out.append(i[0].item())
        margins.append(round((v[0] - v[1]).item(), 6))
        if out[-1] in (EOS, IM_END):
            break
        x = out[-1:]
    return out, margins


@torch.no_grad()
def draft_stats(target_tokens, prompts, draft, k=4):
    """Agreement of the draft's arg-max with the target's greedy tokens, and the mean number accepted of k drafted."""
    same = total = accepted = rounds = 0
    for prompt, out in zip(prompts, target_tokens):
        pred = logits_of(draft, (prompt + out)[:-1])[len(prompt) - 1:].argmax(-1).tolist()
        same += sum(a == b for a, b in zip(pred, out))
        total += len(out)
        i = 0
        while i < len(out):
            # the draft sees the target's tokens until the first mismatch, so teacher forcing gives the same count
            n = 0
            while n < k and i + n < len(out) and pred[i + n] == out[i + n]:
                n += 1
            accepted += n
            rounds += 1
            i += n + 1
    return same / total, accepted / rounds


@torch.no_grad()
def beams(m, prompt, n, limit, length_penalty, early):
    """All n hypotheses, best first: score = sum of log-probabilities / (new tokens ** length_penalty)."""
    r = m.generate(torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt), dtype=torch.long), num_beams=n, num_return_sequences=n, do_sample=False,
                   max_new_tokens=limit, length_penalty=length_penalty, early_stopping=early, eos_token_id=[EOS, IM_END], pad_token_id=EOS,
                   return_dict_in_generate=True, output_scores=True)
    out = []
    for row, score in zip(r.sequences.tolist(), r.sequences_scores.tolist()):
        ids = row[len(prompt):]
        for i, t in enumerate(ids):
            if t in (EOS, IM_END):
                ids = ids[:i + 1]
                break
        out.append({"ids": ids, "score": score})
    return out


def nats(m, ids):
    """Minus the log-probability of ids[1:]."""
    lp = logits_of(m, ids[:-1]).log_softmax(-1)
    return -lp.gather(1, torch.tensor(ids[1:])[:, None]).sum().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--target")
    ap.add_argument("--draft")
    ap.add_argument("--tokenizer")
    ap.add_argument("--q4")
    ap.add_argument("--corpus")
    ap.add_argument("--held", type=int, default=1500)
    ap.add_argument("--out")
    a = ap.parse_args()
    torch.set_num_threads(2)
    tk = Tokenizer.from_file(a.tokenizer)
    models = {"target": load_gguf(a.target), "draft": load_gguf(a.draft)}
    enc = lambda s: [BOS] + tk.encode(s, add_special_tokens=False).ids
    ask = lambda *turns: "".join(f"<|im_start|>{r}\n{t}<|im_end|>\n" for r, t in turns) + "<|im_start|>assistant\n"
    story = "Once upon a time, there was a clever fox named Mia. One day Mia found a silver key under a stone."
    prompts = [
        ("story", "Once upon a time"),
        ("story", "One windy day, a little rabbit named Otto took his red kite to the meadow."),
        ("story", "In a small village by the sea, there lived a brave girl named Lily."),
        ("story", "The Lost Ring\n\n"),
        ("chat", ask(("user", "Tell me a story about a fox and a kite."))),
        ("chat", ask(("user", story + " Who found the key?"))),
        ("json", ask(("user", "Describe a fox named Mia as JSON."))),
        ("json", ask(("user", "Invent a hero as JSON."))),
    ]
    g = {"note": "greedy: token ids by arg-max, until <|endoftext|> (0) or <|im_end|> (3, end of turn), 300 tokens or the context of 512; "
                 "margins: best minus second-best logit at each step. held_out: total nats of ids[1:] given ids. "
                 "All on the dequantised Q8_0 weights, transformers, float64.",
         "versions": {"torch": torch.__version__.split("+")[0], "transformers": __import__("transformers").__version__,
                      "gguf": __import__("importlib.metadata").metadata.version("gguf")},
         "greedy": [], "held_out": []}
    pids, outs = [], []
    for kind, p in prompts:
        e = {"kind": kind, "prompt": p, "prompt_ids": enc(p)}
        pids.append(e["prompt_ids"])
        for n, m in models.items():
            ids, mar = greedy(m, e["prompt_ids"], 300)
            e[n] = {"ids": ids, "margins": mar, "text": tk.decode(ids, skip_special_tokens=False)}
        outs.append(e["target"]["ids"])
        g["greedy"].append(e)
    g["beams"] = [{"prompt": p["prompt"], "prompt_ids": p["prompt_ids"], "num_beams": n, "max_new_tokens": limit, "length_penalty": lp, "early_stopping": early,
                   "hypotheses": beams(models["target"], p["prompt_ids"], n, limit, lp, early)}
                  for p, n, limit, lp, early in [(g["greedy"][0], 4, 32, 1.0, False), (g["greedy"][2], 3, 24, 0.6, True), (g["greedy"][5], 4, 40, 1.0, True),
                                                 (g["greedy"][5], 5, 40, 2.0, False), (g["greedy"][7], 4, 60, 0.0, True)]]
    if a.q4:
        models["q4"] = load_gguf(a.q4)
        g["q4"] = [{"prompt_ids": p["prompt_ids"], **dict(zip(("ids", "margins"), greedy(models["q4"], p["prompt_ids"], 300)))} for p in g["greedy"][:3]]
    docs = [json.loads(x) for x in open(a.corpus, encoding="utf-8")][-a.held:]
    i = 0
    while len(g["held_out"]) < 8:
        ids = enc(docs[i]["text"]) + [EOS]
        if 270 <= len(ids) <= 340 and (docs[i]["kind"] == "story" or len(g["held_out"]) % 4 == 3):
            g["held_out"].append({"kind": docs[i]["kind"], "ids": ids, **{n: nats(m, ids) for n, m in models.items()}})
        i += 1
    for n in models:
        g[n + "_nats_per_token_held_out"] = sum(d[n] for d in g["held_out"]) / sum(len(d["ids"]) - 1 for d in g["held_out"])
    same, acc = draft_stats(outs, pids, models["draft"])
    g["draft"] = {"agreement_golden_prompts": same, "mean_accepted_of_4_golden_prompts": acc}
    # the same over 40 other prompts: the first 12 tokens of held-out stories
    more = [enc(d["text"])[:12] for d in docs[200:] if d["kind"] == "story"][:40]
    mo = [greedy(models["target"], p, 300)[0] for p in more]
    same, acc = draft_stats(mo, more, models["draft"])
    g["draft"].update(agreement_40_stories=same, mean_accepted_of_4_40_stories=acc,
                      stories_that_end=sum(o[-1] == EOS for o in mo), median_tokens=sorted(map(len, mo))[20])
    json.dump(g, open(os.path.join(a.out, "golden.json"), "w"))
    # text and windows for perplexity
    text, rows, row = "", [], []
    for d in docs[400:]:
        if d["kind"] == "story" and len(text) < 60000:
            text += d["text"] + "\n<|endoftext|>\n"
            row += enc(d["text"]) + [EOS]
    open(os.path.join(a.out, "held-out.txt"), "w", encoding="utf-8").write(text)
    rows = [row[i:i + 512] for i in range(0, len(row) - 511, 512)]
    w = {"note": "the documents of held-out.txt as BOS text EOS, cut into windows of 512 ids; nats of ids[1:] of each window, float64",
         "windows": rows, **{n: [nats(m, r) for r in rows] for n, m in models.items()}}
    json.dump(w, open(os.path.join(a.out, "held-out-ids.json"), "w"))
    for k, v in g.items():
        if not isinstance(v, (list, str)):
            print(k, v)
    print("windows:", len(rows), {n: sum(w[n]) / (511 * len(rows)) for n in models})
    for e in g["greedy"]:
        print(repr(e["prompt"]), "->", e["target"]["text"], len(e["target"]["ids"]), "min margin", min(e["target"]["margins"]))


if __name__ == "__main__":
    main()
