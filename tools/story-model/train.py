#!/usr/bin/env python3
"""Train the target or the draft on the CPU.

    train.py target --data DIR --out target.pt --steps 4500
    train.py draft  --data DIR --out draft.pt  --steps 2000 --lr 4e-3 --teacher target.pt

DIR holds what tokenizer.py wrote: train.npy and held.npy, rows of 513 token ids (uint16), whole documents packed
into rows, every row starting with BOS; PAD (65535) marks the unused end of a row.
"""
import argparse
import math
import os
import time

import numpy as np
import torch
import torch.nn.functional as F

from model import CONFIGS, Llama, load

PAD = 65535


def rows_to(t):
    """Inputs and targets of rows; targets of the padding are -100, which the loss leaves out."""
    t = torch.from_numpy(t.astype(np.int64))
    x, y = t[:, :-1].clone(), t[:, 1:].clone()
    x[x == PAD] = 0
    y[y == PAD] = -100
    return x, y


def copy_row(rng, vocab, n):
    """A row that can only be predicted by copying: a few random phrases that come again in random order. Some hundred
    of these at the start teach the model to look back; without them it takes very long to learn to repeat names."""
    phrases = [rng.integers(4, vocab, rng.integers(3, 13)) for _ in range(rng.integers(4, 13))]
    x, y, seen = [], [], set()
    while len(x) <= n:
        k = int(rng.integers(len(phrases)))
        p = phrases[k].tolist()
        x += p
        y += [-100] + (p[1:] if k in seen else [-100] * (len(p) - 1))
        seen.add(k)
    return x[:n], y[1:n + 1]


def loss_of(model, x, y, bf16, teacher=None, alpha=0.5, chunk=1024):
    """Mean cross-entropy; with a teacher, alpha of it plus (1 - alpha) of the cross-entropy with the teacher's
    distribution. The head runs in chunks, so that no allocation is large."""
    with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
        h = model.body(x).reshape(-1, model.cfg.dim)
        y = y.reshape(-1)
        if teacher is not None:
            with torch.no_grad():
                g = teacher.body(x).reshape(-1, teacher.cfg.dim)
        n = (y != -100).sum()
        total = 0.0
        hard = 0.0
        for i in range(0, len(y), chunk):
            lg = F.linear(h[i:i + chunk], model.head).float()
            yc = y[i:i + chunk]
            ce = F.cross_entropy(lg, yc, ignore_index=-100, reduction="sum")
            hard = hard + ce.detach()
            if teacher is None:
                total = total + ce
            else:
                with torch.no_grad():
                    p = F.linear(g[i:i + chunk], teacher.head).float().softmax(-1)
                keep = (yc != -100).float()
                soft = -((p * lg.log_softmax(-1)).sum(-1) * keep).sum()
                total = total + alpha * ce + (1 - alpha) * soft
    return total / n, hard / n


@torch.no_grad()
def held_loss(model, held, bf16, n=64, batch=8):
    """Nats a token over the first n held-out rows."""
    s = c = 0.0
    for i in range(0, min(n, len(held)), batch):
        x, y = rows_to(held[i:i + batch])
        k = (y != -100).sum().item()
        s += loss_of(model, x, y, bf16)[1].item() * k
        c += k
    return s / c


