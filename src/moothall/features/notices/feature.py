"""The row of notices."""

from typing import Final

from moothall.ports.feature import CommandRow, Feature

FEATURE: Final = Feature(
    name="notices",
    package="moothall.features.notices",
    commands=(
        CommandRow(
            name="notify",
            place="command:notify",
            group="Serve",
            summary="Tell a receiver by signed webhook, chat or mail when it is a seat's turn, a session ends or an obligation "
            "is due.",
        ),
    ),
    services=("delivery:serve_notices",),
    extra="notify:apprise",
    help="help",
)
