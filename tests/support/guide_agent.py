"""An agent that knows nothing but a text of GUIDE.md: it parses the steps that stand there, and does them.

What is written in code marks is what it does: conditions, answers, names, formulas, lines of a shell, lines of assignments. It
knows neither Moot nor the protocol, and refuses a step that it cannot read.
"""

import json
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

_STEP: Final = re.compile(r"^## (?:Step (\d)|第([一二三四])步)[:：].*$", re.MULTILINE)
_BULLET: Final = re.compile(r"^- (.+(?:\n  .+)*)", re.MULTILINE)
_ITEM: Final = re.compile(r"^(\d+)\. ((?:.+\n?)(?:(?:   .*)?\n|   .+$)*)", re.MULTILINE)
_BLOCK: Final = re.compile(r"^   ```(\w+)\n(.*?)^   ```$", re.MULTILINE | re.DOTALL)
_CODE: Final = re.compile(r"`([^`\n]+(?:\n [^`\n]+)?)`")
_NUMBERED: Final = re.compile(r"(\d{3,})_(.+)\.md")


class GuideFault(Exception):
    """The guide says something that cannot be done, or nothing where something must be done."""


@dataclass(frozen=True)
class Item:
    """One numbered item of a step: its words, the code marks in them, and its block with the block's kind."""

    codes: tuple[str, ...]
    kind: str
    block: str


class Guide:
    """The steps of a guide."""

    def __init__(self, text: str) -> None:
        heads = list(_STEP.finditer(text))
        ends = [head.start() for head in heads[1:]] + [text.index("\n## ", heads[-1].end())]
        self.steps = [text[head.end() : end] for head, end in zip(heads, ends, strict=True)]
        if len(self.steps) != 4:
            raise GuideFault(f"four steps were expected, not {len(self.steps)}")

    def bullets(self, step: int) -> list[str]:
        return [found[1] for found in _BULLET.finditer(self.steps[step - 1])]

    def items(self, step: int) -> list[Item]:
        found = []
        for item in _ITEM.finditer(self.steps[step - 1]):
            block = _BLOCK.search(item[2])
            words = item[2][: block.start()] if block else item[2]
            lines = "\n".join(line[3:] for line in block[2].splitlines()) if block else ""
            found.append(Item(tuple(_CODE.findall(words)), block[1] if block else "", lines))
        return found


