"""How the provider process answers: in time, late, never, or with a connection that ends."""

from __future__ import annotations

import asyncio
import math

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from labkit.provider import wire


class Answer(Response):
    """A JSON answer whose head says whether an order was executed, and whose body may be some `seconds` late.

    An answer that never comes (infinite `seconds`) has its head only if the order was executed, and ends when the
    caller has left; with `cut` the connection ends after the head.
    """

    media_type = "application/json"

    def __init__(
        self,
        content: bytes,
        status: int = 200,
        *,
        executed: bool = False,
        seconds: float = 0.0,
        cut: bool = False,
    ) -> None:
        super().__init__(content, status, {wire.EXECUTED_HEADER: "1"} if executed else None)
        self._executed, self._seconds, self._cut = executed, seconds, cut

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the head, wait, send the body."""
        never = self._seconds == math.inf
        if self._executed or not never:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        if never:
            while (await receive())["type"] != "http.disconnect":
                pass
        if never or self._cut:
            return
        if self._seconds:
            await asyncio.sleep(self._seconds)
        await send({"type": "http.response.body", "body": self.body})
