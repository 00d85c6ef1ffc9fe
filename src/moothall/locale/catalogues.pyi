"""The types of the catalogues, written by `make catalogues`: change a catalogue, then run it."""

from collections.abc import Mapping

from moothall.locale.texts import Catalogue, Texts

class AnswerFormText(Texts):
    json_object: str
    text: str
    number: str
    more_values: str

ANSWER_FORM: Catalogue[AnswerFormText]

class AnswerJudgeText(Texts):
    system: str
    question: str
    pairs: str
    heads: Mapping[str, str]
    requests: Mapping[str, str]

ANSWER_JUDGE: Catalogue[AnswerJudgeText]

class ChatText(Texts):
    conversation: str
    begins: str
    waiting: str
    link: str
    held_before: str
    parked: str
    goes_on: str
    nobody: str
    left_out: str
    not_text: str
    too_short: str
    whole_question: str
    shortened: str
    roles: Mapping[str, str]

CHAT: Catalogue[ChatText]

class ConsultationPersonText(Texts):
    asked: str
    background: str
    understanding: str
    answer: str

CONSULTATION_PERSON: Catalogue[ConsultationPersonText]

class TermsText(Texts):
    explained: str
    verdicts: Mapping[str, str]
    strengths: Mapping[str, str]
    consensus_types: Mapping[str, str]
    consensus_meanings: Mapping[str, str]
    types: Mapping[str, str]
    stakes_levels: Mapping[str, str]
    outcomes: Mapping[str, str]
    agreement_kinds: Mapping[str, str]
    losses: Mapping[str, str]
    endings: Mapping[str, str]

TERMS: Catalogue[TermsText]

class ConsultationPromptText(TermsText):
    offer_help: str
    learned: str
    none_left: str
    refused: str
    offer: str
    absent: str
    filed: str
    topic: str
    own_words: str
    asks: str
    now: str
    direct: str
    colon: str
    request: str
    reply: str
    failed: str
    unknown: str
    heads: tuple[str, ...]
    rows: tuple[str, ...]
    sections: tuple[str, ...]
    consultations: str
    columns: tuple[str, ...]
    refused_line: str
    failed_line: str
    filed_line: str
    asked_itself: str
    refusals: Mapping[str, str]
    labels: Mapping[str, str]
    kinds: Mapping[str, str]
    failures: Mapping[str, str]
    statuses: Mapping[str, str]

CONSULTATION_PROMPT: Catalogue[ConsultationPromptText]

class SharedReportText(TermsText):
    in_full: str
    reservations: str
    worth: str
    figures: str
    how_recorded: str
    minutes: str
    imported: str
    decision: str
    undecided: str
    no_decision: str
    parked: str
    trying_again: str
    held_up: str
    asked_since: str
    ended_by_losses: str
    refusals: str
    swapped: str
    cancelled: str
    confidence: str
    motion_confidence: str
    sealed: str
    uncounted: str
    no_figure: str
    would_change: str
    more_voices: str
    next_answer: str
    open_point: str
    between_changes: str
    track_record: str
    author_confidence: str
    support: str
    turnout: str
    ended_by: str
    reasons: str
    dissent: str
    no_dissent: str
    no_opposition: str
    gives_no_reason: str
    inputs: str
    no_answer: str
    unanswered: str
    obligations: str
    obligation_heads: tuple[str, ...]
    reported: str
    open_questions: str
    positions: str
    position_heads: tuple[str, ...]
    not_stated: str
    lost: str
    lost_line: str
    did_not_vote: str
    outcome_uncertain: str
    outcome_certain: str
    timeline: str
    losses_title: str
    seats: str
    seat_heads: tuple[str, ...]
    cost: str
    cost_heads: tuple[str, ...]
    total: str
    no_price: str
    unpriced: str
    tokens: str
    stops: str
    spent: str
    author: str
    spoken_by_owner: str
    whole_answer: str
    one_answer: str
    grouped_by_judge: str
    grouped_by_owner: str
    parted_by_owner: str
    not_grouped: str
    judged_apart: str
    groups_event: str
    no_groups_event: str
    between_mends: str
    as_read: str
    answerers: str
    answerer_heads: tuple[str, ...]
    mended: str
    worded: str
    mended_heads: tuple[str, ...]
    loss_heads: tuple[str, ...]
    asked_for: Mapping[str, str]
    doors: Mapping[str, str]
    no_figures: Mapping[str, str]
    mend_codes: Mapping[str, str]
    obligation_states: Mapping[str, str]
    confidence_bases: Mapping[str, str]
    agreements: Mapping[str, str]
    opened_with: Mapping[str, str]
    framed: Mapping[str, str]
    estimates: Mapping[str, str]
    framed_kinds: Mapping[str, str]
    framed_makers: Mapping[str, str]

