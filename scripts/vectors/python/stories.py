"""What both encoders share: header lists come in on standard input, and go out with their blocks."""

import json
import sys


def encode_all(start):
    """`start()` begins a connection. It returns a function of a list of (name, value, is_sensitive) and of the table's new size."""
    stories = json.load(sys.stdin)
    for at, story in enumerate(stories):
        sensitive = story.get("sensitive", [])
        encode = start(at)
        for case in story["cases"]:
            # JSON has characters: one for each octet.
            fields = [(name.encode("latin-1"), value.encode("latin-1"), name in sensitive) for name, value in case["headers"]]
            case["wire"] = encode(fields, case.get("header_table_size")).hex()
    json.dump(stories, sys.stdout, ensure_ascii=False, separators=(",", ":"))