def optimiser(model, lr, wd):
    """No weight decay on the embedding and the norms."""
    named = list(model.named_parameters())
    two = [p for n, p in named if p.dim() == 2 and n != "embed.weight"]
    one = [p for n, p in named if p.dim() != 2 or n == "embed.weight"]
    return torch.optim.AdamW([{"params": two, "weight_decay": wd}, {"params": one, "weight_decay": 0.0}],
                             lr=lr, betas=(0.9, 0.98), eps=1e-8, fused=True)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("which", choices=list(CONFIGS))
    ap.add_argument("--data", required=True)
    ap.add_argument("--out", required=True)
    ap.add_argument("--steps", type=int, default=7000)
    ap.add_argument("--batch", type=int, default=4)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--wd", type=float, default=0.1)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--fp32", action="store_true", help="without bfloat16 in the matrix products")
    ap.add_argument("--threads", type=int, default=2)
    ap.add_argument("--teacher", help="checkpoint whose distribution the draft learns")
    ap.add_argument("--alpha", type=float, default=0.5, help="weight of the text against the teacher")
    ap.add_argument("--save-every", type=float, default=180.0, help="seconds between checkpoints")
    ap.add_argument("--copy-steps", type=int, default=400, help="steps in which some rows only teach copying")
    ap.add_argument("--copy-rows", type=int, default=1)
    a = ap.parse_args()
    torch.set_num_threads(a.threads)
    torch.set_flush_denormal(True)
    torch.manual_seed(a.seed)
    cfg = CONFIGS[a.which]
    bf16 = not a.fp32
    train = np.load(os.path.join(a.data, "train.npy"), mmap_mode="r")
    held = np.load(os.path.join(a.data, "held.npy"))
    model = Llama(cfg)
    opt = optimiser(model, a.lr, a.wd)
    step, used = 0, 0.0
    if os.path.exists(a.out + ".state"):
        ck = torch.load(a.out + ".state", weights_only=True)
        model.load_state_dict(ck["model"])
        opt.load_state_dict(ck["opt"])
        step, used = ck["step"], ck["seconds"]
        print(f"resumed at step {step}", flush=True)
    teacher = None
    if a.teacher:
        teacher, _ = load(a.teacher)
        teacher.requires_grad_(False)
    print(f"{a.which}: {sum(p.numel() for p in model.parameters()) / 1e6:.3f} M parameters, {len(train)} rows, "
          f"{a.steps} steps of {a.batch} rows", flush=True)

    def save():
        ck = {"config": model.config(), "model": model.state_dict(), "step": step, "seconds": used}
        torch.save(ck, a.out + ".tmp")
        os.replace(a.out + ".tmp", a.out)
        ck["opt"] = opt.state_dict()
        torch.save(ck, a.out + ".state.tmp")
        os.replace(a.out + ".state.tmp", a.out + ".state")

    order, epoch = None, -1
    warm = min(100, a.steps // 20)
    last_save = time.time()
    acc = []
    while step < a.steps:
        t0 = time.time()
        e, i = divmod(step * a.batch, len(train) // a.batch * a.batch)
        if e != epoch:
            epoch, order = e, np.random.default_rng([a.seed, e]).permutation(len(train))
        x, y = rows_to(train[np.sort(order[i:i + a.batch])])
        if step < a.copy_steps:
            rng = np.random.default_rng([a.seed, 7, step])
            for r in range(a.copy_rows):
                cx, cy = copy_row(rng, cfg.vocab, x.shape[1])
                x[r], y[r] = torch.tensor(cx), torch.tensor(cy)
        f = (step + 1) / warm if step < warm else \
            0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * (step - warm) / (a.steps - warm)))
        for g in opt.param_groups:
            g["lr"] = a.lr * f
        loss, hard = loss_of(model, x, y, bf16, teacher, a.alpha)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.zero_grad(set_to_none=True)
        acc.append(hard.item())
        step += 1
        used += time.time() - t0
        if step % 50 == 0:
            print(f"step {step} loss {sum(acc) / len(acc):.4f} lr {a.lr * f:.2e} {used:.0f} s", flush=True)
            acc = []
        if step % 500 == 0 or step == a.steps:
            print(f"step {step} held-out {held_loss(model, held, bf16):.4f}", flush=True)
        if time.time() - last_save > a.save_every or step == a.steps:
            save()
            last_save = time.time()
    print(f"done: {used:.0f} s, held-out (fp32, {len(held)} rows) {held_loss(model, held, False, len(held)):.4f}")


if __name__ == "__main__":
    main()
