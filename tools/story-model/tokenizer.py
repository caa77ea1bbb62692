#!/usr/bin/env python3
"""Train the byte-level BPE (4,096 tokens) and pack the corpus into rows of 513 token ids.

    tokenizer.py --corpus corpus.jsonl --out DIR

The last `held` documents are held out. Rows hold whole documents (BOS text EOS), best fit; the rest of a row takes
the beginning of another document, or PAD.
"""
import argparse
import json
import os

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

SPECIAL = ["<|endoftext|>", "<|startoftext|>", "<|im_start|>", "<|im_end|>"]
EOS, BOS, IM_START, IM_END = range(4)
PAD, ROW, VOCAB = 65535, 513, 4096


def train(texts):
    """A byte-level BPE as GPT-2's, with the special tokens first."""
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=VOCAB, special_tokens=SPECIAL, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False))
    return t


def pack(docs):
    """Best fit: documents in order go into the open row with the least room that still holds them."""
    rows, open_rows = [], {}
    for d in docs:
        n = len(d)
        fit = min((r for r in open_rows if r >= n), default=None)
        if fit is None:
            row, room = [], ROW
        else:
            row, room = open_rows[fit].pop(), fit
            if not open_rows[fit]:
                del open_rows[fit]
        if not row:
            rows.append(row)
        row.extend(d)
        if room - n >= 24:
            open_rows.setdefault(room - n, []).append(row)
        if sum(map(len, open_rows.values())) > 2000:
            k = min(open_rows)
            open_rows[k].pop(0)
            if not open_rows[k]:
                del open_rows[k]
    # the rest of a row takes the beginning of another document
    i = 0
    for r in rows:
        if ROW - len(r) >= 48:
            r.extend(docs[i % len(docs)][:ROW - len(r)])
            i += 7
    a = np.full((len(rows), ROW), PAD, dtype=np.uint16)
    for i, r in enumerate(rows):
        a[i, :len(r)] = r
    return a


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--corpus")
    ap.add_argument("--out")
    ap.add_argument("--held", type=int, default=1500)
    ap.add_argument("--sample", type=int, default=12000, help="documents that train the tokenizer")
    ap.add_argument("--tokenizer", help="use this tokenizer.json instead of training one")
    a = ap.parse_args()
    os.makedirs(a.out, exist_ok=True)
    texts = [json.loads(line)["text"] for line in open(a.corpus, encoding="utf-8")]
    cut = len(texts) - a.held
    t = Tokenizer.from_file(a.tokenizer) if a.tokenizer else train(x.replace("<|im_start|>", "").replace("<|im_end|>", "") for x in texts[:min(cut, a.sample)])
    t.save(os.path.join(a.out, "tokenizer.json"))
    chars = tokens = long = 0
    for name, part in (("train", texts[:cut]), ("held", texts[cut:])):
        docs = []
        for i in range(0, len(part), 4096):
            for e in t.encode_batch(part[i:i + 4096], add_special_tokens=False):
                d = [BOS] + e.ids + [EOS]
                tokens += len(d)
                if len(d) <= ROW:
                    docs.append(d)
                else:
                    long += 1
        chars += sum(map(len, part))
        rows = pack(docs)
        np.save(os.path.join(a.out, name + ".npy"), rows)
        print(f"{name}: {len(docs)} documents, {len(rows)} rows, {(rows != PAD).mean():.3f} full, "
              f"longest {max(map(len, docs))}, median {sorted(map(len, docs))[len(docs) // 2]}")
    print(f"{chars / tokens:.2f} characters a token, {long} documents longer than a row left out, vocabulary {t.get_vocab_size()}")


if __name__ == "__main__":
    main()