SHARED_REPORT: Catalogue[SharedReportText]

class ConsultationReportText(SharedReportText):
    minutes: str
    decision: str
    question: str
    no_decision: str
    cancelled: str
    endings: Mapping[str, str]

CONSULTATION_REPORT: Catalogue[ConsultationReportText]

class ContextFilesText(Texts):
    heading: str
    cite: str
    file: str
    absent: str
    too_long: str
    to_read: str
    folded: str
    passages_read: str
    passages: str
    pictures: str
    media: str
    unseen_by: str
    section: str
    given: str
    hash: str
    text_hash: str
    more: str
    page: str
    not_cited: str
    file_name: str
    file_size: str
    left_out: str
    checked: str
    quotations: str
    held: str
    by_seat: str
    cited: str
    looked_up: str
    use: str
    read_on: str
    no_passages: str
    tool_cut: str
    fetched: str
    page_cut: str
    tool_uses: str
    tool_line: str
    tool_places: str
    tool_arguments: str
    tool_result: str
    tool_seconds: str
    tool_sealed: str
    tool_more: str
    rests_on: str
    cites_nothing: str
    unread: str
    refused_calls: str
    outcomes: Mapping[str, str]
    tools: Mapping[str, str]
    tree: Mapping[str, str]
    refusals: Mapping[str, str]
    faults: Mapping[str, str]

CONTEXT_FILES: Catalogue[ContextFilesText]

class CouncilFieldsText(TermsText):
    labels: Mapping[str, str]
    questions: Mapping[str, str]

COUNCIL_FIELDS: Catalogue[CouncilFieldsText]

class CouncilPersonText(CouncilFieldsText):
    blind: str
    propose: str
    synthesize: str
    decide: str
    argue: str
    advise: str
    which: str
    no_line: str
    say: str
    say_it: str
    just_the_answer: str
    advice: str
    challenged: str
    answer: str
    gives_way: str
    vote_on: str
    no_position: str
    no_positions: str
    vote: str
    vote_for: str
    to_user: str
    no_reply: str
    motion: str
    sides: Mapping[str, str]
    outcomes: Mapping[str, str]
    ways: Mapping[str, str]

COUNCIL_PERSON: Catalogue[CouncilPersonText]

class CouncilPromptText(CouncilFieldsText):
    options: str
    left_out: str
    propose: str
    argue: str
    advise: str
    answer: str
    synthesize: str
    open: str
    objections: str
    decide: str
    advice: str
    no_advice: str
    vote: str
    vote_each: str
    vote_choice: str
    condition: str
    moved_by: str
    own_answer: str
    unanswered: str
    few: str
    before: str
    about: str
    condition_not_stated: str
    answers: str
    accepts: str
    shortened: str

COUNCIL_PROMPT: Catalogue[CouncilPromptText]

class CouncilReportText(SharedReportText):
    minutes: str
    ended_by: str
    question: str
    motion: str
    voted_on: str
    agreed_on: str
    no_decision: str
    overturned: str
    support: str
    votes: str
    one_vote: str
    no_votes: str
    consensus: str
    no_dissent: str
    challenges: str
    challenge_heads: tuple[str, ...]
    positions: str
    changed: str
    lost: str
    did_not_vote: str
    not_voted: str
    outcome_uncertain: str
    outcome_certain: str
    round: str
    passes: str
    has_written: str
    went_on: str
    not_carried: str
    demanded: str
    demand: str
    demanded_of_all: str
    motion_by: str
    protocol: str
    category: str
    stakes: str
    options: str
    now: str
    awaited: str
    vote_table: str
    vote_heads: tuple[str, ...]
    no_vote: str
    candidates: str
    candidate_heads: tuple[str, ...]
    unasked: str
    depth: str
    depth_auto: str
    depth_shadow: str
    depth_same: str
    depth_none: str
    spared: str
    opposes_words: str
    declined: str
    taken: str
    taken_heads: tuple[str, ...]
    moved: str
    moved_after: str
    names_nothing: str
    passed: str
    sure: str
    about: str
    answers: str
    accepts: str
    moved_by: str
    replaced: str
    vote_counts: str
    cast_early: str
    cast_ahead: str
    voted_anew: str
    ahead: str
    nothing_said: str
    phases: Mapping[str, str]
    kinds: Mapping[str, str]
    challenge_states: Mapping[str, str]
    takings: Mapping[str, str]
    endings: Mapping[str, str]
    protocols: Mapping[str, str]
    votes_read: Mapping[str, str]
    stages: Mapping[str, str]
    depth_reasons: Mapping[str, str]

