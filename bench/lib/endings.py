# SPDX-License-Identifier: LGPL-2.1-or-later
"""The ways that somebody ends a run: each of them unwinds, so that everything is left as it was."""
import contextlib
import os
import signal
import sys

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def end(number, _):
    """The first of them. Those that follow change nothing: what is held is being given back, and
    whatever that waits for has its limit. Not SIG_IGN, which programs would inherit."""
    for other in SIGNALS:
        signal.signal(other, lambda *_: None)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    sys.exit(128 + number)


def unwind():
    """From now on. A shell's background process, for one, ignores ^C until then."""
    for number in SIGNALS:
        signal.signal(number, end)


@contextlib.contextmanager
def put_off():
    """None of them until the block is over: what it gives back is given back whole."""
    pending = []
    before = {number: signal.signal(number, lambda number, _: pending.append(number))
              for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in pending[:1]:
            os.kill(os.getpid(), number)


def behind(error):
    """The ending that an exception hides, which was raised while that was unwinding; or None."""
    while error and not isinstance(error, (KeyboardInterrupt, SystemExit)):
        error = error.__context__
    return error
