"""One sample of each fact of a swarm, with every field set: what was stored once is read for ever."""

from moot.domain.budget import Budget, Usage
from moot.domain.facts import Fact, Origin
from moot.domain.ids import AskId, SeatId
from moot.domain.roster import Seat
from moot.domain.topic import Topic
from moot.protocols.swarm import answers, facts

ADA, BOB = SeatId("TanWei"), SeatId("溯源者")
USAGE = Usage(tokens_in=120, tokens_out=34, cost=1500, calls=1)

SWARM_SAMPLES: tuple[Fact, ...] = (
    facts.SwarmOpened(
        topic="如何加速？",
        language="zh",
        seed=7,
        seats=(Seat(id=ADA, platform="openai:m"), Seat(id=BOB, platform="mailbox"), Seat(id=facts.LIKENESS, platform="measure")),
        budget=Budget(seconds=3_600.0),
        outside_patience=60.0,
        origin=Origin(form="context", session="one"),
        subject=Topic(category="ops"),
        hosted=True,
        settings=facts.SwarmSettings(
            mode="hybrid",
            max_rounds=4,
            directions=("缓存",),
            round_timeout=30.0,
            evaporation=0.05,
            floor=0.2,
            deposit=0.15,
            most_deposit=0.25,
            agents_per_task=2,
            min_rounds=2,
            beta=3,
            quorum_threshold=0.5,
            quorum="independent",
            min_diversity=0.3,
            most_consensus=0.95,
            fast_before=4,
            signal_strength=0.2,
            signal_seconds=60.0,
            most_inhibition=0.4,
            random_exploration=False,
            stop_signals=False,
            protection=False,
            collisions=1,
            vote=False,
            recovery_seconds=60.0,
            silent_seconds=90.0,
            notice_seconds=1.0,
            graceful_seconds=2.0,
            forced_seconds=3.0,
            apart=("缓存。",),
        ),
    ),
    facts.SwarmFormed(agents=(facts.DrawnParameters(seat=ADA, threshold=0.41, random_explore=0.13),), seeded=("缓存",)),
    facts.RoundBegun(
        round=2,
        orders=(
            facts.RoundOrder(
                seat=ADA, random=True, must_switch=True, inhibited=True, wake=True, recommended="缓存", perspective="risk"
            ),
        ),
    ),
    facts.Reported(
        ask=AskId("20.explore.TanWei"),
        seat=ADA,
        said=answers.RoundReport(
            direction="缓存",
            findings=(
                answers.FoundIdea(
                    core_idea="用缓存。",
                    perspective="技术",
                    details="快。",
                    agrees_with=("idea-1",),
                    confidence="medium",
                    needs_validation=True,
                    search_attempted=True,
                ),
            ),
            operations=(
                answers.Operation(
                    operation="update_agent_state",
                    params={"updates": {"current.claimedSubtask": None}, "amount": 0.1, "list": ("a", 1), "flag": True},
                    summary="s",
                ),
            ),
            decision_report=answers.DecisionReport(
                threshold=0.41,
                candidates=(answers.Candidate(direction="缓存", concentration=0.2, response_prob=0.19),),
                selected_direction="缓存",
                selection_reason="浓度最高。",
            ),
            conflict_review=answers.ConflictReview(conflicts_found=1, details="有。"),
            random_explore_forced=True,
            confirmed_operations=("op-1",),
        ),
        usage=USAGE,
        key="k",
    ),
    facts.BarrierPassed(
        round=2,
        answered=(ADA,),
        lost=(BOB,),
        is_degraded=True,
        violations=(facts.Violation(seat=ADA, violation="conflict_review_missing", severity="MINOR", detail="d"),),
        changes=(facts.StatusChange(seat=BOB, old="active", new="degraded", reason="timeout (2)"),),
    ),
    facts.OperationsProcessed(
        round=2,
        requests=2,
        processed=1,
        failed=1,
        results=(
            facts.OperationResult(
                number=3,
                seat=ADA,
                operation="deposit_pheromone",
                success=True,
                error="invalid_params",
                detail="d",
                target="缓存",
                before=0.1,
                after=0.2,
            ),
        ),
    ),
    facts.Collided(
        ask=AskId("20.collide.TanWei"),
        seat=ADA,
        said=answers.Collision(action="extend", target_finding_id="finding-001", content="还有。", new_insights=("新。",)),
        usage=USAGE,
        key="c",
    ),
    facts.Validated(
        ask=AskId("20.validate.validator"),
        seat=facts.VALIDATOR,
        said=answers.Validation(verdicts=(answers.FindingCheck(finding="finding-001", verdict="refuted", reason="不对。"),)),
        usage=USAGE,
        key="v",
    ),
    facts.Compared(
        ask=AskId("20.compare.likeness"),
        seat=facts.LIKENESS,
        said=answers.SimilarityReport(by="words", pairs=(answers.ComparedPair(one=1, other=0, likeness=0.75, opposed=True),)),
        usage=USAGE,
        key="m",
    ),
    facts.IdeasSorted(
        round=2,
        by="meaning",
        placed=(facts.PlacedIdea(text="缓存吧。", idea=1, reason="measure", likeness=0.75, like="用缓存。"),),
    ),
    facts.RoundSettled(
        round=2,
        evaporated=(facts.ConcentrationChange(direction="缓存", before=0.2, after=0.184),),
        expired=("signal-1",),
        opinions=(facts.Opinion(seat=ADA, ideas=(1, 2)),),
        roles=(
            facts.RoleChange(seat=ADA, old="EXPLORER", new="SYNTHESIZER", round=2, reason="rule", probability=0.8, drawn=0.25),
        ),
        refused=(BOB,),
        counted=(ADA,),
    ),
    facts.ConvergenceMeasured(
        round=3,
        ideas=(1, 2),
        before=(1,),
        active=2,
        backing=(facts.Backing(idea=1, backers=(ADA, BOB), independent=(ADA,)),),
        quorum_ideas=(1,),
        consensus_rate=1.0,
        perspectives=3,
        distinct=2,
        stated=5,
        concentrations=(0.5, 0.25),
        coverage=0.5,
        orthogonality=0.4,
        entropy=0.9,
        diversity=0.6,
        enough_rounds=True,
        stable=False,
        has_quorum=True,
        is_diverse=True,
        too_fast=True,
        converged=False,
        reason="not_stable",
        warnings=("diversity_warning",),
        all_random=True,
        cut=facts.ConcentrationChange(direction="缓存", before=0.8, after=0.56),
        debater=facts.RoleChange(seat=BOB, old="EXPLORER", new="DEBATER", round=3, reason="diversity_protection"),
    ),
    facts.Voted(
        ask=AskId("30.ballot.TanWei"),
        seat=ADA,
        said=answers.SwarmBallot(votes=(answers.IdeaVote(idea=1, position="oppose", confidence=0.6, reason="不。"),)),
        usage=USAGE,
        key="b",
    ),
    facts.Synthesized(ask=AskId("10.synthesis.TanWei"), seat=ADA, said=answers.Synthesis(content="总之。"), usage=USAGE, key="s"),
    facts.SwarmCompleted(
        round=3,
        reason="converged",
        converged=True,
        resolved=(
            facts.IdeaResolution(
                idea=1,
                consensus_type="majority",
                carried=True,
                support=0.8,
                turnout=1.0,
                confidence=0.7,
                heads=2,
                effective=1.5,
                could_differ=True,
            ),
        ),
        synced=(ADA,),
        fault="none",
    ),
    facts.ShutdownNoticed(awaited=(BOB,)),
    facts.Acknowledged(
        ask=AskId("30.shutdown.溯源者"),
        seat=BOB,
        said=answers.ShutdownReply(acknowledged=False, words="再见"),
        usage=USAGE,
        key="g",
    ),
    facts.ShutdownAnswered(acknowledged=(BOB,)),
    facts.AgentsTerminated(ends=(facts.AgentEnd(seat=ADA, reason="graceful"), facts.AgentEnd(seat=BOB, reason="auto_forced"))),
    facts.SwarmClosed(reason="fault", converged=False, rounds=3, fault="2 operations were requested, 1 processed, 0 refused"),
)

NEWER_SAMPLES: tuple[Fact, ...] = (
    facts.SwarmFormed(
        agents=(facts.DrawnParameters(seat=ADA, threshold=0.41, random_explore=0.13),),
        seeded=("缓存",),
        laid=(facts.ConcentrationChange(direction="缓存", before=0.0, after=0.1),),
    ),
)
"""Samples with the fields that came later."""

SYNTHESIS_SAMPLES: tuple[Fact, ...] = (
    facts.SwarmOpened(
        topic="?",
        language="en",
        seed=1,
        seats=(Seat(id=ADA, platform="mailbox"), Seat(id=BOB, platform="human")),
        settings=facts.SwarmSettings(synthesis="always"),
    ),
)