COUNCIL_REPORT: Catalogue[CouncilReportText]

class DerivedPersonText(Texts):
    words: str
    field: str
    optional: str
    lines: str
    number: str
    between: str
    yes: str
    no: str

DERIVED_PERSON: Catalogue[DerivedPersonText]

class DiscoveryText(Texts):
    left_out: str
    not_installed: str
    same: str
    no_model: str
    none_usable: str
    ways: str
    doctor: str
    models: str
    sits: str
    embedded: str
    offer: str
    stored: str

DISCOVERY: Catalogue[DiscoveryText]

class EstimateText(Texts):
    rough: str
    no_price: str
    no_limit: str
    outside: str
    unknown: str
    capped: str

ESTIMATE: Catalogue[EstimateText]

class FactsFirstText(Texts):
    request: str
    person: str
    nothing: str
    heading: str
    line: str
    source: str
    between: str
    section: str
    stated: str
    passed: str
    lost: str
    none: str
    event: str
    phase: str
    why: Mapping[str, str]
    checks: Mapping[str, str]

FACTS_FIRST: Catalogue[FactsFirstText]

class FramingText(Texts):
    system: str
    question: str
    ask: str
    added: str
    assumes: str
    criteria: str
    between_criteria: str
    will_ask: str
    asked: str
    not_framed: str
    faults: Mapping[str, str]

FRAMING: Catalogue[FramingText]

class InterviewText(Texts):
    question: str
    said: str
    spoken: str
    choose: str
    nearest: str
    number: str
    understood: str
    long: str
    notes: str
    between: str
    enter: str
    one_number: str
    may_ask: str
    needed: str
    command: str
    unsaid: str
    again: str

INTERVIEW: Catalogue[InterviewText]

class InvitationText(Texts):
    frame: str
    consulted: str
    with_session: str
    with_seat: str
    steps: Mapping[str, str]
    kinds: Mapping[str, str]

INVITATION: Catalogue[InvitationText]

class LanguageText(Texts):
    name: str
    english_name: str
    tag: str
    english_details: str
    translated: str

LANGUAGE: Catalogue[LanguageText]

class LossDetailsText(Texts):
    outage: str
    cause: str
    between_causes: str
    quoted: str
    remedied: str
    amount: str
    units: Mapping[str, str]
    optional: Mapping[str, str]
    details: Mapping[str, str]
    remedies: Mapping[str, str]

LOSS_DETAILS: Catalogue[LossDetailsText]

class MemoText(Texts):
    result: str
    between: str
    between_two: str
    between_two_listed: str
    between_last: str
    all_of: str
    both: str
    all_of_inside: str
    both_inside: str
    all_steps: str
    both_steps: str
    one_step: str
    between_sentences: str
    left_out: str
    between_items: str
    bare_answers: tuple[str, ...]
    months: tuple[str, ...]
    due_words: tuple[str, ...]
    day_and_month: str
    day_month_and_year: str
    on_condition: str
    you: str
    needed_count: str
    your: str
    possessive: str
    below: str
    yes_to: str
    forecast: str
    said: str
    answers: str
    tries: tuple[str, ...]
    how: Mapping[str, str]
    badges: Mapping[str, str]
    sides: Mapping[str, str]
    before: Mapping[str, str]
    chances: Mapping[str, str]
    cautions: Mapping[str, str]
    shorts: Mapping[str, str]
    next: Mapping[str, str]
    obligation_states: Mapping[str, str]
    against: Mapping[str, str]
    missing: Mapping[str, str]
    losses: Mapping[str, str]
    open: Mapping[str, str]
    undecided: Mapping[str, str]
    limits: Mapping[str, str]
    answer: Mapping[str, str]
    steps: Mapping[str, str]
    review: Mapping[str, str]
    standing: Mapping[str, str]