@dataclass
class GuideAgent:
    """Does what the guide says, as one role. `says` makes the text of a section; `before_naming` may disturb it just then."""

    guide: Guide
    folder: Path
    role: str
    says: Callable[[str], str] = lambda head: f"Words under {head}."
    agrees: bool = False
    before_naming: Callable[[Path], None] | None = None
    read: list[str] = field(default_factory=list)

    def take_part(self) -> str:
        """Begin with step 1, and return what the agent answers."""
        for _ in range(3):
            turn = self._read_turn()
            said = self._look(turn)
            if said != "again":
                return said
        raise GuideFault("it begins again without end")

    def _read_turn(self) -> dict[str, Any]:
        found = json.loads((self.folder / "turn.json").read_text(encoding="utf-8"))
        assert isinstance(found, dict)
        return found

    def _look(self, turn: dict[str, Any]) -> str:
        """Step 1: the first bullet that fits."""
        for bullet in self.guide.bullets(1):
            codes = _CODE.findall(bullet)
            if codes[0] not in turn:
                return self._count(turn, codes)
            is_value = len(codes) > 1 and " " not in codes[1]
            if not (turn[codes[0]] == codes[1] if is_value else turn[codes[0]] != self.role):
                continue
            rest = codes[2:] if is_value else codes[1:]
            who = [code for code in rest if " " not in code and "，" not in code]
            if who and who[0] != self.role:
                continue
            answers = [code for code in rest if code not in who]
            if answers:
                return " ".join(answers[0].split()).format(**turn)
            if not re.search(r"step 4|第四步", bullet):
                raise GuideFault(f"neither an answer nor a step: {bullet}")
            return self._do_items(4, turn)
        raise GuideFault("step 1 says nothing that fits")

    def _count(self, turn: dict[str, Any], codes: list[str]) -> str:
        expected = eval(codes[0], {"__builtins__": {"len": len}}, dict(turn))
        found = len(self._list_speeches())
        if found != expected:
            return f"damaged: {found} speeches, {expected} were expected"
        self._read_material(turn)
        return self._do_items(3, turn)

    def _list_speeches(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir() if _NUMBERED.fullmatch(path.name))

    def _read_material(self, turn: dict[str, Any]) -> None:
        """Step 2: the files and fields that stand there."""
        for item in self.guide.items(2):
            code = item.codes[0]
            if code in turn or "prompt_for_speaker" in item.codes:
                self.read.append(str(turn["prompt_for_speaker"]))
            elif code.isdigit():
                self.read += [self._read(name) for name in self._list_speeches()[-int(code) :]]
            elif "{" in code:
                pattern = re.compile(re.sub(r"\\\{.+?\\\}", r"\\d+", re.escape(code)))
                self.read += [
                    self._read(name) for name in pattern.findall(turn["prompt_for_speaker"])
                ]
            else:
                self.read.append(self._read(code))

    def _read(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")

    def _do_items(self, step: int, turn: dict[str, Any]) -> str:
        named: dict[str, str] = {"role": self.role, "角色": self.role}
        after = dict(turn)
        for item in self.guide.items(step):
            if item.kind == "md":
                self._write(item.codes[0], named, self._compose(item, step))
            elif item.kind == "sh":
                if item.codes and item.codes[0].endswith(".json"):
                    self._write(item.codes[0], named, json.dumps(after, ensure_ascii=False))
                if not self._run(item.block, named):
                    return "again"
            elif item.kind == "python":
                after = self._compute(item, after)
            elif item.codes and "+" in item.codes[0]:
                named |= dict.fromkeys(("number", "编号"), self._find_number(item))
            elif item.codes and item.codes[0] in turn:
                after[item.codes[0]] = f"{self.role} asks: and you?"[: int(item.codes[1])]
            elif item.codes and item.codes[0].startswith("INPUT_"):
                self.read += [self._read(name) for name in self._list_speeches()]
            else:
                raise GuideFault(f"step {step}: cannot do {item}")
        return f"done: step {step}"

    def _find_number(self, item: Item) -> str:
        highest = max((int(name.partition("_")[0]) for name in self._list_speeches()), default=0)
        number = eval(item.codes[0], {"__builtins__": {}}, {"highest": highest})
        return f"{number:0{int(item.codes[1])}d}"

    def _compose(self, item: Item, step: int) -> str:
        heads = [line for line in item.block.splitlines() if line.startswith("## ")]
        if not heads:
            raise GuideFault("no sections to write")
        ending = [self._find_mark(step)] if self.agrees and step == 3 else []
        return "\n".join([*(f"{head}\n{self.says(head)}" for head in heads), *ending]) + "\n"

    def _find_mark(self, step: int) -> str:
        """Return the mark of consensus: the last code of the step's text that is in brackets."""
        marks = re.findall(r"`(\[[^`\]]+\])`", self.guide.steps[step - 1])
        if not marks:
            raise GuideFault("no mark of consensus")
        return str(marks[0])

    def _compute(self, item: Item, turn: dict[str, Any]) -> dict[str, Any]:
        """Do the lines of a block, which assign to the fields of `turn.json` and to nothing else."""
        known: dict[str, Any] = {**turn, "all_agree": self._is_agreed(item, turn)}
        exec(item.block, {"__builtins__": {"len": len}}, known)
        return {name: known[name] for name in turn}

    def _is_agreed(self, item: Item, turn: dict[str, Any]) -> bool:
        marks = [code for code in item.codes if code.startswith("[")]
        if not marks:
            return False
        last = {name.partition("_")[2][:-3]: name for name in self._list_speeches()}
        return all(
            role in last and self._read(last[role]).rstrip().endswith(marks[0])
            for role in turn["speaker_order"]
        )

    def _fill(self, text: str, named: dict[str, str]) -> str:
        return re.sub(r"\{(\w+)\}", lambda found: named[found[1]], text)

    def _write(self, name: str, named: dict[str, str], text: str) -> None:
        (self.folder / self._fill(name, named)).write_text(text, encoding="utf-8")

    def _run(self, block: str, named: dict[str, str]) -> bool:
        """Run the lines of a shell; False: the first one failed, because the name was taken."""
        lines = self._fill(block, named)
        if "number" in named and named["number"] in lines and self.before_naming is not None:
            disturb, self.before_naming = self.before_naming, None
            disturb(self.folder / lines.splitlines()[0].split()[-1])
        words = ["/bin/sh", "-e", "-c", lines]
        done = subprocess.run(
            words, cwd=self.folder, capture_output=True, text=True, timeout=30, check=False
        )
        if done.returncode and "exists" not in done.stderr.lower():
            raise GuideFault(f"{lines}: {done.stderr}")
        return done.returncode == 0
