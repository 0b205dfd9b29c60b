# SPDX-License-Identifier: Apache-2.0
"""What a launch gives, and launches that were started and are not waited for yet."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from godwit import _native

POLL_CYCLES = 1000
"""Cycles that `Launch.done` lets pass."""


class LaunchResult:
    """What a launch gave; the kernel's results are attributes.

    cycles: from start to interrupt, as the card saw them; time_ps: the virtual time of these; start_cycle, end_cycle: when
    that was. polled: the kernel has no interrupt, so that its end is when it was asked. stats: what happened meanwhile, under
    the names of `Card.stats`: bursts and bytes of reads, writes and host accesses are the kernel's own, the rest is
    the card's, with what other kernels did.
    """

    def __init__(
        self,
        kernel: str,
        cycles: int,
        time_ps: int,
        results: Mapping[str, int],
        stats: Mapping[str, int],
        *,
        start_cycle: int = 0,
        end_cycle: int = 0,
        polled: bool = False,
    ) -> None:
        self.kernel = kernel
        self.cycles = cycles
        self.time_ps = time_ps
        self.results = dict(results)
        self.stats = dict(stats)
        self.start_cycle = start_cycle
        self.end_cycle = end_cycle
        self.polled = polled

    @classmethod
    def of(cls, kernel: str, done: Mapping[str, Any]) -> LaunchResult:
        """The same from what the native module gives."""
        return cls(
            kernel,
            done["cycles"],
            done["time_ps"],
            done["results"],
            done["stats"],
            start_cycle=done["start_cycle"],
            end_cycle=done["end_cycle"],
            polled=done["polled"],
        )

    def __getattr__(self, name: str) -> int:
        results = self.__dict__.get("results", {})
        if name in results:
            return results[name]
        raise AttributeError(f"no result '{name}' of a launch; it has {', '.join(results) or 'none'}")

    def __repr__(self) -> str:
        results = " ".join(f"{name}={value}" for name, value in self.results.items())
        return f"<godwit.LaunchResult {self.kernel} {self.cycles} cycles {results}>"


class Launch:
    """A kernel at work, or waiting behind launches of the same kernel that came before; `Card.start` makes it.

    A future like those of `concurrent.futures`, and awaitable. The card's clock runs while somebody waits: in `result`,
    `exception`, `wait` or an ``await``, or for a callback; otherwise it stands, so that what one thread
    measures is the same in every run. A launch that is dropped is cancelled; its buffers live until it has ended.
    """

    def __init__(self, kernel: str, native: _native.Launch, arguments: object = ()) -> None:
        """arguments: whose memory the kernel works on; they are let go with the result."""
        self.kernel = kernel
        self.native = native
        self._arguments = arguments
        self._lock = threading.Lock()
        self._taken = False
        self._result: LaunchResult | None = None
        self._error: Exception | None = None
        self._cancelled = False

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for the end, for at most `timeout` seconds; whether it came. Ctrl-C ends the wait, not the launch."""
        return self.native.wait(timeout)

    def result(self, timeout: float | None = None) -> LaunchResult:
        """What the launch gave, when it has ended; raises what `Card.launch` would.

        timeout: seconds; raises TimeoutError when they are over, and the launch goes on. Raises CancelledError (of
        `concurrent.futures`) when it was cancelled.
        """
        error = self.exception(timeout)
        if error is not None:
            raise error
        assert self._result is not None
        return self._result

    def exception(self, timeout: float | None = None) -> Exception | None:
        """What `result` would raise, or None; waits for the end as `result` does."""
        if not self.native.wait(timeout):
            raise TimeoutError(f"kernel `{self.kernel}` is not done after {timeout} s; it goes on")
        self._take()
        if self._cancelled:
            raise concurrent.futures.CancelledError(f"the launch of kernel `{self.kernel}` was cancelled")
        return self._error

    def done(self) -> bool:
        """Whether it has ended. Asking lets 1,000 cycles pass, so that a loop that asks comes to an end."""
        return self.native.ended or self.native.poll(POLL_CYCLES)

    def running(self) -> bool:
        """Whether it has not ended, in a queue or at work; no time passes."""
        return not self.native.ended

    def cancelled(self) -> bool:
        """Whether `cancel` ended it."""
        return self._cancelled

    def cancel(self) -> bool:
        """Stops the kernel, or takes the launch out of the queue; False when it had ended before.

        Raises HangError when the kernel does not stop: the card must be opened again to use it.
        """
        with self._lock:
            if self.native.ended:
                return self._cancelled
            self._cancelled = True
            stopped = self.native.cancel()
        if not stopped:
            from godwit.errors import HangError

            raise HangError(
                f"kernel `{self.kernel}` was cancelled and does not stop: open the card again to use it"
            )
        return True

    def add_done_callback(self, call: Callable[[Launch], object]) -> None:
        """Has ``call(launch)`` called at the end, on a thread of its own; here and now when it has ended. It may use the card."""
        self.native.on_end(lambda: call(self))

    def __await__(self) -> Generator[Any, None, LaunchResult]:
        return self._awaited().__await__()

    async def _awaited(self) -> LaunchResult:
        loop = asyncio.get_running_loop()
        ended = loop.create_future()

        def wake() -> None:
            if not ended.done():
                ended.set_result(None)

        def at_end(_: Launch) -> None:
            # A loop that was closed meanwhile has nobody who waits.
            if not loop.is_closed():
                loop.call_soon_threadsafe(wake)

        self.add_done_callback(at_end)
        try:
            await ended
        except asyncio.CancelledError:
            self.cancel()
            raise
        return self.result()

    def _take(self) -> None:
        """Keeps what came of it, which the native launch gives once."""
        with self._lock:
            if self._taken:
                return
            self._taken = True
            self._arguments = ()
            try:
                self._result = LaunchResult.of(self.kernel, self.native.take())
            except Exception as error:
                self._error = with_result(error, self.kernel)

    def __repr__(self) -> str:
        state = "cancelled" if self._cancelled else "ended" if self.native.ended else "running"
        return f"<godwit.Launch {self.kernel} {state}>"


def with_result(error: Exception, kernel: str) -> Exception:
    """An error of the native module; a StatusError with what its kernel did as `result`."""
    done = getattr(error, "completion", None)
    if isinstance(done, dict):
        error.result = LaunchResult.of(kernel, done)  # type: ignore[attr-defined]
    return error
