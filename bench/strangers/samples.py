"""What strangers may give: a good sample of each kind, what is mutated, and texts that somebody made to hurt."""

import io
import json
import zlib
from collections.abc import Mapping
from typing import Final

SIZE: Final = 200_000
"""Characters of the texts that repeat one thing, where that fits what a door takes."""

DIFF: Final = """\
diff --git a/src/pay.py b/src/pay.py
index 83db48f..bf2a1c5 100644
--- a/src/pay.py
+++ b/src/pay.py
@@ -1,4 +1,6 @@ def charge(amount):
 import os
-    return bank.charge(amount)
+    if amount <= 0:
+        raise ValueError("nothing to charge")
+    return bank.charge(amount, key=os.environ["KEY"])

 def refund(amount):
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
diff --git "a/caf\\303\\251.txt" "b/caf\\303\\251.txt"
new file mode 100644
--- /dev/null
+++ "b/caf\\303\\251.txt"
@@ -0,0 +1 @@
+au lait
\\ No newline at end of file
"""
PAGE: Final = """\
<!doctype html><html><head><title>Lease &amp; rent</title><style>p{color:red}</style></head>
<body><h1>Rent</h1><p>The rent is <b>40,000</b>&nbsp;euros.<br>Notice: 90 days.</p>
<script>if (a < b) { document.write("<p>no</p>") }</script><!-- not for readers -->
<ul><li>One<li>Two &#8212; three</ul><table><tr><td>1</td><td>2 &lt; 3</td></tr></table></body></html>
"""
MARKDOWN: Final = """\
# Minutes

## Decision

**Keep Postgres.** "The rent is 40,000 euros." (notes.md:2)

- [ ] Ruth: a dry run by Friday
- Sam: `pg_dump --jobs 4`

| who | what |
|---|---|
| Ada | for |

```python
def keep() -> None: ...
```

> quoted
"""
PANEL: Final = """\
title = "A board"
[[seat]]
id = "ada"
platform = "openai:gpt-5"
instructions = "You know databases."
[[seat]]
id = "bob"
platform = "mailbox"
weight = 2.0
"""
IGNORE: Final = (
    "*.log\n!keep.log\n/build/\ndocs/**/draft?.md\n[a-c]*.t[!x]t\n\\#odd\\ \n# a comment\n"
)
ANSWER: Final = (
    "Here is my answer:\n```json\n"
    + json.dumps(
        {
            "text": "Keep the cache: it halves the waiting time.",
            "confidence": 0.8,
            "reasons": [{"text": "It was measured.", "entries": [1]}],
        },
        indent=1,
    )
    + "\n```\nI hope that helps."
)
QUOTING: Final = (
    'The lease says "The rent is 40,000 euros a month and is due on the third" (lease.md:2). '
    "According to lease.md:4 notice is 90 days; `charge(amount)` in pay.py:12-14 is idempotent. “Notice … ninety days”."
)
LEASE: Final = (
    "Lease\nThe rent is 40,000 euros a month and is due on the third working day.\n\n"
    "Notice is to be given ninety days before the end of a quarter.\n"
    + "A line of no interest.\n"
    * 40
)
RESULT: Final = json.dumps({"rows": [{"id": 1, "text": "The rent is 40,000."}] * 5})
PICTURE: Final = (
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0\x90wS\xde"
    b"\0\0\0\x0cIDATx\x9cc\xf8\xcf\xc0\0\0\x03\x01\x01\0\xc9\xfe\x92\xef\0\0\0\0IEND\xaeB`\x82"
)


def build_pdf(content: bytes = b"BT /F1 12 Tf 20 100 Td (The rent is 40,000.) Tj ET") -> bytes:
    """A PDF of one page with this content."""
    packed = zlib.compress(content)
    parts = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out = io.BytesIO(b"%PDF-1.4\n")
    out.seek(0, io.SEEK_END)
    places = []
    for number, part in enumerate(parts, 1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, part))
    start = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(parts) + 1))
    for place in places:
        out.write(b"%010d 00000 n \n" % place)
    out.write(
        b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(parts) + 1, start)
    )
    return out.getvalue()


GOOD: Final[Mapping[str, bytes]] = {
    "pdf": build_pdf(),
    "picture": PICTURE,
    "file": MARKDOWN.encode(),
    "diff": DIFF.encode(),
    "page": PAGE.encode(),
    "panel": PANEL.encode(),
    "ignore": IGNORE.encode(),
    "answer": ANSWER.encode(),
    "quotation": QUOTING.encode(),
    "result": RESULT.encode(),
    "minutes": MARKDOWN.encode(),
}


def list_made() -> list[tuple[str, str, bytes]]:
    """Texts that were made to hurt: kind, what it is, the text."""
    repeated = {
        "page": ["<", "<p ", "<title ", "<!--", "&#9", "<script>", "</p", "&amp", "<a href='"],
        "diff": [
            "@@ -1 +1 @@\n",
            "diff --git a/x b/x\n",
            "+\n",
            '"a/\\303',
            "--- a\n+++ b\n",
            "rename from ",
        ],
        "ignore": ["*a", "**/", "[a-", "?", "!", "\\"],
        "answer": [
            "{",
            "[",
            '{"a":',
            '"',
            "```",
            "<think>",
            "support or oppose ",
            "- ",
            "**Vote:** ",
            "\\boxed{",
        ],
        "quotation": ['"a ', "“", "… ", "`a` ", "lease.md:1 ", "```\n", "> ", "「"],
        "result": ["{", "\n", "|", "\u2028", "a "],
        "file": ["\0", "\u202e", "\r", "a" * 99 + "\n", "# "],
        "panel": ["[[seat]]\n", "a.b.", "x = '''", "[", "a = {b = "],
        "minutes": ["## ", "| a ", "- [ ] ", "```", "**"],
    }
    made = [
        (kind, f"{piece!r} again and again", (piece * (SIZE // len(piece))).encode())
        for kind, pieces in repeated.items()
        for piece in pieces
    ]
    made += [
        ("pdf", "a page of 100,000 operators", build_pdf(b"BT (a) Tj ET\n" * 100_000)),
        ("pdf", "a page that unpacks to 200 MB", build_pdf(b"%" * 200_000_000)),
        ("pdf", "a head alone", b"%PDF-1.7\n"),
        ("pdf", "cut in the middle", build_pdf()[:300]),
        ("picture", "a head alone", PICTURE[:8]),
        ("file", "UTF-16 without its last byte", "Straße".encode("utf-16")[:-1]),
        ("file", "bytes of a program", bytes(range(256)) * 400),
        ("ignore", "stars between letters", b"*a*a*a*a*a*a*a*a*a*a*b\n" * 100),
        ("answer", "an object as deep as it goes", (b'{"a":' * 5_000) + b"1" + (b"}" * 5_000)),
        ("answer", "a number of a million digits", b'{"confidence": ' + b"9" * 1_000_000 + b"}"),
        ("panel", "a table as deep as it goes", b"a" + b".a" * 20_000 + b" = 1\n"),
    ]
    return made
