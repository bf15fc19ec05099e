"""Every operation of the control plane. `npm run generate` writes this file from the declarations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NotRequired, TypedDict

from ._transport import ServerEvent, Transport

# A report of pytest begins with the line of the test.
__tracebackhide__ = True

GetOverviewAnswerWaitingItem = TypedDict(
    "GetOverviewAnswerWaitingItem",
    {
        "operation": str | None,
        "request": str,
        "id": str | None,
        "model": str | None,
        "deploy_id": str | None,
        "since": str,
        "waited_seconds": float,
        "for": str,
        "until": str | None,
    },
)


GetOverviewAnswerEndpointsItemTakesItem = TypedDict(
    "GetOverviewAnswerEndpointsItemTakesItem",
    {
        "in": Literal["path", "query", "body"],
        "name": str,
        "type": str,
        "required": bool,
    },
)


class GetOverviewAnswerEndpointsItemExample(TypedDict):
    target: str
    body: NotRequired[Any]


class GetOverviewAnswerEndpointsItem(TypedDict):
    method: str
    path: str
    operation: str
    summary: str
    takes: list[GetOverviewAnswerEndpointsItemTakesItem]
    example: GetOverviewAnswerEndpointsItemExample


class GetOverviewAnswer(TypedDict):
    name: str
    version: str
    waiting: list[GetOverviewAnswerWaitingItem]
    endpoints: list[GetOverviewAnswerEndpointsItem]


GetAheadAnswerEntriesItem = TypedDict(
    "GetAheadAnswerEntriesItem",
    {
        "time": int,
        "at": str,
        "in": str,
        "kind": str,
        "subject": str,
        "sentence": str,
        "visible": bool,
    },
)


GetAheadAnswer = TypedDict(
    "GetAheadAnswer",
    {
        "from": str,
        "to": str,
        "stopped_by": Literal["time", "limit", "events", "nothing"],
        "events": int,
        "entries": list[GetAheadAnswerEntriesItem],
    },
)


class GetCausesAnswerCausesItem(TypedDict):
    seq: int
    at: str
    kind: str
    subject: str
    sentence: str


class GetCausesAnswerEffectsItem(TypedDict):
    seq: int
    at: str
    kind: str
    subject: str
    sentence: str
    depth: int


class GetCausesAnswerWaitingItem(TypedDict):
    id: str
    name: str


class GetCausesAnswerMoneyItem(TypedDict):
    id: str
    kind: str
    name: str
    since_microcents: int
    spent_microcents: int
    burn_microcents_per_hour: float


class GetCausesAnswer(TypedDict):
    causes: list[GetCausesAnswerCausesItem]
    entry: GetCausesAnswerCausesItem
    effects: list[GetCausesAnswerEffectsItem]
    matched: int
    waiting: list[GetCausesAnswerWaitingItem]
    money: list[GetCausesAnswerMoneyItem]


class GetClockAnswer(TypedDict):
    now: str
    elapsed_seconds: float
    mode: Literal["manual", "scaled", "on-poll", "idle", "follow"]
    speed: float | None
    paused_by: list[str]
    next_event_in_seconds: float | None


class AdvanceClockAnswerTransitionsItem(TypedDict):
    at: str
    subject: str
    became: str


class AdvanceClockAnswerFailedEventsItem(TypedDict):
    at: str
    subject: str
    event: str
    error: str


AdvanceClockAnswer = TypedDict(
    "AdvanceClockAnswer",
    {
        "from": str,
        "to": str,
        "now": str,
        "events": int,
        "counts": dict[str, int],
        "transitions": list[AdvanceClockAnswerTransitionsItem],
        "failed_events": NotRequired[list[AdvanceClockAnswerFailedEventsItem]],
    },
)


NextClockAnswer = TypedDict(
    "NextClockAnswer",
    {
        "from": str,
        "to": str,
        "now": str,
        "events": int,
        "counts": dict[str, int],
        "transitions": list[AdvanceClockAnswerTransitionsItem],
        "failed_events": NotRequired[list[AdvanceClockAnswerFailedEventsItem]],
        "reached": bool,
    },
)


UntilClockAnswerHappened = TypedDict(
    "UntilClockAnswerHappened",
    {
        "from": str,
        "to": str,
        "events": int,
        "counts": dict[str, int],
        "transitions": list[AdvanceClockAnswerTransitionsItem],
        "failed_events": NotRequired[list[AdvanceClockAnswerFailedEventsItem]],
    },
)


class UntilClockAnswerLast(TypedDict):
    status: int
    body: Any


class UntilClockAnswer(TypedDict):
    reached: bool
    now: str
    happened: UntilClockAnswerHappened
    last: UntilClockAnswerLast


GetNodeOfDeploymentAnswerGpu = Literal[
    "L4-24GB",
    "L40S-48GB",
    "A100-80GB",
    "H100-80GB",
    "H200-141GB",
    "B200-180GB",
    "B300-270GB",
    "RTXPRO6000-96GB",
    "other",
]


class GetNodeOfDeploymentAnswer(TypedDict):
    name: str
    state: Literal["provisioning", "ready", "cordoned", "down", "gone"]
    pool: str
    zone: str
    market: Literal["on-demand", "spot"]
    gpu: GetNodeOfDeploymentAnswerGpu
    gpus: int
    free: int
    broken: int
    slowdown: float


class ListGpuLimitsAnswerItem(TypedDict):
    gpu: str
    limit: int | None
    held: int


class ListVerbsAnswerItem(TypedDict):
    verb: str
    target: str
    undo: str | None
    says: str
    args: list[str]


class GiveCommandAnswer(TypedDict):
    verb: str
    at: str


class CompareWorldsAnswerDifferencesItem(TypedDict):
    kind: Literal["state", "money", "count", "request", "time"]
    subject: str
    before: str
    after: str


class CompareWorldsAnswerDivergedBefore(TypedDict):
    seq: int
    time: int
    at: str
    kind: str
    subject: str
    cause: int
    fields: NotRequired[dict[str, str | float | bool | None]]
    sentence: str


class CompareWorldsAnswerDiverged(TypedDict):
    time: int
    at: str
    before: CompareWorldsAnswerDivergedBefore | None
    after: CompareWorldsAnswerDivergedBefore | None


CompareWorldsAnswer = TypedDict(
    "CompareWorldsAnswer",
    {
        "world": str,
        "with": str,
        "equal": bool,
        "same_time": bool,
        "differences": list[CompareWorldsAnswerDifferencesItem],
        "requests_compared": bool,
        "diverged": CompareWorldsAnswerDiverged | None,
    },
)


class GetDigestAnswer(TypedDict):
    digest: str
    now: str


ExplainSubjectAnswerNext = TypedDict(
    "ExplainSubjectAnswerNext",
    {
        "at": str,
        "in": str,
        "sentence": str,
    },
)


class ExplainSubjectAnswer(TypedDict):
    subject: str
    sentences: list[str]
    chain: list[GetCausesAnswerCausesItem]
    effects: list[GetCausesAnswerCausesItem]
    next: NotRequired[ExplainSubjectAnswerNext]


class ClearFaultsAnswer(TypedDict):
    removed: int


class ListFaultsAnswerItem(TypedDict):
    id: str
    rule: dict[str, Any]
    matches: int
    hits: int


class AddFaultBodyAfter(TypedDict):
    kind: str


AddFaultBody = TypedDict(
    "AddFaultBody",
    {
        "name": NotRequired[str],
        "on": str | list[str],
        "in": NotRequired[str],
        "path": NotRequired[str],
        "token": NotRequired[str],
        "model": NotRequired[str],
        "deployment": NotRequired[str],
        "times": NotRequired[float],
        "nth": NotRequired[float],
        "for": NotRequired[str],
        "every": NotRequired[float],
        "chance": NotRequired[float],
        "after": NotRequired[AddFaultBodyAfter],
        "from": NotRequired[str],
        "until": NotRequired[str],
        "fault": AddFaultBodyAfter,
    },
)


class GetFieldsAnswerRecordsItemFieldsItem(TypedDict):
    field: str
    words: list[str]


class GetFieldsAnswerRecordsItem(TypedDict):
    record: str
    fields: list[GetFieldsAnswerRecordsItemFieldsItem]


class GetFieldsAnswerOperationsItem(TypedDict):
    operation: str
    route: str
    fields: list[GetFieldsAnswerRecordsItemFieldsItem]


class GetFieldsAnswer(TypedDict):
    records: list[GetFieldsAnswerRecordsItem]
    operations: list[GetFieldsAnswerOperationsItem]
    paths: list[str]
    headers: list[str]
    variants: list[str]
    tags: list[str]
    error_shapes: list[Literal["simple", "detail", "wrapped", "compat", "message"]]


class GetFleetAnswerTotals(TypedDict):
    nodes: int
    gpus: int
    free: int
    held: int
    others: int
    broken: int
    unusable: int


class GetFleetAnswerGroupsItemUnavailable(TypedDict):
    cause: Literal["stock_out", "zone_down", "spot_away"]
    since: str | None
    until: str | None


class GetFleetAnswerGroupsItem(TypedDict):
    pool: str
    zone: str
    market: Literal["on-demand", "spot"]
    gpu: str
    gpus: int
    unavailable: GetFleetAnswerGroupsItemUnavailable | None


GetFleetAnswerOwnersItemEngine = TypedDict(
    "GetFleetAnswerOwnersItemEngine",
    {
        "class": Literal["default", "tuned"],
        "tokens_per_second": float,
        "band": float | None,
        "rows": int,
        "places": int,
        "limit": Literal["memory", "max_batch_size", "step tokens"],
        "is_assumed": bool,
    },
)


class GetFleetAnswerOwnersItem(TypedDict):
    id: str
    kind: Literal["deployment", "container"]
    name: str
    status: str
    utilisation: float | None
    engine: GetFleetAnswerOwnersItemEngine | None


GetFleetAnswerNodesItemState = Literal[
    "provisioning",
    "ready",
    "cordoned",
    "draining",
    "down",
    "gone",
]


class GetFleetAnswerNodesItemHoldersItem(TypedDict):
    id: str
    owner: str
    state: str


class GetFleetAnswerNodesItem(TypedDict):
    name: str
    group: int
    state: GetFleetAnswerNodesItemState
    gpus: list[int]
    holders: list[GetFleetAnswerNodesItemHoldersItem]
    slowdown: float
    disk_full: bool


GetFleetAnswerWaitingItemCause = Literal[
    "no_such_node",
    "stock_out",
    "zone_down",
    "node_down",
    "node_closed",
    "gpus_broken",
    "other_customers",
    "no_free_gpus",
    "placement",
    "quota",
    "suspension",
    "autoscaler_frozen",
    "hub_down",
    "hub_slow",
    "registry_down",
    "starting",
]


class GetFleetAnswerWaitingItem(TypedDict):
    id: str
    name: str
    gpu: str
    gpus: int
    instances: int
    since: str | None
    cause: GetFleetAnswerWaitingItemCause
    sentence: str


class GetFleetAnswer(TypedDict):
    totals: GetFleetAnswerTotals
    groups: list[GetFleetAnswerGroupsItem]
    owners: list[GetFleetAnswerOwnersItem]
    nodes: list[GetFleetAnswerNodesItem]
    waiting: list[GetFleetAnswerWaitingItem]
    waiting_count: int


class HealWorldAnswerItemUndo(TypedDict):
    verb: str
    target: NotRequired[str]


class HealWorldAnswerItem(TypedDict):
    what: str
    undo: NotRequired[HealWorldAnswerItemUndo]


class GetHealthAnswer(TypedDict):
    status: Literal["ok"]
    version: str
    seed: str
    now: str


class ListScriptedAnswersAnswerRulesItem(TypedDict):
    name: str
    hits: int


class ListScriptedAnswersAnswer(TypedDict):
    rules: list[ListScriptedAnswersAnswerRulesItem]


class ScriptAnswerBodyAnswer(TypedDict):
    text: str


class ScriptAnswerBodyAnswer2(TypedDict):
    json: str | float | bool | list[Any] | dict[str, Any] | None


class ScriptAnswerBodyAnswer3ToolCall(TypedDict):
    name: str
    arguments: NotRequired[dict[str, str | float | bool | list[Any] | dict[str, Any] | None]]


class ScriptAnswerBodyAnswer3(TypedDict):
    toolCall: ScriptAnswerBodyAnswer3ToolCall


class ScriptAnswerBodyAnswer4Error(TypedDict):
    status: int
    message: NotRequired[str]
    retryAfter: NotRequired[int]
    body: NotRequired[str | float | bool | list[Any] | dict[str, Any] | None]
    headers: NotRequired[dict[str, str]]


class ScriptAnswerBodyAnswer4(TypedDict):
    error: ScriptAnswerBodyAnswer4Error


class GetJournalAnswerEntriesItem(TypedDict):
    seq: int
    time: int
    at: str
    kind: str
    subject: str
    cause: int
    fields: NotRequired[dict[str, str | float | bool | None]]


class GetJournalAnswer(TypedDict):
    entries: list[GetJournalAnswerEntriesItem]
    last: int
    dropped: int


class JudgeClientsAnswerFindingsItem(TypedDict):
    rule: str
    client: str
    words: str
    operation: str
    subject: NotRequired[str]
    evidence: list[str]
    source: str
    advice: str


class JudgeClientsAnswerClientsItem(TypedDict):
    client: str
    name: str
    requests: int


class JudgeClientsAnswer(TypedDict):
    findings: list[JudgeClientsAnswerFindingsItem]
    rules: list[str]
    clients: list[JudgeClientsAnswerClientsItem]
    dropped: int


class GetLedgerAnswerEntriesItem(TypedDict):
    time: str
    kind: Literal["funds", "topup", "rent", "tokens", "units", "adjustment"]
    subject: str
    microcents: int
    tokens: NotRequired[int]
    pricing_type: NotRequired[str]
    units: NotRequired[float]
    token_id: NotRequired[str]
    open: NotRequired[Literal[True]]


class GetLedgerAnswer(TypedDict):
    balance_microcents: int
    entries: list[GetLedgerAnswerEntriesItem]


GetLifecyclesAnswerRowsItemKind = Literal[
    "deployment",
    "instance",
    "batch",
    "hosted",
    "container",
    "node",
]


class GetLifecyclesAnswerRowsItemSegmentsItem(TypedDict):
    state: str
    begin: int
    end: int | None
    seq: int


class GetLifecyclesAnswerRowsItemReplicasItem(TypedDict):
    time: int
    ready: int
    starting: int


class GetLifecyclesAnswerRowsItemMarksItem(TypedDict):
    time: int
    seq: int
    kind: str
    subject: str
    sentence: str


class GetLifecyclesAnswerRowsItem(TypedDict):
    id: str
    kind: GetLifecyclesAnswerRowsItemKind
    name: str
    owner: str | None
    state: str
    begin: int
    end: int | None
    segments: list[GetLifecyclesAnswerRowsItemSegmentsItem]
    replicas: list[GetLifecyclesAnswerRowsItemReplicasItem]
    marks: list[GetLifecyclesAnswerRowsItemMarksItem]
    requests: int


class GetLifecyclesAnswer(TypedDict):
    now: str
    now_time: int
    matched: int
    dropped: int
    rows: list[GetLifecyclesAnswerRowsItem]
    world_marks: list[GetLifecyclesAnswerRowsItemMarksItem]


GetMoneyAnswerTopUp = TypedDict(
    "GetMoneyAnswerTopUp",
    {
        "at": str,
        "in": str,
        "microcents": int,
    },
)


class GetMoneyAnswerOwnersItemInstance(TypedDict):
    microcents_per_hour: float
    gpus: int
    min_instances: int
    max_instances: int


class GetMoneyAnswerOwnersItem(TypedDict):
    id: str
    kind: str
    name: str
    burn_microcents_per_hour: float
    spent_microcents: int
    gpus: int
    instance: GetMoneyAnswerOwnersItemInstance | None


GetMoneyAnswerSeries = TypedDict(
    "GetMoneyAnswerSeries",
    {
        "from": str,
        "step_seconds": float,
        "times": list[str],
        "owners": list[str],
        "spent_microcents": list[list[int]],
    },
)


class GetMoneyAnswerUsageDeploymentsItem(TypedDict):
    held_gpu_hours: float
    used_gpu_hours: float
    wasted_gpu_hours: float
    id: str


class GetMoneyAnswerUsage(TypedDict):
    held_gpu_hours: float
    used_gpu_hours: float
    wasted_gpu_hours: float
    deployments: list[GetMoneyAnswerUsageDeploymentsItem]


class GetMoneyAnswer(TypedDict):
    now: str
    balance_microcents: int
    opening_microcents: int
    added_microcents: int
    spent_microcents: int
    burn_microcents_per_hour: float
    runs_out_at: str | None
    runs_out_in: str | None
    tops_up: bool
    top_up: GetMoneyAnswerTopUp | None
    owners: list[GetMoneyAnswerOwnersItem]
    series: NotRequired[GetMoneyAnswerSeries]
    usage: NotRequired[GetMoneyAnswerUsage]


class ForgetPastAnswerKeptPartCheckpointsItem(TypedDict):
    time: int
    at: str
    entry: int
    inputs: int


ForgetPastAnswerKeptPart = TypedDict(
    "ForgetPastAnswerKeptPart",
    {
        "from": str,
        "from_time": int,
        "to": str,
        "to_time": int,
        "from_start": bool,
        "first_entry": int,
        "last_entry": int,
        "inputs": int,
        "dropped_inputs": int,
        "bytes": int,
        "checkpoints": list[ForgetPastAnswerKeptPartCheckpointsItem],
    },
)


class ForgetPastAnswer(TypedDict):
    kept: bool
    waiting: bool
    kept_part: ForgetPastAnswerKeptPart | None


class OpenRecordingAnswer(TypedDict):
    world: str
    now: str
    lines: int
    problem: str | None


GetReportAnswer = TypedDict(
    "GetReportAnswer",
    {
        "from": str,
        "to": str,
    },
)


class ListRequestsAnswerRequestsItem(TypedDict):
    seq: int
    operation: str
    method: str
    path: str
    sentAt: str
    at: str
    status: int
    decidedBy: Literal["fault", "limit", "state", "rule", "none"]
    reason: NotRequired[str]
    retryAfter: NotRequired[float]
    client: str
    subjects: list[str]
    body: NotRequired[Any]
    unread: NotRequired[list[str]]


class ListRequestsAnswer(TypedDict):
    requests: list[ListRequestsAnswerRequestsItem]
    matched: int
    dropped: int
    last: int


class SendRequestBodyRepeat(TypedDict):
    seq: int
    world: NotRequired[str]


class SendRequestAnswer(TypedDict):
    seq: int | None
    status: int
    headers: dict[str, str]
    body: Any
    bytes: int
    note: str | None
    now: str


class GetRequestAnswerSent(TypedDict):
    headers: dict[str, str]
    body: Any
    bytes: int
    note: str | None


class GetRequestAnswerAnswer(TypedDict):
    headers: dict[str, str]
    body: Any
    bytes: int
    note: str | None
    status: int
    fault: str | None


class GetRequestAnswer(TypedDict):
    seq: int
    method: str | None
    path: str | None
    sent: GetRequestAnswerSent | None
    answer: GetRequestAnswerAnswer | None
    code: dict[str, str]
    kept: bool
    reason: str | None


class ResetAnswer(TypedDict):
    now: str
    digest: str


class ListScenariosAnswerItem(TypedDict):
    name: str
    title: str | None
    state: Literal["ready", "playing", "done", "stopped", "unplayable"]
    done: int
    of: int | None
    started_at: str | None
    next_at: str | None
    problems: list[str]


class RunScenarioAnswerStepsItem(TypedDict):
    at: str
    text: str


class RunScenarioAnswer(TypedDict):
    name: str
    title: str
    passed: bool
    failure: str | None
    line: int | None
    checks: int
    seed: str
    seconds: float
    wall_ms: float
    digest: str
    steps: list[RunScenarioAnswerStepsItem]
    world: str | None


class ListSnapshotsAnswerItem(TypedDict):
    snapshot: str
    now: str
    digest: str
    seed: str
    fixtures: str
    profile: str
    version: str


class DeleteSnapshotAnswer(TypedDict):
    snapshot: str


class RestoreSnapshotAnswerClock(TypedDict):
    mode: Literal["manual", "scaled", "on-poll", "idle", "follow"]
    speed: float | None
    paused_by: list[str]


class RestoreSnapshotAnswer(TypedDict):
    now: str
    digest: str
    clock: RestoreSnapshotAnswerClock


ListThingsQueryKind = Literal[
    "deployment",
    "instance",
    "batch",
    "file",
    "container",
    "hosted",
    "node",
    "fault",
    "token",
    "ssh_key",
    "model",
    "voice",
]


class ListThingsAnswerRowsItem(TypedDict):
    id: str
    cells: list[str]


class ListThingsAnswer(TypedDict):
    path: str | None
    refused: bool
    columns: list[str]
    rows: list[ListThingsAnswerRowsItem]
    matched: int
    total: int


GetThingAnswerKind = Literal[
    "deployment",
    "instance",
    "hosted",
    "container",
    "batch",
    "batch_line",
    "file",
    "node",
    "token",
    "account",
    "fault",
    "scenario",
    "model",
    "answer",
    "gpu_type",
    "zone",
    "pool",
    "voice",
    "ssh_key",
    "repository",
    "other",
    "request",
    "entry",
]


class GetThingAnswerLedgerItem(TypedDict):
    time: str
    kind: Literal["funds", "topup", "rent", "tokens", "units", "adjustment"]
    microcents: int
    open: NotRequired[Literal[True]]


class GetThingAnswerCost(TypedDict):
    burn_microcents_per_hour: float
    spent_microcents: int


class GetThingAnswerRelatedItem(TypedDict):
    id: str
    kind: GetThingAnswerKind
    relation: str


class GetThingAnswerLinksItem(TypedDict):
    relation: str
    path: str


class GetThingAnswer(TypedDict):
    id: str
    kind: GetThingAnswerKind
    sentences: list[str]
    object: Any
    path: str | None
    entries: list[CompareWorldsAnswerDivergedBefore]
    requests: list[ListRequestsAnswerRequestsItem]
    ledger: list[GetThingAnswerLedgerItem]
    cost: GetThingAnswerCost | None
    related: list[GetThingAnswerRelatedItem]
    links: list[GetThingAnswerLinksItem]


class GetUnreadAnswerItem(TypedDict):
    operation: str
    what: str
    times: int


class VerifyReceivedBodyExpect(TypedDict):
    operation: NotRequired[str | list[str]]
    method: NotRequired[str]
    path: NotRequired[str]
    status: NotRequired[Any]
    body: NotRequired[Any]
    token: NotRequired[str]
    decidedBy: NotRequired[str | list[str]]
    subject: NotRequired[str]
    exactly: NotRequired[float]
    atLeast: NotRequired[float]
    atMost: NotRequired[float]
    none: NotRequired[bool]


VerifyReceivedBody = TypedDict(
    "VerifyReceivedBody",
    {
        "expect": VerifyReceivedBodyExpect | list[VerifyReceivedBodyExpect],
        "inOrder": NotRequired[bool],
        "from": NotRequired[str],
        "to": NotRequired[str],
    },
)


class VerifyReceivedAnswerResultsItemNearItem(TypedDict):
    seq: int
    operation: str
    method: str
    path: str
    status: int
    sentAt: str
    differs: list[str]


class VerifyReceivedAnswerResultsItem(TypedDict):
    ok: bool
    requests: str
    expected: str
    found: int
    matching: list[int]
    near: list[VerifyReceivedAnswerResultsItemNearItem]
    problem: str


class VerifyReceivedAnswer(TypedDict):
    ok: bool
    results: list[VerifyReceivedAnswerResultsItem]
    message: str
    compared: int
    dropped: int


class GetWeatherAnswerKindsItemActiveItem(TypedDict):
    place: str
    undo: HealWorldAnswerItemUndo


class GetWeatherAnswerKindsItem(TypedDict):
    kind: str
    places: int
    strikes_per_hour: float
    strikes: int
    active: list[GetWeatherAnswerKindsItemActiveItem]


class GetWeatherAnswer(TypedDict):
    pack: str
    packs: list[str]
    profile: str
    kinds: list[GetWeatherAnswerKindsItem]


class ListWorldsAnswerItemForkOf(TypedDict):
    world: str
    at: str


class ListWorldsAnswerItem(TypedDict):
    world: str
    token: str | None
    base_url: str
    fixtures: str
    seed: str
    now: str
    requests: int
    idle_seconds: float
    fork_of: ListWorldsAnswerItemForkOf | None


class CreateWorldBodyFill(TypedDict):
    models: NotRequired[int]
    deployments: NotRequired[int]


class CreateWorldBodyClock2(TypedDict):
    mode: str
    speed: NotRequired[float]


class CreateWorldAnswer(TypedDict):
    world: str
    token: str | None
    base_url: str


class DeleteWorldAnswer(TypedDict):
    world: str


class GetWorldAnswerCounts(TypedDict):
    deployments: int
    batches: int
    stored_bytes: int
    events: int


class GetWorldAnswer(TypedDict):
    world: str
    token: str | None
    base_url: str
    fixtures: str
    seed: str
    now: str
    requests: int
    idle_seconds: float
    fork_of: ListWorldsAnswerItemForkOf | None
    profile: str
    clock: RestoreSnapshotAnswerClock
    waiting: list[GetOverviewAnswerWaitingItem]
    digest: str
    age_seconds: float
    counts: GetWorldAnswerCounts



class Control:
    """The control plane of one world. Each method is one request.

    Each method raises SimulatorError if the server refuses the request.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def get_root(self) -> str:
        """Describe this server in a few words.

        Sends `GET /`.
        """
        return self._transport.send_for_text(
            "GET",
            "/",
        )

    def get_overview(self) -> GetOverviewAnswer:
        """List the endpoints of the control plane with their parameters and an example. `waiting`
        lists the pending requests of this world: since when each waits, for what, and until
        when.

        Sends `GET /_sim`.
        """
        result: GetOverviewAnswer = self._transport.send_for_json(
            "GET",
            "/_sim",
        )
        return result

    def get_ahead(
        self,
        *,
        by: str | None = None,
        limit: int | None = None,
        visible: Literal["true", "false"] | None = None,
    ) -> GetAheadAnswer:
        """List what will happen next without a further request or command: a copy of the world
        runs ahead by a duration (`1h`), for at most `limit` journal entries. With `visible`,
        entries that no client can see are left out. The world does not change.

        Sends `GET /_sim/ahead`.
        Refused with 400: an invalid duration.
        """
        result: GetAheadAnswer = self._transport.send_for_json(
            "GET",
            "/_sim/ahead",
            query={"by": by, "limit": limit, "visible": visible},
        )
        return result

    def get_causes(self, seq: str, *, limit: int | None = None) -> GetCausesAnswer:
        """Return the causes of a journal entry back to the first one, and everything that came of
        it. `waiting` has the deployments that wait because of the entry, and `money` what the
        things of the entry and of its effects cost since then. Refused requests have the entry
        that decided them as their cause.

        Sends `GET /_sim/causes/{seq}`.
        Refused with 404: a position that the journal does not have.
        """
        result: GetCausesAnswer = self._transport.send_for_json(
            "GET",
            f"/_sim/causes/{self._transport.quote(seq)}",
            query={"limit": limit},
        )
        return result

    def get_clock(self) -> GetClockAnswer:
        """Return the time of the world, how it moves, and when the next event fires.

        Sends `GET /_sim/clock`.
        """
        result: GetClockAnswer = self._transport.send_for_json(
            "GET",
            "/_sim/clock",
        )
        return result

    def set_clock(
        self,
        *,
        mode: str | None = None,
        speed: float | None = None,
        step: str | None = None,
        after: float | None = None,
    ) -> GetClockAnswer:
        """Set how time moves, without a jump. Modes: `manual`, `scaled` (with `speed`, in
        simulated seconds per second), `on-poll` (with `step`; default: to the next visible
        change), `idle` (with `after`, in real milliseconds).

        Sends `PUT /_sim/clock`.
        Refused with 400: an unknown mode, an invalid figure, or a figure of another mode.
        """
        result: GetClockAnswer = self._transport.send_for_json(
            "PUT",
            "/_sim/clock",
            body={"mode": mode, "speed": speed, "step": step, "after": after},
        )
        return result

    def advance_clock(self, *, by: str | None = None, to: str | None = None) -> AdvanceClockAnswer:
        """Advance time by a duration ("2h") or to a time (ISO 8601). All events on the way fire.

        Sends `POST /_sim/clock/advance`.
        Refused with 400: an invalid duration or time, a time in the past, or too many events at
        once.
        """
        result: AdvanceClockAnswer = self._transport.send_for_json(
            "POST",
            "/_sim/clock/advance",
            body={"by": by, "to": to},
        )
        return result

    def next_clock(
        self,
        *,
        visible: bool | None = None,
        within: str | None = None,
    ) -> NextClockAnswer:
        """Move time to the next event. With `visible`, move it to the next change that a client
        could see. Time moves by `within` at most.

        Sends `POST /_sim/clock/next`.
        Refused with 400: an invalid duration.
        """
        result: NextClockAnswer = self._transport.send_for_json(
            "POST",
            "/_sim/clock/next",
            body={"visible": visible, "within": within},
        )
        return result

    def pause_clock(self, *, owner: str) -> GetClockAnswer:
        """Hold the clock under a name. Time then moves only by `advance`, `next` and `until`.

        Sends `POST /_sim/clock/pause`.
        """
        result: GetClockAnswer = self._transport.send_for_json(
            "POST",
            "/_sim/clock/pause",
            body={"owner": owner},
        )
        return result

    def resume_clock(self, *, owner: str) -> GetClockAnswer:
        """Release a hold of the clock. Time moves again when the last hold is released.

        Sends `POST /_sim/clock/resume`.
        Refused with 400: a name without a hold.
        """
        result: GetClockAnswer = self._transport.send_for_json(
            "POST",
            "/_sim/clock/resume",
            body={"owner": owner},
        )
        return result

    def until_clock(
        self,
        *,
        get: str,
        where: dict[str, Any] | list[Any],
        within: str | None = None,
    ) -> UntilClockAnswer:
        """Move time until a GET of the service returns what `where` describes, for at most
        `within`. Default: 24h. If the GET returns an object, `where` has fields that it must
        have. If it returns a list, `where` is an array, and each of its elements must match a
        row. Values must be equal. For a number, `where` can have a range as a text: "50..",
        "..20" or "3..20". Of a nested object or list, `where` can have a part, and `[]` is an
        empty list. If `within` passes first, `reached` is false. `last` is the last response of
        the GET.

        Sends `POST /_sim/clock/until`.
        Refused with 400: an unknown path, a path whose first response is an error or has
        another type than where, a where that no answer can have, or an invalid duration.
        """
        result: UntilClockAnswer = self._transport.send_for_json(
            "POST",
            "/_sim/clock/until",
            body={"get": get, "where": where, "within": within},
        )
        return result

    def get_node_of_deployment(self, deploy_id: str) -> GetNodeOfDeploymentAnswer:
        """Return the node of the oldest placed instance of a deployment, or of a container.

        Sends `GET /_sim/cluster/deployments/{deploy_id}/node`.
        Refused with 404: an unknown id.
        Refused with 409: it has no node yet, or has ended.
        """
        result: GetNodeOfDeploymentAnswer = self._transport.send_for_json(
            "GET",
            f"/_sim/cluster/deployments/{self._transport.quote(deploy_id)}/node",
        )
        return result

    def list_gpu_limits(self) -> list[ListGpuLimitsAnswerItem]:
        """List the account's limit for each GPU type (null: unlimited), and how many GPUs are held
        or requested.

        Sends `GET /_sim/cluster/limits`.
        """
        result: list[ListGpuLimitsAnswerItem] = self._transport.send_for_json(
            "GET",
            "/_sim/cluster/limits",
        )
        return result

    def list_nodes(self) -> list[GetNodeOfDeploymentAnswer]:
        """List the nodes of the fleet with their free GPUs.

        Sends `GET /_sim/cluster/nodes`.
        """
        result: list[GetNodeOfDeploymentAnswer] = self._transport.send_for_json(
            "GET",
            "/_sim/cluster/nodes",
        )
        return result

    def list_verbs(self) -> list[ListVerbsAnswerItem]:
        """List the commands that break or repair something, with their targets and arguments.

        Sends `GET /_sim/commands`.
        """
        result: list[ListVerbsAnswerItem] = self._transport.send_for_json(
            "GET",
            "/_sim/commands",
        )
        return result

    def give_command(
        self,
        *,
        verb: str,
        target: str | None = None,
        args: dict[str, str | float | bool | list[str] | None] | None = None,
        at: str | None = None,
    ) -> GiveCommandAnswer:
        """Execute a command now, or later: `at` is a duration from now, or ISO 8601. `GET
        /_sim/commands` lists them.

        Sends `POST /_sim/commands`.
        Refused with 400: an unknown verb or target, a target of a command without one, or an
        invalid argument or time.
        """
        result: GiveCommandAnswer = self._transport.send_for_json(
            "POST",
            "/_sim/commands",
            body={"verb": verb, "target": target, "args": args, "at": at},
        )
        return result

    def compare_worlds(
        self,
        *,
        with_: str | None = None,
        snapshot: str | None = None,
        fresh: Literal["true"] | None = None,
    ) -> CompareWorldsAnswer:
        """Compare this world (`after`) with another one (`before`): states, nodes, money, counts
        and requests that differ, and the first journal entry that differs. The other world is
        the world `with`, or a `snapshot` of this one, or with `fresh=true` this one at its
        start. If one is a fork of the other, only requests since then count.

        Sends `GET /_sim/differences`.
        Refused with 400: not one of with, snapshot and fresh.
        Refused with 404: an unknown world or snapshot.
        """
        result: CompareWorldsAnswer = self._transport.send_for_json(
            "GET",
            "/_sim/differences",
            query={"with": with_, "snapshot": snapshot, "fresh": fresh},
        )
        return result

    def get_digest(self) -> GetDigestAnswer:
        """Return the digest of all events. It is equal for equal seeds, fixtures and requests.

        Sends `GET /_sim/digest`.
        """
        result: GetDigestAnswer = self._transport.send_for_json(
            "GET",
            "/_sim/digest",
        )
        return result

    def get_engine_metrics(self, instance: str) -> str:
        """Return the metrics of the engine of one instance, as the engine itself serves them. The
        format follows Accept.

        Sends `GET /_sim/engines/{instance}/metrics`.
        Refused with 404: an unknown instance.
        Refused with 503: an instance whose engine does not answer yet.
        """
        return self._transport.send_for_text(
            "GET",
            f"/_sim/engines/{self._transport.quote(instance)}/metrics",
        )

    def watch_events(
        self,
        *,
        kind: str | None = None,
        subject: str | None = None,
        after: str | None = None,
        follow: Literal["true", "false"] | None = None,
        form: Literal["objects", "columns"] | None = None,
    ) -> Iterator[ServerEvent]:
        """Stream journal entries and answered requests as server-sent events. `kind` and `subject`
        can be lists with commas, and `*` is any text. `kind=request` gives requests alone.
        `after` is `now`, `start` or the id of an event; a header `Last-Event-ID` takes
        precedence. With `follow=false`, the stream ends after what is kept. With
        `form=columns`, many entries make one event `entries`, which is less work:
        docs/requests.md describes it.

        Sends `GET /_sim/events`.
        Refused with 400: an unknown kind, or an invalid position.
        Refused with 429: the world has 100 readers.
        """
        return self._transport.send_for_events(
            "GET",
            "/_sim/events",
            query={
                "kind": kind,
                "subject": subject,
                "after": after,
                "follow": follow,
                "form": form,
            },
        )

    def explain_subject(self, subject: str) -> ExplainSubjectAnswer:
        """Explain a thing by its id or name, or a journal entry by its position: its state, what
        decided it, its causes and effects, and what happens to it next.

        Sends `GET /_sim/explain/{subject}`.
        Refused with 404: an unknown id, or a position that the journal does not have.
        """
        result: ExplainSubjectAnswer = self._transport.send_for_json(
            "GET",
            f"/_sim/explain/{self._transport.quote(subject)}",
        )
        return result

    def clear_faults(self) -> ClearFaultsAnswer:
        """Remove all fault rules.

        Sends `DELETE /_sim/faults`.
        """
        result: ClearFaultsAnswer = self._transport.send_for_json(
            "DELETE",
            "/_sim/faults",
        )
        return result

    def list_faults(self) -> list[ListFaultsAnswerItem]:
        """List the fault rules in the order in which they are tried, with their matches and hits.

        Sends `GET /_sim/faults`.
        """
        result: list[ListFaultsAnswerItem] = self._transport.send_for_json(
            "GET",
            "/_sim/faults",
        )
        return result

    def add_fault(self, body: AddFaultBody) -> ListFaultsAnswerItem:
        """Add a fault rule: on which operations, when, and which fault. docs/faults.md lists the
        fault kinds.

        Sends `POST /_sim/faults`.
        Refused with 400: an unknown operation, kind or field, contradictory triggers, a window
        in the past, or a duplicate name.
        """
        result: ListFaultsAnswerItem = self._transport.send_for_json(
            "POST",
            "/_sim/faults",
            body=body,
        )
        return result

    def remove_fault(self, id: str) -> ListFaultsAnswerItem:
        """Remove a fault rule. The other rules keep their counts and random draws.

        Sends `DELETE /_sim/faults/{id}`.
        Refused with 404: an unknown id.
        """
        result: ListFaultsAnswerItem = self._transport.send_for_json(
            "DELETE",
            f"/_sim/faults/{self._transport.quote(id)}",
        )
        return result

    def get_fault(self, id: str) -> ListFaultsAnswerItem:
        """Return a fault rule with its matches and hits.

        Sends `GET /_sim/faults/{id}`.
        Refused with 404: an unknown id.
        """
        result: ListFaultsAnswerItem = self._transport.send_for_json(
            "GET",
            f"/_sim/faults/{self._transport.quote(id)}",
        )
        return result

    def get_fields(self) -> GetFieldsAnswer:
        """List what a names profile can name: records with their fields and words, operations with
        the fields outside of records, words of paths, headers, tags and error shapes. The names
        are neutral.

        Sends `GET /_sim/fields`.
        """
        result: GetFieldsAnswer = self._transport.send_for_json(
            "GET",
            "/_sim/fields",
        )
        return result

    def get_fleet(self) -> GetFleetAnswer:
        """Return the nodes of the fleet, the state of each GPU and who holds it, the pools without
        GPUs, and the deployments that wait for GPUs.

        Sends `GET /_sim/fleet`.
        """
        result: GetFleetAnswer = self._transport.send_for_json(
            "GET",
            "/_sim/fleet",
        )
        return result

    def heal_world(self) -> list[HealWorldAnswerItem]:
        """Undo all active failures that a command can undo, and return them.

        Sends `POST /_sim/heal`.
        """
        result: list[HealWorldAnswerItem] = self._transport.send_for_json(
            "POST",
            "/_sim/heal",
        )
        return result

    def get_health(self) -> GetHealthAnswer:
        """Return whether the simulator is up. It answers during a long move of the clock too.

        Sends `GET /_sim/health`.
        """
        result: GetHealthAnswer = self._transport.send_for_json(
            "GET",
            "/_sim/health",
        )
        return result

    def clear_scripted_answers(self) -> dict[str, Any]:
        """Remove all rules for scripted answers.

        Sends `DELETE /_sim/inference`.
        """
        result: dict[str, Any] = self._transport.send_for_json(
            "DELETE",
            "/_sim/inference",
        )
        return result

    def list_scripted_answers(self) -> ListScriptedAnswersAnswer:
        """List the rules for scripted answers of models in the order in which they are tried.

        Sends `GET /_sim/inference`.
        """
        result: ListScriptedAnswersAnswer = self._transport.send_for_json(
            "GET",
            "/_sim/inference",
        )
        return result

    def script_answer(
        self,
        *,
        answer: ScriptAnswerBodyAnswer | ScriptAnswerBodyAnswer2 | ScriptAnswerBodyAnswer3 | ScriptAnswerBodyAnswer4,
        name: str | None = None,
        model: str | None = None,
        contains: str | None = None,
        times: int | None = None,
    ) -> ListScriptedAnswersAnswerRulesItem:
        """Add a rule for scripted answers: which requests it answers (`model`, `contains`,
        `times`), and a `text`, `json`, `toolCall` or `error`.

        Sends `POST /_sim/inference`.
        Refused with 400: a duplicate name.
        """
        result: ListScriptedAnswersAnswerRulesItem = self._transport.send_for_json(
            "POST",
            "/_sim/inference",
            body={
                "name": name,
                "model": model,
                "contains": contains,
                "times": times,
                "answer": answer,
            },
        )
        return result

    def remove_scripted_answer(self, name: str) -> dict[str, Any]:
        """Remove a rule for scripted answers.

        Sends `DELETE /_sim/inference/{name}`.
        Refused with 404: an unknown name.
        """
        result: dict[str, Any] = self._transport.send_for_json(
            "DELETE",
            f"/_sim/inference/{self._transport.quote(name)}",
        )
        return result

    def get_journal(
        self,
        *,
        after: int | None = None,
        limit: int | None = None,
        kind: str | None = None,
    ) -> GetJournalAnswer:
        """List journal entries, oldest first: those `after` a position, at most `limit`. `kind`
        can be a list with commas, and `*` is any text.

        Sends `GET /_sim/journal`.
        Refused with 400: an unknown kind.
        """
        result: GetJournalAnswer = self._transport.send_for_json(
            "GET",
            "/_sim/journal",
            query={"after": after, "limit": limit, "kind": kind},
        )
        return result

    def judge_clients(
        self,
        *,
        off: str | None = None,
        keep: str | None = None,
        pollsAtMost: str | None = None,
        client: str | None = None,
    ) -> JudgeClientsAnswer:
        """Judge the conduct of the clients when they have ended. Each API token is a client. The
        rules in `off` are not applied, and the things in `keep` may go on: both are lists with
        commas. `client` is the id or the name of a token. See docs/judge.md.

        Sends `GET /_sim/judge`.
        Refused with 400: an unknown rule, client or id, or an invalid rate.
        """
        result: JudgeClientsAnswer = self._transport.send_for_json(
            "GET",
            "/_sim/judge",
            query={"off": off, "keep": keep, "pollsAtMost": pollsAtMost, "client": client},
        )
        return result

    def get_ledger(
        self,
        *,
        from_: str | None = None,
        to: str | None = None,
        subject: str | None = None,
    ) -> GetLedgerAnswer:
        """Return the balance of the account in micro-cents, and its postings: of one subject, or
        between two times (Unix seconds or ISO 8601).

        Sends `GET /_sim/ledger`.
        Refused with 400: an invalid time, or one after the end.
        """
        result: GetLedgerAnswer = self._transport.send_for_json(
            "GET",
            "/_sim/ledger",
            query={"from": from_, "to": to, "subject": subject},
        )
        return result

    def get_lifecycles(
        self,
        *,
        kind: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        limit: int | None = None,
    ) -> GetLifecyclesAnswer:
        """List the lives of deployments, instances, batches, rentals and nodes: their states with
        begin and end, replicas and marks. `kind` is a list with commas. With `from` and `to`
        (times), it lists only those that overlap the window.

        Sends `GET /_sim/lifecycles`.
        Refused with 400: an unknown kind, or an invalid time.
        """
        result: GetLifecyclesAnswer = self._transport.send_for_json(
            "GET",
            "/_sim/lifecycles",
            query={"kind": kind, "from": from_, "to": to, "limit": limit},
        )
        return result

    def get_metrics(self) -> str:
        """Return the metrics of the simulator, the deployments, all engines and all GPUs for
        Prometheus, at the virtual time. The format follows Accept: text 0.0.4 or OpenMetrics.
        docs/metrics.md lists the metrics.

        Sends `GET /_sim/metrics`.
        """
        return self._transport.send_for_text(
            "GET",
            "/_sim/metrics",
        )

    def get_money(
        self,
        *,
        step: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        usage: Literal["true", "false"] | None = None,
    ) -> GetMoneyAnswer:
        """Return what each deployment, rental, batch, model and own record costs per hour now and
        cost so far, in micro-cents, and when the balance is zero at this burn. With `step`
        (`5m`), it also has what each cost in each step between two times. With `usage=true`, it
        also has the GPU-hours of the report, which takes longer.

        Sends `GET /_sim/money`.
        Refused with 400: an invalid time, a time before the epoch or in the future, or an
        invalid step.
        """
        result: GetMoneyAnswer = self._transport.send_for_json(
            "GET",
            "/_sim/money",
            query={"step": step, "from": from_, "to": to, "usage": usage},
        )
        return result

    def save_page(self) -> bytes:
        """Return one HTML file that runs the past of the world again when it is opened, without a
        server. It contains every request with its body; hashes replace credentials.

        Sends `GET /_sim/page`.
        Refused with 409: the past is not kept, or waits for requests in progress.
        Refused with 501: this host cannot write pages.
        """
        return self._transport.send_for_bytes(
            "GET",
            "/_sim/page",
        )

    def forget_past(self) -> ForgetPastAnswer:
        """Forget the past of the world, and keep it no longer.

        Sends `DELETE /_sim/past`.
        """
        result: ForgetPastAnswer = self._transport.send_for_json(
            "DELETE",
            "/_sim/past",
        )
        return result

    def get_past(self) -> ForgetPastAnswer:
        """Return which part of the past of the world is kept, for `POST /_sim/worlds` with `at`,
        `entry`, `after_request` or `before_request`.

        Sends `GET /_sim/past`.
        """
        result: ForgetPastAnswer = self._transport.send_for_json(
            "GET",
            "/_sim/past",
        )
        return result

    def keep_past(self) -> ForgetPastAnswer:
        """Keep the past of the world from now on, in memory: every request and command, and
        checkpoints. At 64 MiB, the oldest part is dropped. After a reset and a restore, it
        begins again. It contains prompts.

        Sends `POST /_sim/past`.
        Refused with 409: requests are in progress, or a replay drives the world.
        """
        result: ForgetPastAnswer = self._transport.send_for_json(
            "POST",
            "/_sim/past",
        )
        return result

    def get_past_recording(self) -> str:
        """Return the past of the world as a recording, for the command `replay`. It contains every
        request with its body; hashes replace credentials.

        Sends `GET /_sim/past/recording`.
        Refused with 409: the past is not kept, or waits for requests in progress.
        """
        return self._transport.send_for_text(
            "GET",
            "/_sim/past/recording",
        )

    def get_past_scenario(
        self,
        *,
        format: Literal["yaml", "typescript"] | None = None,
        only: Literal["actions"] | None = None,
    ) -> str:
        """Return the past of the world as a scenario, in YAML or TypeScript: its requests with
        their statuses, commands and fault rules. With `only=actions`, requests of clients are
        left out. The command `run --update` writes its trace.

        Sends `GET /_sim/past/scenario`.
        Refused with 400: a past that no scenario can play, or in which nothing happened.
        Refused with 409: the past is not kept, or waits for requests in progress.
        """
        return self._transport.send_for_text(
            "GET",
            "/_sim/past/scenario",
            query={"format": format, "only": only},
        )

    def open_recording(self, *, recording: str) -> OpenRecordingAnswer:
        """Create a world that runs a recording again, up to its end or to the first answer that
        differs. Its past is kept from the start. Webhooks of the recording are not sent again.

        Sends `POST /_sim/recordings`.
        Refused with 400: a text that is not a recording of this version, or names a file.
        Refused with 429: too many worlds.
        """
        result: OpenRecordingAnswer = self._transport.send_for_json(
            "POST",
            "/_sim/recordings",
            body={"recording": recording},
        )
        return result

    def get_report(
        self,
        *,
        from_: str | None = None,
        to: str | None = None,
        step: str | None = None,
    ) -> GetReportAnswer:
        """Report what the world did and cost between two times (Unix seconds or ISO 8601): money,
        GPU-hours, requests, cold starts, failures, batches. With `step` (`5m`), it has a row
        for each deployment and step. docs/reports.md describes every field.

        Sends `GET /_sim/report`.
        Refused with 400: an invalid time, a time before the epoch or in the future, or an
        invalid step.
        """
        result: GetReportAnswer = self._transport.send_for_json(
            "GET",
            "/_sim/report",
            query={"from": from_, "to": to, "step": step},
        )
        return result

    def list_requests(
        self,
        *,
        operation: str | None = None,
        method: str | None = None,
        path: str | None = None,
        status: str | None = None,
        token: str | None = None,
        decidedBy: str | None = None,
        subject: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        after: int | None = None,
        limit: int | None = None,
        bodies: Literal["short", "whole", "none"] | None = None,
    ) -> ListRequestsAnswer:
        """List the newest 1,000 requests that the service received, oldest first. Lists in a
        parameter have commas, and `*` is any text: docs/requests.md describes every parameter
        and field.

        Sends `GET /_sim/requests`.
        Refused with 400: an unknown operation, method, status or token, or an invalid path or
        time.
        """
        result: ListRequestsAnswer = self._transport.send_for_json(
            "GET",
            "/_sim/requests",
            query={
                "operation": operation,
                "method": method,
                "path": path,
                "status": status,
                "token": token,
                "decidedBy": decidedBy,
                "subject": subject,
                "from": from_,
                "to": to,
                "after": after,
                "limit": limit,
                "bodies": bodies,
            },
        )
        return result

    def send_request(
        self,
        *,
        method: str | None = None,
        path: str | None = None,
        headers: dict[str, str | None] | None = None,
        body: Any | None = None,
        client: str | None = None,
        repeat: SendRequestBodyRepeat | None = None,
    ) -> SendRequestAnswer:
        """Send a request to the service as a client of this world. `client` is the id of an API
        token. Default: the first token. `repeat` names a request of the past by its `seq`, and
        the `world` of that past (default: this one). That request is sent as it was then, with
        its token. The fields beside `repeat` change it. A header or a body that is null is left
        out. A stream is answered as text when it ends.

        Sends `POST /_sim/requests`.
        Refused with 400: a missing path, a path of the control plane, an invalid method or
        header, or client beside repeat.
        Refused with 404: an unknown token or world.
        Refused with 409: a past that does not have the request to repeat.
        """
        result: SendRequestAnswer = self._transport.send_for_json(
            "POST",
            "/_sim/requests",
            body={
                "method": method,
                "path": path,
                "headers": headers,
                "body": body,
                "client": client,
                "repeat": repeat,
            },
        )
        return result

    def get_request(self, seq: str) -> GetRequestAnswer:
        """Return the headers and the body of a request and of its answer, from the past of the
        world. `seq` is that of the list of requests. If the past does not have them, `reason`
        says why.

        Sends `GET /_sim/requests/{seq}`.
        Refused with 404: a seq that is not a request of a client.
        """
        result: GetRequestAnswer = self._transport.send_for_json(
            "GET",
            f"/_sim/requests/{self._transport.quote(seq)}",
        )
        return result

    def reset(self) -> ResetAnswer:
        """Return to the world as it was loaded, with its time, ids and digest.

        Sends `POST /_sim/reset`.
        """
        result: ResetAnswer = self._transport.send_for_json(
            "POST",
            "/_sim/reset",
        )
        return result

    def list_scenarios(self) -> list[ListScenariosAnswerItem]:
        """List the scenarios in YAML and JSON of the server (`serve --scenarios`), with their
        progress in this world.

        Sends `GET /_sim/scenarios`.
        """
        result: list[ListScenariosAnswerItem] = self._transport.send_for_json(
            "GET",
            "/_sim/scenarios",
        )
        return result

    def stop_scenario(self, name: str) -> ListScenariosAnswerItem:
        """Stop a scenario: cancel its scheduled commands and remove its fault rules. The effects
        of executed commands stay. A scenario that is not playing does not change.

        Sends `DELETE /_sim/scenarios/{name}`.
        Refused with 404: an unknown name, or a scenario that is neither YAML nor JSON.
        """
        result: ListScenariosAnswerItem = self._transport.send_for_json(
            "DELETE",
            f"/_sim/scenarios/{self._transport.quote(name)}",
        )
        return result

    def get_scenario(self, name: str) -> ListScenariosAnswerItem:
        """Return a scenario: whether its timeline can be played in this world, and its progress.

        Sends `GET /_sim/scenarios/{name}`.
        Refused with 404: an unknown name, or a scenario that is neither YAML nor JSON.
        """
        result: ListScenariosAnswerItem = self._transport.send_for_json(
            "GET",
            f"/_sim/scenarios/{self._transport.quote(name)}",
        )
        return result

    def run_scenario(self, name: str, *, open: bool | None = None) -> RunScenarioAnswer:
        """Run a scenario in YAML or JSON whole, in a world of its own with its own seed: its
        requests, checks and trace, as `modelhost-sim run` does. With `open`, a further world of
        the server has this run, and its past.

        Sends `POST /_sim/scenarios/{name}/run`.
        Refused with 400: an invalid file, or a scenario that plays a client.
        Refused with 404: an unknown name, or a scenario that is neither YAML nor JSON.
        Refused with 429: too many worlds.
        """
        result: RunScenarioAnswer = self._transport.send_for_json(
            "POST",
            f"/_sim/scenarios/{self._transport.quote(name)}/run",
            body={"open": open},
        )
        return result

    def start_scenario(self, name: str) -> ListScenariosAnswerItem:
        """Start the timeline of a scenario in this world: its commands and fault rules, each at
        its time from now. The requests of the scenario are not played; the client of the world
        makes its own.

        Sends `POST /_sim/scenarios/{name}/start`.
        Refused with 400: an invalid file, a scenario without a timeline, or a target or rule
        that is invalid in this world.
        Refused with 404: an unknown name, or a scenario that is neither YAML nor JSON.
        Refused with 409: it is already playing.
        """
        result: ListScenariosAnswerItem = self._transport.send_for_json(
            "POST",
            f"/_sim/scenarios/{self._transport.quote(name)}/start",
        )
        return result

    def list_snapshots(self) -> list[ListSnapshotsAnswerItem]:
        """List the snapshots of the world, oldest first.

        Sends `GET /_sim/snapshots`.
        """
        result: list[ListSnapshotsAnswerItem] = self._transport.send_for_json(
            "GET",
            "/_sim/snapshots",
        )
        return result

    def take_snapshot(self, *, name: str | None = None) -> ListSnapshotsAnswerItem:
        """Take a snapshot of the world under a name. Default: `snapshot-1`, `snapshot-2`, …. It
        has the state of the world, its fault rules, its playing scenarios and its clock.

        Sends `POST /_sim/snapshots`.
        Refused with 409: a duplicate name.
        Refused with 429: too many snapshots in this world.
        """
        result: ListSnapshotsAnswerItem = self._transport.send_for_json(
            "POST",
            "/_sim/snapshots",
            body={"name": name},
        )
        return result

    def delete_snapshot(self, snapshot: str) -> DeleteSnapshotAnswer:
        """Delete a snapshot.

        Sends `DELETE /_sim/snapshots/{snapshot}`.
        Refused with 404: an unknown snapshot.
        """
        result: DeleteSnapshotAnswer = self._transport.send_for_json(
            "DELETE",
            f"/_sim/snapshots/{self._transport.quote(snapshot)}",
        )
        return result

    def export_snapshot(self, snapshot: str) -> bytes:
        """Return a snapshot as bytes with a checksum, for another server, `--fixtures` or
        `loadSnapshot`. They include the tokens of the world.

        Sends `GET /_sim/snapshots/{snapshot}/export`.
        Refused with 404: an unknown snapshot.
        """
        return self._transport.send_for_bytes(
            "GET",
            f"/_sim/snapshots/{self._transport.quote(snapshot)}/export",
        )

    def import_snapshot(self, snapshot: str, file: bytes) -> ListSnapshotsAnswerItem:
        """Add an exported or saved snapshot under a name. It does not restore the snapshot.

        Sends `POST /_sim/snapshots/{snapshot}/import`.
        Refused with 400: bytes that are not a snapshot, are damaged or truncated, are of
        another version, or need own endpoints.
        Refused with 409: a duplicate name.
        Refused with 413: more than 256 MiB.
        Refused with 429: too many snapshots in this world.
        """
        result: ListSnapshotsAnswerItem = self._transport.send_for_json(
            "POST",
            f"/_sim/snapshots/{self._transport.quote(snapshot)}/import",
            file=file,
        )
        return result

    def restore_snapshot(self, snapshot: str) -> RestoreSnapshotAnswer:
        """Continue from a snapshot, exactly as the world did then. The journal becomes empty, and
        `reset` still returns to the start of the world. If the snapshot follows fake timers,
        which a server does not have, the present clock stays.

        Sends `POST /_sim/snapshots/{snapshot}/restore`.
        Refused with 404: an unknown snapshot.
        """
        result: RestoreSnapshotAnswer = self._transport.send_for_json(
            "POST",
            f"/_sim/snapshots/{self._transport.quote(snapshot)}/restore",
        )
        return result

    def list_things(
        self,
        *,
        kind: ListThingsQueryKind,
        filter: str | None = None,
        limit: int | None = None,
    ) -> ListThingsAnswer:
        """List the things of a kind as a table, with a row for each. Fields that are a text, a
        number or a boolean are columns. `filter` is a part of the id or of any cell. `GET
        /_sim/things/{id}` has the whole thing.

        Sends `GET /_sim/things`.
        """
        result: ListThingsAnswer = self._transport.send_for_json(
            "GET",
            "/_sim/things",
            query={"kind": kind, "filter": filter, "limit": limit},
        )
        return result

    def get_thing(self, id: str) -> GetThingAnswer:
        """Return what an id or a name is, and everything about it: the object as the service shows
        it, its newest journal entries, requests and postings, and related things. A number is a
        position in the journal.

        Sends `GET /_sim/things/{id}`.
        Refused with 404: an unknown id, or a position that the journal does not have.
        """
        result: GetThingAnswer = self._transport.send_for_json(
            "GET",
            f"/_sim/things/{self._transport.quote(id)}",
        )
        return result

    def list_troubles(self) -> list[HealWorldAnswerItem]:
        """List the active failures of the world, each with the command that undoes it, if there is
        one.

        Sends `GET /_sim/troubles`.
        """
        result: list[HealWorldAnswerItem] = self._transport.send_for_json(
            "GET",
            "/_sim/troubles",
        )
        return result

    def get_unread(self) -> list[GetUnreadAnswerItem]:
        """List the parameters, fields and bodies of the newest 1,000 requests that nothing reads.
        It needs strict requests (`--strict-requests`).

        Sends `GET /_sim/unread`.
        Refused with 400: a world without strict requests.
        """
        result: list[GetUnreadAnswerItem] = self._transport.send_for_json(
            "GET",
            "/_sim/unread",
        )
        return result

    def verify_received(self, body: VerifyReceivedBody) -> VerifyReceivedAnswer:
        """Verify which requests the service received: how many (`exactly`, `atLeast`, `atMost`,
        `none`; default: at least 1), and their order (`inOrder`). The answer is 200 with `ok`
        true or false, and near misses with what differs.

        Sends `POST /_sim/verify`.
        Refused with 400: an unknown field, operation, method, status or token, contradictory
        counts, or an invalid path or time.
        """
        result: VerifyReceivedAnswer = self._transport.send_for_json(
            "POST",
            "/_sim/verify",
            body=body,
        )
        return result

    def get_weather(self) -> GetWeatherAnswer:
        """Return the weather of the world: how often each kind of failure happens, and which
        failures are active now, each with the command that undoes it. `packs` lists the values
        of the option `weather` of a world.

        Sends `GET /_sim/weather`.
        """
        result: GetWeatherAnswer = self._transport.send_for_json(
            "GET",
            "/_sim/weather",
        )
        return result

    def list_worlds(self) -> list[ListWorldsAnswerItem]:
        """List the worlds of the server, the default one first.

        Sends `GET /_sim/worlds`.
        """
        result: list[ListWorldsAnswerItem] = self._transport.send_for_json(
            "GET",
            "/_sim/worlds",
        )
        return result

    def create_world(
        self,
        *,
        fixtures: str | dict[str, Any] | None = None,
        with_: dict[str, Any] | None = None,
        fill: CreateWorldBodyFill | None = None,
        profile: str | dict[str, Any] | None = None,
        weather: str | None = None,
        faults: list[dict[str, Any]] | None = None,
        seed: str | float | None = None,
        clock: str | CreateWorldBodyClock2 | None = None,
        epoch: str | None = None,
        documented_only: bool | None = None,
        names: dict[str, Any] | None = None,
        strict_requests: bool | None = None,
        request_faults: bool | None = None,
        inference_pace: Literal["clock", "instant"] | None = None,
        answers: list[dict[str, Any]] | None = None,
        journal_limit: float | None = None,
        max_storage_bytes: float | None = None,
        from_: str | None = None,
        snapshot: str | None = None,
        at: str | None = None,
        entry: int | None = None,
        after_request: int | None = None,
        before_request: int | None = None,
        token: str | None = None,
    ) -> CreateWorldAnswer:
        """Create a world: an account with its own clock, seed, journal and limits. Default of each
        option: as the server was started. `from` names the world to fork. `snapshot` names the
        snapshot to continue from, of that world or of the default world. Options that a
        snapshot does not contain may go with it. To make a world as `from` was at a moment of
        its past, give one of four fields. `at` is a time, and `entry` is the `seq` of a journal
        entry. `after_request` and `before_request` are the `seq` of a request. The past of
        `from` must be kept, and the clock of the new world is manual. If the past of `from` is
        kept, that of the new world is too. `token` is an alias of its first token.

        Sends `POST /_sim/worlds`.
        Refused with 400: an invalid option; a token of another world; an option that the origin
        or the snapshot sets; no such past.
        Refused with 404: an unknown world in from, or an unknown snapshot.
        Refused with 409: the past of the origin is not kept.
        Refused with 429: too many worlds.
        """
        result: CreateWorldAnswer = self._transport.send_for_json(
            "POST",
            "/_sim/worlds",
            body={
                "fixtures": fixtures,
                "with": with_,
                "fill": fill,
                "profile": profile,
                "weather": weather,
                "faults": faults,
                "seed": seed,
                "clock": clock,
                "epoch": epoch,
                "documented_only": documented_only,
                "names": names,
                "strict_requests": strict_requests,
                "request_faults": request_faults,
                "inference_pace": inference_pace,
                "answers": answers,
                "journal_limit": journal_limit,
                "max_storage_bytes": max_storage_bytes,
                "from": from_,
                "snapshot": snapshot,
                "at": at,
                "entry": entry,
                "after_request": after_request,
                "before_request": before_request,
                "token": token,
            },
        )
        return result

    def delete_world(self, world: str) -> DeleteWorldAnswer:
        """Delete a world.

        Sends `DELETE /_sim/worlds/{world}`.
        Refused with 404: an unknown world.
        Refused with 409: the default world.
        """
        result: DeleteWorldAnswer = self._transport.send_for_json(
            "DELETE",
            f"/_sim/worlds/{self._transport.quote(world)}",
        )
        return result

    def get_world(self, world: str) -> GetWorldAnswer:
        """Return a world: its fixture, time, digest, counts and idle time, and its pending
        requests: since when, for what, and until when.

        Sends `GET /_sim/worlds/{world}`.
        Refused with 404: an unknown world.
        """
        result: GetWorldAnswer = self._transport.send_for_json(
            "GET",
            f"/_sim/worlds/{self._transport.quote(world)}",
        )
        return result