MEMO: Catalogue[MemoText]

class OpeningText(Texts):
    discovered: str
    discovered_key: str
    embedded: str
    no_embedded: str
    mailbox: str
    mailbox_note: str
    titles: Mapping[str, str]
    summaries: Mapping[str, str]
    settings: Mapping[str, str]
    options: Mapping[str, str]

OPENING: Catalogue[OpeningText]

class ParticipantPromptText(Texts):
    system: str
    between: str
    you: str
    stance: str
    instructions: str
    choice: str
    choice_options: str
    choice_or_none: str
    own_choice: str
    confidence: str
    headline: str
    actions: str
    choice_or: str
    form: str
    to_user: str
    from_user: str
    counts_now: str
    reply_lines: str
    seated: str
    correction: str
    which_one: str
    yes: str
    no: str
    number_hint: str
    none_of_these: str
    premise: str
    or_one: str
    which_meant: str
    between_choices: str
    one_of_these: str
    which_words: str
    look_up: str
    looked_up: str
    look_up_failed: str
    heads: Mapping[str, str]

PARTICIPANT_PROMPT: Catalogue[ParticipantPromptText]

class PersonSeatText(Texts):
    empty: str
    left_empty: str
    needed: str
    choose: str
    number: str

PERSON_SEAT: Catalogue[PersonSeatText]

class PersonStepsText(TermsText):
    position: str
    condition: str
    due: str
    no_due: str
    why: str
    no_reason: str
    confidence: str
    not_stated: str
    moved_by: str
    no_entry: str
    choose: str
    choose_or_none: str
    no_choice: str
    in_short: str
    number: str
    number_in: str
    no_condition: str
    nothing: str
    abstain_from_all: str
    pass_over: str
    confidences: Mapping[str, str]

PERSON_STEPS: Catalogue[PersonStepsText]

class PrecedentsText(Texts):
    heading: str
    similar: str
    basis: str
    warning: str
    topic: str
    decided: str
    lesson: str
    outcomes: Mapping[str, str]

PRECEDENTS: Catalogue[PrecedentsText]

class RequirementText(Texts):
    met: str
    but: str
    other: str
    uncertain: str
    doubtful: str
    too_little: str

REQUIREMENT: Catalogue[RequirementText]

class SessionCommandText(Texts):
    session: str
    waiting: str
    until: str
    then_resume: str
    stopped: str
    waits: str
    expected: str
    price_unknown: str
    not_running: str
    earlier: str
    understood: str
    change_frame: str
    recorded: str
    recorded_as: str
    grouped: str
    no_groups: str
    recorded_before: str
    goes_on: str
    has_ended: str
    no_ask: str
    more_shown: str
    turned_out: str
    ask_until: str
    in_words: str
    nothing_recorded: str
    would_cancel: str
    cancelled: str
    answer_changed: str
    no_answer: str
    list_more: str
    send_secrets: str
    left_out_file: str
    more_left_out: str
    list_heads: Mapping[str, str]
    list_marks: Mapping[str, str]
    standings: Mapping[str, str]

SESSION_COMMAND: Catalogue[SessionCommandText]

class SessionViewText(Texts):
    asked: str
    writing: str
    sealed: str
    support: str
    turnout: str
    effective: str
    backing: str
    support_how: str
    turnout_how: str
    stated_how: str
    effective_how: str
    backing_how: str

SESSION_VIEW: Catalogue[SessionViewText]

class SitText(Texts):
    seated: str
    runs_here: str
    not_run: str
    other_person: str
    hosted: str
    gone: str
    went_on: str
    left: str

SIT: Catalogue[SitText]

class SwarmMessageText(Texts):
    task: str
    strategy: str
    board: str
    pheromones: str
    no_pheromones: str
    signals: str
    claims: str
    ideas: str
    findings: str
    more: str
    you: str
    role_news: str
    role_refused: str
    retry: str
    ping: str
    wake: str
    random: str
    switch: str
    inhibited: str
    cover: str
    amounts: str
    insights: str
    normal: str
    explore: str
    collide: str
    shutdown: str
    warnings: Mapping[str, str]
    roles: Mapping[str, str]
    modes: Mapping[str, str]
    hints: Mapping[str, str]

