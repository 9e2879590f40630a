"""The least a Starlette application can do with a body: send it back. Runs as `beliefd serve` runs."""

import asyncio

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from beliefd.cli.server import bind, loop_factory, url_of, uvicorn_settings


async def echo(request: Request) -> Response:
    return Response(await request.body(), media_type="application/json")


def main() -> None:
    listener = bind("127.0.0.1", 0)
    app = Starlette(routes=[Route("/", echo, methods=["POST"])])
    server = uvicorn.Server(uvicorn.Config(app, **uvicorn_settings()))
    print(f"echo is listening on {url_of(listener, '127.0.0.1')}", flush=True)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(server.serve(sockets=[listener]))


if __name__ == "__main__":
    main()
