"""llama.cpp behind the line protocol of `cargo xtask bench` (xtask/src/bench/protocol.rs), through the low-level API of
llama-cpp-python. Timed is what llama-bench times: `llama_decode` and `llama_synchronize`, random tokens, nothing drawn.
"""

import argparse
import ctypes
import json
import os
import random
import sys
import time

import numpy
from llama_cpp import llama_cpp as api

LOAD_MODES = {"none": api.LLAMA_LOAD_MODE_NONE, "mmap": api.LLAMA_LOAD_MODE_MMAP}
FLASH = {
    "auto": api.LLAMA_FLASH_ATTN_TYPE_AUTO,
    "on": api.LLAMA_FLASH_ATTN_TYPE_ENABLED,
    "off": api.LLAMA_FLASH_ATTN_TYPE_DISABLED,
}
# llama-bench's.
BATCH, UBATCH = 2048, 512


@api.llama_log_callback
def silent(_level, _text, _data):
    pass


class Peer:
    def __init__(self, options):
        self.sequences, self.depth = options.sequences, 0
        self.states = options.states and f"{options.states}-{options.flash}"
        api.llama_log_set(silent, ctypes.c_void_p(0))
        api.llama_backend_init()
        wanted = api.llama_model_default_params()
        wanted.n_gpu_layers = 0
        wanted.use_extra_bufts = options.repack
        wanted.load_mode = LOAD_MODES[options.load]
        self.model = api.llama_model_load_from_file(options.model.encode(), wanted)
        if not self.model:
            sys.exit(f"{options.model}: llama.cpp does not load it")
        context = api.llama_context_default_params()
        # Sequences have caches of their own, as by default; each takes a multiple of 256 positions.
        context.n_ctx = options.context * options.sequences
        context.n_seq_max = options.sequences
        context.n_batch, context.n_ubatch = BATCH, UBATCH
        context.n_threads = context.n_threads_batch = options.threads
        context.flash_attn_type = FLASH[options.flash]
        context.no_perf = True
        self.context = api.llama_init_from_model(self.model, context)
        if not self.context:
            sys.exit(f"{options.model}: llama.cpp makes no context of {context.n_ctx} positions")
        self.memory = api.llama_get_memory(self.context)
        self.vocab = api.llama_vocab_n_tokens(api.llama_model_get_vocab(self.model))
        self.tokens = random.Random(1)
        self.step = api.llama_batch_init(max(self.sequences, UBATCH), 0, 1)

    def batch(self, rows):
        """`rows`: (sequence, position, whether logits are wanted)."""
        self.step.n_tokens = len(rows)
        for row, (sequence, position, logits) in enumerate(rows):
            self.step.token[row] = self.tokens.randrange(self.vocab)
            self.step.pos[row] = position
            self.step.n_seq_id[row] = 1
            self.step.seq_id[row][0] = sequence
            self.step.logits[row] = logits
        return self.step

    def run(self, batch):
        """Nanoseconds of one call."""
        start = time.perf_counter_ns()
        status = api.llama_decode(self.context, batch)
        api.llama_synchronize(self.context)
        took = time.perf_counter_ns() - start
        if status:
            raise RuntimeError(f"llama_decode returned {status}")
        return took

    def feed(self, sequence, begin, end):
        """Nanoseconds for the positions from `begin` to `end` of a sequence, logits for the last."""
        took = 0
        for at in range(begin, end, UBATCH):
            stop = min(at + UBATCH, end)
            took += self.run(self.batch([(sequence, p, p + 1 == end) for p in range(at, stop)]))
        return took

    def fill(self, depth):
        api.llama_memory_clear(self.memory, False)
        self.depth = depth
        for sequence in range(self.sequences if depth else 0):
            if not self.restore(sequence):
                self.feed(sequence, 0, depth)
                self.keep(sequence)
        return {"depth": depth}

    def kept(self):
        """The file for the cache of a sequence at this depth: filling it takes up to a minute, and what is in it is alike to the
        speed. Values lie in another order without flash attention."""
        return None if self.states is None else f"{self.states}-{self.depth}".encode()

    def restore(self, sequence):
        path, count = self.kept(), ctypes.c_size_t()
        if path is None or not os.path.exists(path):
            return False
        room = (api.llama_token * 1)()
        return api.llama_state_seq_load_file(self.context, path, sequence, room, 1, ctypes.byref(count)) > 0

    def keep(self, sequence):
        if self.kept() is not None:
            api.llama_state_seq_save_file(self.context, self.kept(), sequence, (api.llama_token * 1)(), 0)

    def decode(self, milliseconds):
        for sequence in range(self.sequences):
            api.llama_memory_seq_rm(self.memory, sequence, self.depth, -1)
        steps = took = last = 0
        while not steps or took + last <= milliseconds * 1_000_000:
            last = self.run(self.batch([(s, self.depth + steps, True) for s in range(self.sequences)]))
            took += last
            steps += 1
        return {"tokens": steps * self.sequences, "ns": took}

    def prompt(self, tokens):
        api.llama_memory_clear(self.memory, False)
        self.depth = 0
        took = self.feed(0, 0, tokens)
        api.llama_memory_clear(self.memory, False)
        return {"tokens": tokens, "ns": took}

    def first(self, tokens):
        """A prompt and the most probable token after it."""
        api.llama_memory_clear(self.memory, False)
        self.depth = 0
        start = time.perf_counter_ns()
        self.feed(0, 0, tokens)
        logits = numpy.ctypeslib.as_array(api.llama_get_logits_ith(self.context, -1), (self.vocab,))
        return {"token": int(logits.argmax()), "ns": time.perf_counter_ns() - start}

    def peak(self):
        with open("/proc/self/status") as status:
            kib = next(line.split()[1] for line in status if line.startswith("VmHWM:"))
        return {"peak_bytes": int(kib) * 1024}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sequences", type=int, default=1)
    parser.add_argument("--context", type=int, default=1024, help="positions a sequence")
    parser.add_argument("--repack", type=int, choices=(0, 1), default=1)
    parser.add_argument("--load", choices=LOAD_MODES, default="mmap")
    parser.add_argument("--flash", choices=FLASH, default="auto")
    parser.add_argument("--states", help="where filled caches are kept: begin of the files' names, one for a model")
    options = parser.parse_args()

    start = time.perf_counter_ns()
    peer = Peer(options)
    loaded = time.perf_counter_ns() - start
    system = api.llama_print_system_info().decode().strip()
    answers = {"fill": peer.fill, "decode": peer.decode, "prompt": peer.prompt, "first": peer.first, "peak": peer.peak}
    print(json.dumps({"load_ns": loaded, "system": system}), flush=True)
    for line in sys.stdin:
        name, *arguments = line.split()
        if name == "quit":
            break
        try:
            answer = answers[name](*map(int, arguments))
        except (KeyError, RuntimeError, TypeError, ValueError) as error:
            answer = {"error": f"{line.strip()}: {error!r}"}
        print(json.dumps(answer), flush=True)


main()
