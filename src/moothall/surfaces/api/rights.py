"""Who may do what: the one table of what each call needs, and of what each role may do."""

from typing import Final, Literal, get_args

Role = Literal["local", "owner", "operator", "recorder", "agent", "seat", "observer"]
"""`local` holds the key of the server's own home; every other role is a token's."""
Needs = Literal["read", "speak", "decide", "run", "own"]

ROLES: Final[tuple[Role, ...]] = get_args(Role)

MAY: Final[dict[Role, frozenset[Needs]]] = {
    "local": frozenset({"read", "speak", "decide", "run", "own"}),
    "owner": frozenset({"read", "speak", "decide", "run", "own"}),
    # Who runs sessions neither judges decisions, nor resets circuits, nor lets others in.
    "operator": frozenset({"read", "speak", "run"}),
    # Who decides, or records what others decided, neither reviews, nor resets, nor sets the rules: it would judge itself.
    "recorder": frozenset({"read", "decide"}),
    "agent": frozenset({"read", "speak", "decide"}),
    "seat": frozenset({"read", "speak"}),
    "observer": frozenset({"read"}),
}

HOLDERS: Final[dict[Needs, str]] = {
    "own": "an owner's token",
    "run": "an operator's or an owner's token",
    "decide": "an agent's, a recorder's or an owner's token",
    "speak": "a seat's, an operator's or an owner's token",
    "read": "a token",
}
"""Whose token does for each need, for the sentence of a refusal."""

_CALLS: Final[dict[Needs, tuple[str, ...]]] = {
    "read": (
        "cstp.getDeliberation",
        "cstp.listDeliberations",
        "cstp.searchDecisions",
        "cstp.listDecisions",
        "cstp.getDecision",
        "cstp.listObligations",
        "cstp.getSourceTrust",
        "cstp.listSources",
        "cstp.getAmplificationStats",
        "cstp.getAmplificationChain",
        "cstp.getThreadStatus",
        "cstp.listThreads",
        "cstp.mayDecideAlone",
        "cstp.getCircuitState",
        "cstp.listBreakers",
        "cstp.getPolicy",
        "moot.listDemos",
        "moot.getPipeline",
        "moot.listConferences",
        "moot.conferenceStatus",
        "moot.checkConference",
        "moot.conferenceMinutes",
        "moot.listSessions",
        "moot.getSession",
        "moot.getEntries",
        "moot.exportSession",
        "moot.verifySession",
        "moot.listProtocols",
        "moot.swarmStatus",
        "moot.getView",
        "moot.getItems",
        "moot.getText",
        "moot.getTrustHistory",
        "moot.getOpening",
    ),
    "speak": (
        "cstp.contribute",
        "cstp.waitForTurn",
        "cstp.joinDeliberation",
        "moot.consult",
        "moot.joinConference",
        "moot.sayInConference",
        "moot.getAsks",
        "moot.answer",
        "moot.swarmRound",
        "moot.swarmReport",
        "moot.getPersonAsks",
        "moot.answerAsPerson",
    ),
    "decide": ("cstp.recordDecision",),
    "run": (
        "cstp.openDeliberation",
        "cstp.closeDeliberation",
        "cstp.settleObligation",
        "cstp.createThread",
        "cstp.resumeThread",
        "cstp.setThreadStatus",
        "cstp.askInThread",
        "cstp.settleQuestion",
        "moot.playDemo",
        "moot.openPipeline",
        "moot.newConference",
        "moot.skipSpeaker",
        "moot.giveConferenceInput",
        "moot.relayConference",
        "moot.repairConference",
        "moot.openSession",
        "moot.giveInput",
        "moot.closeSession",
        "moot.resumeSession",
        "moot.cancelSession",
        "moot.swarmOpen",
        "moot.planSession",
        "moot.forkSession",
    ),
    "own": (
        "cstp.reviewDecision",
        "cstp.resetCircuit",
        "cstp.setPolicy",
        "moot.inviteSeat",
    ),
}
NEEDS: Final[dict[str, Needs]] = {name: needs for needs, names in _CALLS.items() for name in names}
"""What each call needs of its caller. A call that is not listed here cannot be served."""
