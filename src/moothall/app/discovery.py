"""Discovers the platforms that could fill seats without one, and chooses those that can be asked now.

What was discovered and cannot be asked is left out with a line; what was named, by an option, a setting or MOOT_MODEL, is
refused by the checks of the seats.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from moothall.app.seats import Seating
from moothall.domain.facts import Language
from moothall.domain.roster import Seat
from moothall.domain.safe_text import one_line, split_address
from moothall.errors import BadRoster, NoModel, ProviderRefused, UnknownPlatform
from moothall.locale.catalogues import DISCOVERY
from moothall.participants import local_model, semantic_similarity
from moothall.participants.model import Obstacle
from moothall.participants.platforms import (
    MODEL_VARIABLE,
    find_address,
    find_key,
    find_named_platform,
    find_platforms,
    find_same_model,
    is_local_server,
    name_model,
    parse_platform,
)

KNOCK_SECONDS = 2.0
"""How long a local port may be silent; if nobody listens, the connection fails at once."""
FALLBACK: Final = "MOOT_FALLBACK"
"""The variable that names the platform to take where there is no other: `make run` names the embedded model."""

log = logging.getLogger("moot")


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveredPlatforms:
    """Platforms that could fill a seat, the better ones first."""

    models: tuple[str, ...]
    servers: tuple[str, ...]
    embedded: bool
    named: str | None = None
    """The platform that MOOT_MODEL names for all seats without one."""

    @property
    def best(self) -> tuple[str, ...]:
        """The platforms to use by default; the embedded model only where it is named."""
        return (self.named,) if self.named else (*self.models, *self.servers)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenPlatforms:
    """The platforms that fill seats without one."""

    platforms: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    """A line for each that was discovered and cannot be asked now, or is the same model as another."""
    ready: tuple[str, ...] = ()
    """Those that have just been asked whether they are ready."""


async def discover_platforms(environ: Mapping[str, str], seating: Seating) -> DiscoveredPlatforms:
    """Discover platforms, without spending anything."""
    knocked = await asyncio.gather(
        *(_is_listening(name, environ) for name in seating.probed_servers)
    )
    servers = tuple(
        name for name, listens in zip(seating.probed_servers, knocked, strict=True) if listens
    )
    is_installed = local_model.is_installed() and semantic_similarity.is_installed()
    has_embedded = is_installed and local_model.find_weights(seating.models) is not None
    return DiscoveredPlatforms(
        models=tuple(find_platforms(environ)),
        servers=servers,
        embedded=has_embedded,
        named=find_named_platform(environ, seating.kinds.is_known),
    )


async def choose_platforms(
    environ: Mapping[str, str], seating: Seating, language: Language, *, is_checked: bool = True
) -> ChosenPlatforms:
    """Choose the platforms for seats without one, of those that can be asked now.

    Unless it `is_checked`, nobody is asked, and all that was discovered is taken. Raises BadRoster where nothing is there, and
    ProviderRefused where nothing that is there can be asked.
    """
    named = find_named_platform(environ, seating.kinds.is_known)
    if named is not None:
        return await _choose_named(named, seating, is_checked=is_checked)
    discovered = await discover_platforms(environ, seating)
    obstacles: Sequence[Obstacle | None] = [None] * len(discovered.best)
    if is_checked:
        obstacles = await asyncio.gather(
            *(_find_obstacle(platform, seating) for platform in discovered.best)
        )
    usable: list[str] = []
    left_out: list[str] = []
    for platform, obstacle in zip(discovered.best, obstacles, strict=True):
        same = find_same_model(platform, usable)
        if obstacle is not None:
            left_out.append(_explain_obstacle(platform, obstacle, environ, language))
        elif same is not None:
            words = DISCOVERY[language]
            left_out.append(words.left_out.format(why=words.same.format(one=platform, other=same)))
        else:
            usable.append(_name_chosen(platform, seating))
    fallback = environ.get(FALLBACK, "").strip()
    if not usable and not fallback:
        raise _build_refusal(left_out, language)
    for line in left_out:
        log.info("%s", line)
    if not usable:
        return ChosenPlatforms(platforms=(fallback,), left_out=tuple(left_out))
    ready = tuple(usable) if is_checked else ()
    return ChosenPlatforms(platforms=tuple(usable), left_out=tuple(left_out), ready=ready)


async def _choose_named(named: str, seating: Seating, *, is_checked: bool) -> ChosenPlatforms:
    """Choose what MOOT_MODEL names; raises UnknownPlatform or ProviderRefused where it cannot be had."""
    try:
        model = seating.find_model(named)
    except UnknownPlatform as error:
        raise UnknownPlatform(f"{MODEL_VARIABLE}: {error}") from error
    if model is None or not is_checked:
        return ChosenPlatforms(platforms=(named,))
    obstacle = await model.find_obstacle()
    if obstacle is not None:
        raise ProviderRefused(f"{MODEL_VARIABLE}={named}: {obstacle.sentence}")
    chosen = _name_chosen(named, seating)
    return ChosenPlatforms(platforms=(chosen,), ready=(chosen,))


async def name_models(seats: Sequence[Seat], seating: Seating) -> tuple[Seat, ...]:
    """Return the seats, those of a local server with the model that it is asked for: the record names it.

    Raises ProviderRefused where the server has none.
    """
    chosen = dict.fromkeys(each.platform for each in seats if _is_unnamed(each.platform, seating))
    for platform in chosen:
        obstacle = await _find_obstacle(platform, seating)
        if obstacle is not None:
            seat = next(each.id for each in seats if each.platform == platform)
            raise ProviderRefused(f"seat {seat!r}: {obstacle.sentence}")
    named = {platform: _name_chosen(platform, seating) for platform in chosen}
    return tuple(replace(each, platform=named.get(each.platform, each.platform)) for each in seats)


def _is_unnamed(text: str, seating: Seating) -> bool:
    """Whether a platform is a local server without a model."""
    if seating.find_model(text) is None:
        return False
    platform = parse_platform(text)
    return platform.model is None and is_local_server(platform)


def _name_chosen(platform: str, seating: Seating) -> str:
    """The platform with the model that was chosen for it, if it names none."""
    model = seating.find_model(platform)
    if model is None or model.model_name is None or not _is_unnamed(platform, seating):
        return platform
    return name_model(platform, model.model_name)


async def _find_obstacle(platform: str, seating: Seating) -> Obstacle | None:
    model = seating.find_model(platform)
    return None if model is None else await model.find_obstacle()


def _explain_obstacle(
    platform: str, obstacle: Obstacle, environ: Mapping[str, str], language: Language
) -> str:
    words = DISCOVERY[language]
    why = one_line(obstacle.sentence)
    if obstacle.install:
        variable = find_key(parse_platform(platform), environ).variable
        why = words.not_installed.format(variable=variable, install=obstacle.install)
    return words.left_out.format(why=why)


def _build_refusal(left_out: Sequence[str], language: Language) -> BadRoster | ProviderRefused:
    words = DISCOVERY[language]
    if not left_out:
        return NoModel("\n".join((words.no_model, words.ways)), command=f"\n{words.doctor}")
    lines = (words.none_usable, *left_out, words.ways)
    return ProviderRefused("\n".join(lines), command=f"\n{words.doctor}")


async def _is_listening(name: str, environ: Mapping[str, str]) -> bool:
    """Whether a model server answers there with a list of models: other programs listen on the same ports."""
    parts = split_address(find_address(parse_platform(name), environ) or "")
    with suppress(OSError, TimeoutError, ValueError):
        async with asyncio.timeout(KNOCK_SECONDS):
            reader, writer = await asyncio.open_connection(parts.hostname, parts.port or 80)
            try:
                path = f"{parts.path.rstrip('/')}/models"
                writer.write(
                    f"GET {path} HTTP/1.0\r\nHost: {parts.hostname}\r\nAccept: application/json\r\n\r\n".encode()
                )
                await writer.drain()
                answer = await reader.read(4_096)
            finally:
                writer.close()
        return b" 200 " in answer.split(b"\r\n", 1)[0] and b'"data"' in answer
    return False
