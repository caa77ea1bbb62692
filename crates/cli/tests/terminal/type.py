"""Types into a program on a terminal of its own: python3 type.py PROGRAM ARGUMENT... < STEPS

STEPS is a JSON list of pairs: a text to wait for in the output since the last step, then the text to type. Instead of a text
a step may have an action: a NUL, then "bytes HEX" (typed as they are), "resize ROWS COLUMNS" or "signal NUMBER".
Prints the whole output, then a line with the exit code.
"""

import fcntl, json, os, pty, select, struct, sys, termios, time

steps = json.load(sys.stdin)
child, terminal = pty.fork()
if child == 0:
    os.execv(sys.argv[1], sys.argv[1:])

shown, seen, deadline = b"", 0, time.monotonic() + 60


def more(to_type=b""):
    """Waits for output, or types if the program reads; the number of bytes typed, and false at the end of the output."""
    global shown
    readable, writable, _ = select.select([terminal], [terminal] if to_type else [], [], max(0, deadline - time.monotonic()))
    if readable:
        try:
            part = os.read(terminal, 4096)
        except OSError:
            part = b""
        shown += part
        return 0, part != b""
    if writable:
        # What a terminal takes without waiting.
        return os.write(terminal, to_type[:256]), True
    sys.exit("nothing came after: " + repr(shown[seen:]))


def act(action):
    name, *values = action.split()
    if name == "bytes":
        return bytes.fromhex(values[0])
    if name == "resize":
        rows, columns = map(int, values)
        # The terminal's driver sends SIGWINCH.
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    if name == "signal":
        os.kill(child, int(values[0]))
    return b""


for wanted, typed in steps:
    wanted = wanted.encode()
    while wanted not in shown[seen:]:
        if not more()[1]:
            sys.exit("ended without " + repr(wanted) + " in " + repr(shown[seen:]))
    seen += shown[seen:].index(wanted) + len(wanted)
    left = act(typed[1:]) if typed.startswith("\0") else typed.encode()
    while left:
        left = left[more(left)[0] :]
while more()[1]:
    pass
if not termios.tcgetattr(terminal)[3] & termios.ICANON:
    sys.exit("the terminal is left without the editing of lines: " + repr(shown[seen:]))
sys.stdout.buffer.write(shown)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print("\nexit code", code)
