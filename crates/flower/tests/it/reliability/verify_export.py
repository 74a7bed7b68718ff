"""Checks what `flower log export` wrote, by the formula in flower-core's chain.rs alone: verify_export.py FILE"""
import hashlib
import json
import sys

seq, prev = 0, "0" * 64
for line in open(sys.argv[1], encoding="utf-8", errors="surrogateescape", newline="\n"):
    try:
        e = json.loads(line)
        body = line[line.index('"body":') + 7 : line.rindex(',"hash":"')]  # the stored text, byte for byte
        fields = [prev, seq + 1, e["stream"], e["version"], e["kind"], e["schema"], e["actor"]["type"],
                  e["actor"]["name"], e["door"], e["at"], e["brief"], body]
        text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
        holds = (e["seq"], e["prev"], e["hash"]) == (seq + 1, prev, hashlib.sha256(text.encode()).hexdigest())
    except (ValueError, KeyError, TypeError):
        holds = False
    if not holds:
        sys.exit(f"broken: event {seq + 1}")
    seq, prev = seq + 1, e["hash"]
print(f"whole: {seq} events, {prev}")
