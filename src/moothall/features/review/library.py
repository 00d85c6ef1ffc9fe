"""Reviews for programs: what `moot review` does, as a function (G-8)."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final, Literal, Unpack, get_args, overload

from moothall.features.review.facts import Verdict
from moothall.features.review.material import (
    Reviewed,
    build_review_options,
    find_tree,
    read_reviewed,
)
from moothall.plugins import (
    BadSetting,
    ContextFile,
    Decision,
    Moot,
    Options,
    SessionPlan,
    Worth,
    normalize_label,
    refuse_options,
    run_on_own_thread,
)

VERDICTS: Final = frozenset(map(normalize_label, get_args(Verdict)))


@overload
async def review_change(
    moot: Moot,
    *sources: str | Path | ContextFile,
    diff: str | Path | None = None,
    commits: str | None = None,
    folder: str | Path | None = None,
    about: str | None = None,
    require: str | Sequence[str] = (),
    require_worth: Worth = "fair",
    dry_run: Literal[False] = False,
    **options: Unpack[Options],
) -> Decision: ...


@overload
async def review_change(
    moot: Moot,
    *sources: str | Path | ContextFile,
    diff: str | Path | None = None,
    commits: str | None = None,
    folder: str | Path | None = None,
    about: str | None = None,
    require: str | Sequence[str] = (),
    require_worth: Worth = "fair",
    dry_run: Literal[True],
    **options: Unpack[Options],
) -> SessionPlan: ...


async def review_change(
    moot: Moot,
    *sources: str | Path | ContextFile,
    diff: str | Path | None = None,
    commits: str | None = None,
    folder: str | Path | None = None,
    about: str | None = None,
    require: str | Sequence[str] = (),
    require_worth: Worth = "fair",
    dry_run: bool = False,
    **options: Unpack[Options],
) -> Decision | SessionPlan:
    """Put a change before reviewers and return the decision with its `findings`.

    What is reviewed is one of: `sources`, which are files; a `diff`, as its text or the `Path` of its file; `commits` such as
    `main..HEAD` of the repository in `folder` (the current one). `about` says what the change is meant to do. The keywords are
    those of `Moot.hold`. Raises BadSetting where it is nothing, two things, or no diff.
    """
    refuse_options(options, "review")
    wanted = Reviewed(
        sources=sources, diff=diff, commits=commits, folder=None if folder is None else Path(folder)
    )
    change = await run_on_own_thread(partial(read_reviewed, wanted, moot.environ))
    tree = await run_on_own_thread(partial(find_tree, wanted))
    if tree is not None:
        # The program has named it; a record that names another one opens nothing here.
        moot.seating.tools.repositories.add(tree.repository)
    topic, given = build_review_options(change, about, options, tree)
    required = (require,) if isinstance(require, str) else require
    for each in required:
        if normalize_label(each) not in VERDICTS:
            raise BadSetting(
                f"require {each!r}: not one of the options: {', '.join(get_args(Verdict))}"
            )
    if dry_run:
        return await moot.hold(topic, dry_run=True, **given)
    return await moot.hold(topic, require=require, require_worth=require_worth, **given)