SWARM_MESSAGE: Catalogue[SwarmMessageText]

class SwarmPersonText(Texts):
    explore: str
    nothing_new: str
    classic: str
    random: str
    switch: str
    ideas: str
    holds: str
    still_held: str
    none_held: str
    direction: str
    usual_direction: str
    collide: str
    findings: str
    which: str
    say: str
    check: str
    vote: str
    rate: str
    not_rated: str
    no_votes: str
    synthesis: str
    inputs: str
    actions: Mapping[str, str]
    verdicts: Mapping[str, str]
    rates: Mapping[str, str]

SWARM_PERSON: Catalogue[SwarmPersonText]

class SwarmPromptText(Texts):
    perspectives: tuple[str, ...]
    question: str
    answers: str
    findings: str
    more: str
    insights: str
    yours: str
    again: str
    narrow: str
    where_given: str
    where_new: str
    where_other: str
    where_side: str
    explore: str
    known: str
    option: str
    option_other: str
    holds: str
    collide: str
    validate: str
    ballot: str
    synthesis: str
    final_choice: str
    choice_options: str
    tasks: Mapping[str, str]
    modes: Mapping[str, str]

SWARM_PROMPT: Catalogue[SwarmPromptText]

class SwarmReportText(SharedReportText):
    minutes: str
    convergence_report: str
    mode: str
    agents: str
    crew: str
    agents_line: str
    time: str
    time_line: str
    rounds: str
    partial: str
    converged: str
    not_converged: str
    classic: str
    still_open: str
    cancelled: str
    figures: str
    stability: str
    quorum: str
    diversity: str
    consensus: str
    consensus_heads: tuple[str, ...]
    no_consensus: str
    unique: str
    none: str
    quoted: str
    weak: str
    agent_table: str
    agent_heads: tuple[str, ...]
    evolution: str
    pheromones: str
    concentrations: str
    by_round: str
    conclusion: str
    by_vote: str
    leads: str
    most_support: str
    tied_support: str
    between: str
    colon: str
    backed_by: str
    support_line: str
    held_no_more: str
    evidence: str
    evidence_line: str
    checked: str
    what_readings_say: str
    what_decided: str
    evidence_heads: tuple[str, ...]
    undecided_two: str
    undecided_one: str
    indistinct: str
    evidence_margin: str
    evidence_needed: str
    evidence_fixed: str
    evidence_decisive: str
    runner_up: str
    why: str
    against: str
    no_objection: str
    all_ideas: str
    other_ideas: str
    bare: str
    in_round: str
    pheromone_line: str
    sure: str
    synthesis: str
    no_synthesis: str
    cites: str
    cites_nothing: str
    cites_unknown: str
    cites_refuted: str
    no_such_finding: str
    refuted_finding: str
    no_vote: str
    not_carried: str
    votes: str
    vote_heads: tuple[str, ...]
    idea_name: str
    joined: str
    joined_heads: tuple[str, ...]
    joined_how: str
    undone: str
    what_happened: str
    event_count: str
    round_heads: tuple[str, ...]
    round: str
    direction: str
    findings: str
    operations: str
    decision: str
    conflicts: str
    by_moot: str
    random: str
    yes: str
    no: str
    validator: str
    no_validator: str
    unvalidated: str
    validated: str
    insights: str
    modes: Mapping[str, str]
    convergence_reasons: Mapping[str, str]
    endings: Mapping[str, str]
    terms: Mapping[str, str]
    events: Mapping[str, str]
    evidence_methods: Mapping[str, str]

SWARM_REPORT: Catalogue[SwarmReportText]

class SwarmTemplateText(Texts):
    head: str
    readme: str

SWARM_TEMPLATE: Catalogue[SwarmTemplateText]

class TerminalPromptText(Texts):
    send: str
    several: str
    leave: str
    until: str
    draft: str
    earlier: str

TERMINAL_PROMPT: Catalogue[TerminalPromptText]

class TypedDecisionText(Texts):
    system: str
    question: str
    decision: str
    memo: str
    reasons: str
    ask: str
    corrected: str

TYPED_DECISION: Catalogue[TypedDecisionText]
