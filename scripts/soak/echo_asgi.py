"""An origin of the chaos soak, for Hypercorn. `echo.mjs` says what its responses are."""

import json
import random

# As many bytes of a POST's body name it.
TAG_LENGTH = 9

posts = {}
twice = []


def touch(tag):
    posts[tag] = posts.get(tag, 0) + 1
    # `P`: never to be taken twice.
    if posts[tag] > 1 and tag.startswith("P"):
        twice.append(tag)


async def respond(send, body):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


async def echo(receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    tag = ""
    more = True
    while more:
        event = await receive()
        if event["type"] != "http.request":
            return
        body, more = event.get("body", b""), event.get("more_body", False)
        if len(tag) < TAG_LENGTH:
            tag += body[: TAG_LENGTH - len(tag)].decode("latin1")
            if len(tag) == TAG_LENGTH:
                touch(tag)
        await send({"type": "http.response.body", "body": body, "more_body": more})


async def app(scope, receive, send):
    if scope["type"] == "http" and scope["path"] == "/tally":
        await respond(send, json.dumps({"posts": len(posts), "twice": twice}).encode())
    elif scope["type"] == "http" and scope["method"] == "POST":
        await echo(receive, send)
    elif scope["type"] == "http":
        size = random.randint(10, random.choice([300] * 8 + [20_000, 200_000]))
        await respond(send, f"{size}:".ljust(size, "h").encode())
