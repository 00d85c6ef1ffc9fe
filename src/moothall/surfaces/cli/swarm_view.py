"""A swarm as it happens: findings scroll by; below them the round, the pheromones, the agents and the figures."""

from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from moothall.domain.ids import SeatId
from moothall.domain.safe_text import one_line
from moothall.protocols.swarm.json_fields import format_agent_name
from moothall.protocols.swarm.reports.report import build_gauges
from moothall.protocols.swarm.reports.timeline import SwarmTimeline, translate_term
from moothall.surfaces.cli.live_views import COLORS, SeatsView, format_foot, render_bar

MAX_DIRECTIONS: Final = 8
MAX_AGENTS: Final = 12


class SwarmView(SeatsView):
    _timeline: SwarmTimeline

    def _render(self) -> RenderableType:
        if not self._timeline.seq:
            return Text("")
        foot = Text(
            format_foot(self._timeline.session, self._timeline.spent, self._timeline.words),
            style="dim",
        )
        return Group(
            self._render_head(),
            self._render_pheromones(),
            self._render_agents(),
            self._render_figures(),
            foot,
        )

    def _render_head(self) -> Text:
        swarm, words = self._timeline.state, self._timeline.words
        state = f"{words.crew.format(count=f'{len(swarm.active)}/{len(swarm.explorers)}')} · {translate_term(words, swarm.stage)}"
        return Text.assemble(
            (f"{words.round.format(number=swarm.round)}/{swarm.settings.max_rounds}", "bold"),
            f"  {state}",
        )

    def _render_pheromones(self) -> RenderableType:
        ranked = sorted(
            self._timeline.state.board.pheromones.values(),
            key=lambda each: (-each.concentration, each.direction),
        )
        table = Table.grid(padding=(0, 1))
        for each in ranked[:MAX_DIRECTIONS]:
            table.add_row(
                render_bar(each.concentration, "magenta"), Text(one_line(each.direction)[:60])
            )
        rest = len(ranked) - MAX_DIRECTIONS
        if rest > 0:
            table.add_row(Text(f"+ {rest}", style="dim"), Text(""))
        return table

    def _render_agents(self) -> RenderableType:
        swarm, words = self._timeline.state, self._timeline.words
        table = Table.grid(padding=(0, 2))
        # Many agents: those that are still being asked are the ones to look at.
        agents = sorted(swarm.agents.items(), key=lambda each: each[0] not in self._asked)[
            :MAX_AGENTS
        ]
        for at, (seat, agent) in enumerate(agents):
            color = COLORS[at % len(COLORS)]
            status_style = "" if agent.status in {"active", "completed"} else "red"
            table.add_row(
                Text(format_agent_name(seat), style=f"bold {color}"),
                Text(translate_term(words, agent.role)),
                Text(translate_term(words, agent.status), style=status_style),
                Text(f"{agent.findings} · {agent.deposits}", style="dim"),
                Text(self._describe_doing(seat, agent.direction), style="dim"),
            )
        rest = len(swarm.agents) - len(agents)
        if rest > 0:
            table.add_row(Text(f"+ {rest}", style="dim"), Text(""), Text(""), Text(""), Text(""))
        return table

    def _describe_doing(self, seat: SeatId, direction: str) -> str:
        """What an agent is asked for or held up by now, else where it looks."""
        words = self._timeline.words
        kind = self._asked.get(seat)
        if kind is None:
            return one_line(direction)[:40]
        return f"… {self._describe_ask(seat, words.asked_for.get(kind, kind))}"

    def _render_figures(self) -> RenderableType:
        table = Table.grid(padding=(0, 1))
        for gauge in build_gauges(
            self._timeline.words, self._timeline.state.settings, self._timeline.measures
        ):
            bar = render_bar(gauge.value, "green" if gauge.tone == "good" else "yellow")
            table.add_row(Text(gauge.name), bar, Text(str(gauge.text)))
        return table
