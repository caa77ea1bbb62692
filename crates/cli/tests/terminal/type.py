"""Types into a program on a terminal of its own: python3 type.py STEPS PROGRAM ARGUMENT...

STEPS is a JSON list of pairs: a text to wait for in what the program has shown since the last step, then what is typed.
Prints everything that was shown, then a line with the exit code.
"""

import json, os, pty, select, sys, time

steps = json.loads(sys.argv[1])
child, terminal = pty.fork()
if child == 0:
    os.execv(sys.argv[2], sys.argv[2:])

shown, seen, deadline = b"", 0, time.monotonic() + 60


def more():
    """What the program shows next; false at its end."""
    global shown
    if not select.select([terminal], [], [], max(0, deadline - time.monotonic()))[0]:
        sys.exit("nothing came after: " + repr(shown[seen:]))
    try:
        part = os.read(terminal, 4096)
    except OSError:
        part = b""
    shown += part
    return part != b""


for wanted, typed in steps:
    wanted = wanted.encode()
    while wanted not in shown[seen:]:
        if not more():
            sys.exit("ended without " + repr(wanted) + " in " + repr(shown[seen:]))
    seen += shown[seen:].index(wanted) + len(wanted)
    os.write(terminal, typed.encode())
while more():
    pass
sys.stdout.buffer.write(shown)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print("\nexit code", code)
