"""The two Llama models (target and draft) in plain torch; weights are kept in the Hugging Face layout."""
from dataclasses import dataclass, asdict

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    vocab: int = 4096
    dim: int = 256
    layers: int = 6
    heads: int = 8
    kv_heads: int = 4
    head_dim: int = 32
    ffn: int = 640
    ctx: int = 512
    rope_base: float = 10000.0
    eps: float = 1e-5
    tied: bool = False


CONFIGS = {
    "target": Config(layers=5),
    "draft": Config(dim=128, layers=2, heads=4, kv_heads=2, ffn=192, tied=True),
}


def rope_table(cfg, n, dtype=torch.float32):
    """Cosines and sines of positions 0 to n, angles in float64."""
    inv = cfg.rope_base ** (-torch.arange(0, cfg.head_dim, 2, dtype=torch.float64) / cfg.head_dim)
    ang = torch.outer(torch.arange(n, dtype=torch.float64), inv)
    ang = torch.cat([ang, ang], dim=-1)
    return ang.cos().to(dtype), ang.sin().to(dtype)


def rotate(x, cos, sin):
    h = x.shape[-1] // 2
    return x * cos + torch.cat([-x[..., h:], x[..., :h]], dim=-1) * sin


class Norm(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(cfg.dim))
        self.eps = cfg.eps

    def forward(self, x):
        x = x.to(self.weight.dtype)
        return F.rms_norm(x, (x.shape[-1],), self.weight, self.eps)


class Block(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        lin = lambda i, o: nn.Linear(i, o, bias=False)
        self.n1, self.n2 = Norm(cfg), Norm(cfg)
        self.q = lin(cfg.dim, cfg.heads * cfg.head_dim)
        self.k = lin(cfg.dim, cfg.kv_heads * cfg.head_dim)
        self.v = lin(cfg.dim, cfg.kv_heads * cfg.head_dim)
        self.o = lin(cfg.heads * cfg.head_dim, cfg.dim)
        self.gate, self.up, self.down = lin(cfg.dim, cfg.ffn), lin(cfg.dim, cfg.ffn), lin(cfg.ffn, cfg.dim)

    def forward(self, x, cos, sin):
        c = self.cfg
        b, t, _ = x.shape
        h = self.n1(x)
        q = self.q(h).view(b, t, c.heads, c.head_dim).transpose(1, 2)
        k = self.k(h).view(b, t, c.kv_heads, c.head_dim).transpose(1, 2)
        v = self.v(h).view(b, t, c.kv_heads, c.head_dim).transpose(1, 2)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        rep = c.heads // c.kv_heads
        k, v = k.repeat_interleave(rep, 1), v.repeat_interleave(rep, 1)
        a = F.scaled_dot_product_attention(q.to(v.dtype), k.to(v.dtype), v, is_causal=True)
        x = x + self.o(a.transpose(1, 2).reshape(b, t, -1))
        h = self.n2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


@torch.no_grad()
def init_copy(m, alpha=2.0, sharp=5.0, out=8.0):
    """Start with an induction circuit: heads of the first layer look at the token before, heads of the second layer at
    the token that followed the last time. Training is free to change it; without it a short run does not learn to
    copy names."""
    c = m.cfg
    d, hd, half = c.dim, c.head_dim, c.head_dim // 2
    rep = c.heads // c.kv_heads
    scratch = d // 4 // hd * hd
    ident = d - scratch - 1                       # dims of the token's identity, then scratch, then one constant
    E = m.embed.weight
    E[:, ident:d - 1] *= 0.05
    E[:, d - 1] = 1.5
    if not c.tied:                                # the head starts as a small copy of the embedding
        m.out.weight.copy_(E * 0.06)
        m.out.weight[:, ident:] = 0
    theta = c.rope_base ** (-torch.arange(half).float() / half)
    # layer 0: as many key/value heads as fit into the scratch dims
    b = m.blocks[0]
    P = torch.zeros(scratch, d)
    P[:, :ident] = torch.nn.init.orthogonal_(torch.empty(scratch, ident))
    for g in range(scratch // hd):
        rows = slice(g * hd, (g + 1) * hd)
        b.k.weight[rows] = 0
        b.k.weight[g * hd:g * hd + half, d - 1] = sharp
        b.v.weight[rows] = P[rows]
        h = g * rep
        b.q.weight[h * hd:(h + 1) * hd] = 0
        b.q.weight[h * hd:h * hd + half, d - 1] = sharp * theta.cos()
        b.q.weight[h * hd + half:(h + 1) * hd, d - 1] = -sharp * theta.sin()
        for j in range(hd):
            b.o.weight[ident + g * hd + j, h * hd + j] = 1.5
    # layer 1: one query head of each key/value head
    b = m.blocks[1]
    V = torch.zeros(c.kv_heads * hd, d)
    V[:, :ident] = torch.nn.init.orthogonal_(torch.empty(c.kv_heads * hd, ident))
    low = torch.arange(half) >= 6
    low = torch.cat([low, low])
    for g in range(c.kv_heads):
        rows = slice(g * hd, (g + 1) * hd)
        R = torch.nn.init.orthogonal_(torch.empty(hd, scratch)) * low[:, None]
        b.k.weight[rows] = 0
        b.k.weight[rows, ident:d - 1] = alpha * R
        b.v.weight[rows] = V[rows]
        h = g * rep
        b.q.weight[h * hd:(h + 1) * hd] = alpha * R @ P
        b.o.weight[:, h * hd:(h + 1) * hd] = out * V[rows].T


class Llama(nn.Module):
    """The embedding starts with a spread of 1 and the blocks' outputs at zero, so that the identity of the tokens
    stays visible in the residual stream. With a tied head, a small last norm makes up for the large embedding."""

    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.embed = nn.Embedding(cfg.vocab, cfg.dim)
        self.blocks = nn.ModuleList(Block(cfg) for _ in range(cfg.layers))
        self.norm = Norm(cfg)
        nn.init.normal_(self.embed.weight, std=1.0)
        for n, p in self.blocks.named_parameters():
            if n.endswith(("o.weight", "down.weight")):
                nn.init.zeros_(p)
            elif p.dim() == 2:
                nn.init.normal_(p, std=0.7 / p.shape[1] ** 0.5)
        if cfg.tied:
            nn.init.constant_(self.norm.weight, cfg.dim ** -0.5)
        else:
            self.out = nn.Linear(cfg.dim, cfg.vocab, bias=False)
            nn.init.normal_(self.out.weight, std=0.02)
        init_copy(self)
        cos, sin = rope_table(cfg, cfg.ctx)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def body(self, ids):
        t = ids.shape[1]
        x = self.embed(ids)
        cos, sin = self.cos[:t].to(x.dtype), self.sin[:t].to(x.dtype)
        for blk in self.blocks:
            x = blk(x, cos, sin)
        return self.norm(x)

    @property
    def head(self):
        return self.embed.weight if self.cfg.tied else self.out.weight

    def forward(self, ids):
        return F.linear(self.body(ids), self.head)

    def config(self):
        return asdict(self.cfg)


def load(path, dtype=torch.float32):
    """(model, checkpoint) of a file that train.py wrote."""
    ck = torch.load(path, map_location="cpu", weights_only=True)
    m = Llama(Config(**ck["config"]))
    m.load_state_dict(ck["model"])
    return m.to(dtype).eval(), ck
