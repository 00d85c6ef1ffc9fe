# ruff: noqa
# mypy: ignore-errors
"""另一个只读过《参会指南》（GUIDE.md 中文版）的代理：不依赖 Moot，只用标准库。

python other_agent.py < 提示词
python other_agent.py --加入 会议名 角色
"""

import dataclasses
import json
import pathlib
import re
import sys
import typing

编号 = re.compile(r"(?P<号>[0-9]{3})_(?P<角色>.+)\.md")
唤起 = re.compile(r"以 (?P<角色>\S+) 的身份加入 (?P<会议>\S+) 会议")


@dataclasses.dataclass
class 会议:
    目录: pathlib.Path

    @property
    def 状态(self) -> dict[str, typing.Any]:
        return json.loads((self.目录 / "turn.json").read_text("utf-8"))

    @property
    def 发言(self) -> list[pathlib.Path]:
        return sorted(文件 for 文件 in self.目录.iterdir() if 编号.fullmatch(文件.name))

    def 落盘(self, 名: str, 内容: str, 隐藏: str) -> None:
        草稿 = self.目录 / 隐藏
        草稿.write_text(内容, "utf-8")
        草稿.rename(self.目录 / 名)

    def 共识(self, 角色: str) -> bool:
        自己 = [文件 for 文件 in self.发言 if 编号.fullmatch(文件.name)["角色"] == 角色]
        return bool(自己) and 自己[-1].read_text("utf-8").strip().endswith("[共识]")

    def 推进(self, 状态: dict[str, typing.Any], 期望: str) -> None:
        轮, 位 = divmod(
            (状态["round"] - 1) * len(状态["speaker_order"]) + 状态["current_speaker_index"] + 1,
            len(状态["speaker_order"]),
        )
        新 = {**状态, "round": 轮 + 1, "current_speaker_index": 位, "prompt_for_speaker": 期望}
        结束 = 轮 + 1 > 状态["max_rounds"] or all(map(self.共识, 状态["speaker_order"]))
        新 |= (
            {"status": "concluding", "current_speaker": "moderator"}
            if 结束
            else {"current_speaker": 状态["speaker_order"][位]}
        )
        self.落盘("turn.json", json.dumps(新, ensure_ascii=False, indent=1), ".turn")

    def 总结(self, 状态: dict[str, typing.Any]) -> str:
        摘要 = "\n".join(f"- {文件.stem}" for 文件 in self.发言)
        self.落盘(
            "MINUTES.md",
            f"## 讨论摘要\n{摘要}\n## 最终共识\n无\n## 悬而未决的分歧\n全部\n## 决议行动项\n无\n",
            ".minutes",
        )
        self.落盘(
            "turn.json", json.dumps({**状态, "status": "closed"}, ensure_ascii=False), ".turn"
        )
        return "纪要已写好"

    def 参加(self, 角色: str) -> str:
        while True:
            状态 = self.状态
            match 状态["status"], 状态["current_speaker"]:
                case "closed", _:
                    return "会议已结束，请查阅 MINUTES.md"
                case "concluding", _:
                    return self.总结(状态) if 角色 == "moderator" else "等待主持人总结"
                case "open", 别人 if 别人 != 角色:
                    return f"[会议阻塞] 当前轮到 {别人} 发言，请调度对应代理。"
            应有 = (状态["round"] - 1) * len(状态["speaker_order"]) + 状态["current_speaker_index"]
            现有 = self.发言
            if len(现有) == 应有 + 1:
                self.推进(状态, "请继续。")
                continue
            if len(现有) != 应有:
                return "目录已损坏"
            (self.目录 / "AGENDA.md").read_text("utf-8")
            听到 = [文件.read_text("utf-8")[:20] for 文件 in 现有[-2:]]
            名 = f"{应有 + 1:03}_{角色}.md"
            self.落盘(
                名,
                f"## 立场\n{角色}（{名}）：同意一半。\n## 分析论证\n听到 {len(听到)} 份。\n## 回应/提问\n还有什么？\n",
                ".draft",
            )
            self.推进(状态, f"{角色}：请说明代价。")
            return f"已发言：{名}"


def 主() -> None:
    if sys.argv[1:2] == ["--加入"]:
        名, 角色 = sys.argv[2:4]
    else:
        找到 = 唤起.search(sys.stdin.read())
        if 找到 is None:
            sys.exit("看不懂")
        名, 角色 = 找到["会议"], 找到["角色"]
    sys.stdout.write(会议(pathlib.Path(".roundtable", 名)).参加(角色) + "\n")


if __name__ == "__main__":
    主()
