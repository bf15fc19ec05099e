/** Every command by what it does to the world, and every refused one by what it does not. */
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { controlOperations } from '../../../src/server/control/index.ts'
import type { ScriptRule } from '../../../src/service/openai/scripted-answers.ts'
import { JOURNAL_KINDS } from '../../../src/simulation/journal-kinds.ts'
import type { FaultRule } from '../../../src/simulator/faults/rules.ts'
import { createSimulator } from '../../../src/simulator/simulator.ts'
import { ScenarioLibrary } from '../../../src/workbench/scenario/runner/library.ts'
import { batchLine, startBatch } from '../../setup/batches.ts'
import { formOf } from '../../setup/send-to.ts'
import { wall } from '../../setup/wall-clock.ts'
import { recordMinute } from '../../simulator/recorded-minute.ts'
import { type Running, running } from '../http/running-server.ts'

const RUNNING = '2cZeTxVFN7tKxCCh'
const STOPPED = 'ZULBVvLkUPftB8Mo'
const BATCH = 'batch_4bszUZ9REqRnzm2DdbW5wBgB'
const MODEL = 'aurora-labs/aurora-8b-instruct'

const RECORDING = recordMinute()

interface Command {
  readonly path: string
  readonly body?: unknown
  /** The bytes of an upload. */
  readonly file?: Uint8Array
}
interface Bad extends Command {
  readonly status: number
  /** What the answer has to say. */
  readonly says: string
}

/** Returns how a row of a command with a body says what is wrong. */
const badly =
  (path: string) =>
  (body: unknown, status: number, says: string): Bad => ({ path, body, status, says })
const set = badly('/_sim/clock')
const advance = badly('/_sim/clock/advance')
const until = badly('/_sim/clock/until')
const give = badly('/_sim/commands')
const add = badly('/_sim/faults')
const verify = badly('/_sim/verify')
const repeat = badly('/_sim/requests')

const SNAPSHOT = createSimulator({ fixtures: 'empty' }).snapshot()

/** Commands that are carried out, by operation: each a path, or a path and a body. */
const GOOD: Readonly<Record<string, readonly (string | readonly [path: string, body: unknown] | Command)[]>> = {
  getRoot: ['/'],
  getHealth: ['/_sim/health', '/_sim/health/'],
  getOverview: ['/_sim', '/_sim/'],
  getClock: ['/_sim/clock'],
  setClock: [
    ['/_sim/clock', { mode: 'manual' }],
    ['/_sim/clock', {}],
  ],
  getAhead: ['/_sim/ahead', '/_sim/ahead?by=2h&limit=3&visible=true'],
  getFleet: ['/_sim/fleet', '/_sim/fleet'],
  getLifecycles: ['/_sim/lifecycles', '/_sim/lifecycles?kind=batch,node&from=0s&to=1h&limit=2'],
  getMoney: ['/_sim/money', '/_sim/money?step=1h&usage=true'],
  listThings: ['/_sim/things?kind=deployment'],
  getThing: [`/_sim/things/${RUNNING}`, '/_sim/things/account'],
  compareWorlds: ['/_sim/differences?with=default'],
  sendRequest: [['/_sim/requests', { method: 'GET', path: '/deploy/list' }]],
  getCauses: ['/_sim/causes/1', '/_sim/causes/1?limit=0'],
  getRequest: ['/_sim/requests/2'],
  openRecording: [['/_sim/recordings', { recording: RECORDING }]],
  savePage: ['/_sim/page'],
  getWeather: ['/_sim/weather'],
  getPast: ['/_sim/past'],
  keepPast: ['/_sim/past', '/_sim/past'],
  forgetPast: ['/_sim/past'],
  getPastRecording: ['/_sim/past/recording'],
  getPastScenario: ['/_sim/past/scenario', '/_sim/past/scenario?format=typescript', '/_sim/past/scenario?only=actions'],
  listTroubles: ['/_sim/troubles'],
  healWorld: ['/_sim/heal'],
  pauseClock: [['/_sim/clock/pause', { owner: 'debugger' }]],
  resumeClock: [
    ['/_sim/clock/pause', { owner: 'debugger' }],
    ['/_sim/clock/resume', { owner: 'debugger' }],
  ],
  advanceClock: [
    ['/_sim/clock/advance', { by: '90s' }],
    ['/_sim/clock/advance', { by: '0s' }],
    ['/_sim/clock/advance', { to: '2026-01-01T02:00:00+01:00' }],
  ],
  nextClock: ['/_sim/clock/next', ['/_sim/clock/next', { visible: true, within: '1h' }]],
  untilClock: [
    ['/_sim/clock/until', { get: '/deploy/list', where: [{ status: 'running' }], within: '1m' }],
    ['/_sim/clock/until', { get: `/deploy/${RUNNING}`, where: { status: 'running' } }],
    ['/_sim/clock/until', { get: `/v1/batches/${BATCH}`, where: { request_counts: { completed: '50..' } } }],
  ],
  reset: ['/_sim/reset'],
  getJournal: ['/_sim/journal', '/_sim/journal?after=999999&limit=0&kind=*', '/_sim/journal?kind=batch.completed'],
  listRequests: [
    '/_sim/requests',
    '/_sim/requests?operation=list*,getMe&status=2xx,404&decidedBy=none&from=0s&to=1767229200&bodies=whole',
    '/_sim/requests?token=&after=7&limit=0&subject=none&method=get&path=/deploy/*',
  ],
  verifyReceived: [
    ['/_sim/verify', { expect: { operation: 'getMe', none: true } }],
    ['/_sim/verify', { expect: [{ operation: 'getMe' }, { path: '/x', status: '4xx' }], inOrder: true }],
  ],
  watchEvents: [
    '/_sim/events?after=start&follow=false',
    '/_sim/events?kind=deployment.*,request&subject=none&after=1-5-0&follow=false',
  ],
  getDigest: ['/_sim/digest'],
  getLedger: [
    '/_sim/ledger',
    `/_sim/ledger?subject=${RUNNING}`,
    '/_sim/ledger?from=2026-01-01T00:00:00Z&to=1767229200',
  ],
  judgeClients: ['/_sim/judge', '/_sim/judge?off=backsOff,usesLists&pollsAtMost=0.5&client=default&keep='],
  getReport: [
    '/_sim/report',
    '/_sim/report?from=2026-01-01T00:00:00Z&to=1767225600',
    '/_sim/report?from=1767225600&step=1h',
  ],
  listNodes: ['/_sim/cluster/nodes'],
  getNodeOfDeployment: [`/_sim/cluster/deployments/${RUNNING}/node`],
  listGpuLimits: ['/_sim/cluster/limits'],
  createWorld: ['/_sim/worlds', ['/_sim/worlds', { fixtures: 'empty', seed: 3 }]],
  listWorlds: ['/_sim/worlds'],
  getWorld: ['/_sim/worlds/default'],
  deleteWorld: [],
  listVerbs: ['/_sim/commands'],
  giveCommand: [
    ['/_sim/commands', { verb: 'zone.down', target: 'east-a' }],
    ['/_sim/commands', { verb: 'zone.up', target: 'east-a', at: '10m' }],
    ['/_sim/commands', { verb: 'hub.throttle', args: { share: 0.1 } }],
    ['/_sim/commands', { verb: 'limit.set', target: 'H100-80GB', args: { limit: null } }],
  ],
  listFaults: ['/_sim/faults'],
  addFault: [
    ['/_sim/faults', { on: '*', fault: { kind: 'hang' } }],
    ['/_sim/faults', { name: 'mine', on: ['list*'], until: '1h', fault: { kind: 'empty' } }],
    ['/_sim/faults', { on: '*', fault: { kind: 'latency', delay: '2s', jitter: 0 } }],
  ],
  getFault: ['/_sim/faults/known'],
  removeFault: ['/_sim/faults/known'],
  listScenarios: ['/_sim/scenarios'],
  getScenario: ['/_sim/scenarios/hub-outage'],
  startScenario: ['/_sim/scenarios/hub-outage/start'],
  runScenario: ['/_sim/scenarios/hub-outage/run'],
  stopScenario: ['/_sim/scenarios/hub-outage'],
  clearFaults: ['/_sim/faults'],
  getMetrics: ['/_sim/metrics'],
  getEngineMetrics: ['/_sim/engines/2cZeTxVFN7tKxCCh-0/metrics'],
  getFields: ['/_sim/fields'],
  explainSubject: ['/_sim/explain/account', '/_sim/explain/acme%2Fassistant'],
  getUnread: [],
  listScriptedAnswers: ['/_sim/inference'],
  scriptAnswer: [
    ['/_sim/inference', { answer: { text: 'Sunny.' } }],
    ['/_sim/inference', { name: 'once', times: 1, contains: 'rain', answer: { json: { wet: true } } }],
  ],
  removeScriptedAnswer: ['/_sim/inference/known'],
  clearScriptedAnswers: ['/_sim/inference'],
  listSnapshots: ['/_sim/snapshots'],
  takeSnapshot: [
    ['/_sim/snapshots', { name: 'mine' }],
    ['/_sim/snapshots', {}],
  ],
  restoreSnapshot: ['/_sim/snapshots/known/restore', '/_sim/snapshots/known/restore'],
  exportSnapshot: ['/_sim/snapshots/known/export'],
  importSnapshot: [{ path: '/_sim/snapshots/theirs/import', file: SNAPSHOT.toBytes() }],
  deleteSnapshot: ['/_sim/snapshots/known'],
}

/** What is refused, by operation. What takes no input has nothing. */
const BAD: Readonly<Record<string, readonly (readonly [path: string, status: number, says: string] | Bad)[]>> = {
  setClock: [
    set({ mode: 'scaled', speed: -5 }, 400, 'invalid speed -5'),
    set({ mode: 'scaled', speed: 0 }, 400, 'invalid speed 0'),
    set({ speed: 5 }, 400, "'speed' is for the mode scaled"),
    set({ mode: 'Scaled' }, 400, "Did you mean 'scaled'?"),
    set({ mode: 'scaled', speed: '60' }, 422, 'speed'),
    set({ modus: 'manual' }, 422, 'modus'),
    set({ mode: 'follow' }, 400, 'a server has no clock to follow'),
    set({ mode: 'on-poll', speed: 5 }, 400, "'speed' is for the mode scaled"),
    set({ mode: 'on-poll', step: 'soon' }, 400, 'Failed to read the duration'),
    set({ mode: 'idle', after: -1 }, 400, 'invalid number of milliseconds -1'),
    set([], 422, 'detail'),
  ],
  getAhead: [
    ['/_sim/ahead?by=soon', 400, 'Failed to read the duration'],
    ['/_sim/ahead?limit=0', 422, 'limit'],
    ['/_sim/ahead?visible=yes', 422, 'visible'],
  ],
  getFleet: [['/_sim/fleet?since=soon', 422, 'since']],
  getLifecycles: [
    ['/_sim/lifecycles?kind=batsh', 400, "Did you mean 'batch'?"],
    ['/_sim/lifecycles?to=later', 400, 'invalid time "later"'],
    ['/_sim/lifecycles?from=2h&to=1h', 400, "'2h' to '1h': it ends before it begins. Swap"],
  ],
  getMoney: [
    ['/_sim/money?from=zzz', 400, "'from' and 'to' also need 'step'"],
    ['/_sim/money?step=0s', 400, 'a step of no time has no end'],
    ['/_sim/money?step=1h&from=2027-01-01T00:00:00Z', 400, 'what is to come is not known'],
  ],
  listThings: [
    ['/_sim/things', 422, 'kind'],
    ['/_sim/things?kind=planet', 422, 'kind'],
  ],
  getThing: [
    ['/_sim/things/h100-00', 404, "Did you mean 'h100-0'?"],
    ['/_sim/things/99999', 404, 'Failed to explain entry 99999'],
  ],
  compareWorlds: [
    ['/_sim/differences?with=w9', 404, "unknown world 'w9'"],
    ['/_sim/differences', 400, 'give one of with, snapshot and fresh=true'],
    ['/_sim/differences?snapshot=none', 404, "'none'"],
  ],
  sendRequest: [
    repeat({ path: '/_sim/reset' }, 400, 'it is not a path of the service'),
    repeat({ method: 'GET' }, 400, 'path is missing'),
    repeat({ path: '/deploy/list', body: {} }, 400, 'a GET has no body'),
    repeat({ repeat: { seq: 1 } }, 409, 'Failed to repeat the request 1'),
    repeat({ repeat: { seq: 1, world: 'w9' } }, 404, "unknown world 'w9'"),
    repeat({ repeat: { sec: 1 } }, 422, 'seq'),
  ],
  getCauses: [
    ['/_sim/causes/99', 404, 'Failed to explain entry 99'],
    ['/_sim/causes/first', 404, 'a position is a whole number'],
    ['/_sim/causes/1?limit=-1', 422, 'limit'],
  ],
  getRequest: [
    ['/_sim/requests/99', 404, "Failed to read the request '99': unknown request"],
    ['/_sim/requests/first', 404, "Failed to read the request 'first'"],
  ],
  openRecording: [
    { path: '/_sim/recordings', body: { recording: '{"x":1}' }, status: 400, says: 'Failed to read the recording' },
    badly('/_sim/recordings')({ recording: RECORDING.replace('h100-0', 'h100-1') }, 400, 'line'),
  ],
  getPastScenario: [['/_sim/past/scenario?format=toml', 422, 'format']],
  pauseClock: [
    { path: '/_sim/clock/pause', body: { owner: '' }, status: 422, says: 'owner' },
    { path: '/_sim/clock/pause', body: { owner: '  ' }, status: 400, says: 'the owner is missing' },
    { path: '/_sim/clock/pause', body: {}, status: 422, says: 'owner' },
  ],
  resumeClock: [
    { path: '/_sim/clock/resume', body: { owner: 'unknown' }, status: 400, says: "'unknown' does not hold it" },
  ],
  advanceClock: [
    advance({}, 400, "give one of 'by' and 'to'"),
    advance({ by: '1h', to: '2027-01-01T00:00:00Z' }, 400, "give one of 'by' and 'to'"),
    advance({ by: '600' }, 400, 'Failed to read the duration "600": it has no unit. Forms that work:'),
    advance({ by: '40000d' }, 400, 'longer than 100 years'),
    advance({ to: '2026-02-30T00:00:00Z' }, 400, 'no time with an offset'),
    advance({ to: '9999-01-01T00:00:00Z' }, 400, 'more than 200 years after the world began'),
    advance({ by: '2 fortnights' }, 400, 'Forms that work:'),
    advance({ by: '-1s' }, 400, 'time does not run backwards'),
    advance({ by: 600 }, 422, "the number 600 has no unit. Give a duration, as in '600s' or '600ms'"),
    advance({ by: null }, 422, 'by'),
    advance({ to: '2026-01-01T00:00:00' }, 400, 'no time with an offset'),
    advance({ to: '2025-06-01T00:00:00Z' }, 400, 'time never goes back'),
    advance({ by: '1h', unto: '2h' }, 422, 'unto'),
    advance(undefined, 422, 'detail'),
    advance('1h', 422, 'detail'),
  ],
  nextClock: [
    { path: '/_sim/clock/next', body: { within: 'a while' }, status: 400, says: 'Failed to read the duration' },
    { path: '/_sim/clock/next', body: { visible: 'yes' }, status: 422, says: 'visible' },
  ],
  untilClock: [
    until({ get: 'deploy/list', where: {} }, 400, "as in '/deploy/list'"),
    until({ get: '/_sim/clock', where: {} }, 400, 'the service has no GET with this path'),
    until({ get: '/payment/funds', where: {} }, 400, 'the service has no GET with this path'),
    until({ get: '/deploy/list', where: [{}], within: '-1h' }, 400, 'Failed to read the duration'),
    until({ get: '/deploy/nope', where: {} }, 400, 'GET /deploy/nope answers 404 {"error":"no deployment nope"}.'),
    until({ get: '/deploy/list', where: { status: 'running' } }, 400, 'Give where as a list'),
    until({ get: `/deploy/${RUNNING}`, where: [{}] }, 400, 'answers an object, and where is a list. Give where as an'),
    until({ get: '/v1/batches', where: [{}] }, 400, 'Give where as an object, as in {"object":"list"}.'),
    until({ get: '/v1/batches', where: { data: [{ status: 'nope' }] } }, 400, 'status is never "nope".'),
    until({ get: '/v1/models', where: JSON.parse('{"__proto__":{"a":1}}') }, 400, "unknown field '__proto__'."),
    until({ get: '/deploy/list', where: [] }, 422, 'at least 1 item'),
    until({ get: '/deploy/list', where: [{ statsu: 'running' }] }, 400, "'statsu'. Did you mean 'status'?"),
    until({ get: '/deploy/list', where: [{ status: 'runing' }] }, 400, 'status is never'),
    until({ get: '/deploy/list', where: [3] }, 400, 'it is never 3. Give its fields.'),
    until({ get: `/deploy/${RUNNING}`, where: { instances: { ready: 1 } } }, 400, "unknown field 'ready'"),
    until(
      { get: `/v1/batches/${BATCH}`, where: { created_at: { gte: 50 } } },
      400,
      'or a range of numbers, as in "50.."',
    ),
    until({ get: `/v1/batches/${BATCH}`, where: { created_at: '20..3' } }, 400, 'created_at is never "20..3"'),
    until({ get: `/v1/batches/${BATCH}`, where: { endpoint: 3 } }, 400, 'endpoint is never 3. Give a text.'),
    until({ get: '/v1/batches', where: { data: { id: BATCH } } }, 400, 'Give a list.'),
    until({ get: '/v1/batches', where: { has_more: 'no' } }, 400, 'has_more is never "no". Give true or false.'),
    until({ get: '/deploy/list', where: 'running' }, 422, 'where'),
    until({ get: '/deploy/list', where: [{}], whithin: '1h' }, 422, "Did you mean 'within'?"),
    until({ where: {} }, 422, 'get'),
  ],
  getJournal: [
    ['/_sim/journal?after=x', 422, 'after'],
    ['/_sim/journal?limit=1.5', 422, 'limit'],
    ['/_sim/journal?after=-1', 422, 'after'],
    ['/_sim/journal?limit=all', 422, 'limit'],
    ['/_sim/journal?kind=deployment.runing', 400, "Did you mean 'deployment.running'?"],
    ['/_sim/journal?kind=deploymnt.*', 400, "unknown kind 'deploymnt.*'"],
    ['/_sim/journal?kind=request,zzz', 400, "unknown kind 'zzz'. docs/journal.md lists the"],
    ['/_sim/journal?kinds=request', 422, "kinds. Did you mean 'kind'?"],
  ],
  listRequests: [
    ['/_sim/requests?operation=getDeploymnt', 400, "Did you mean 'getDeployment'?"],
    ['/_sim/requests?status=ok', 400, 'invalid status'],
    ['/_sim/requests?from=soon', 400, 'invalid time'],
    ['/_sim/requests?token=nobodys', 400, 'unknown token'],
    ['/_sim/requests?limit=all', 422, 'limit'],
    ['/_sim/requests?oper=x', 422, "Did you mean 'operation'?"],
  ],
  verifyReceived: [
    verify({}, 422, 'expect'),
    verify({ expect: [] }, 400, 'nothing is expected'),
    verify({ expect: { operation: 'getM' } }, 400, "Did you mean 'getMe'?"),
    verify({ expect: { opration: 'getMe' } }, 400, "Did you mean 'operation'?"),
    verify({ expect: {}, order: true }, 400, "unknown option 'order'"),
    verify({ expect: {}, from: 'soon' }, 400, 'invalid time'),
    verify({ expect: { exactly: 'one' } }, 422, 'exactly'),
  ],
  watchEvents: [
    ['/_sim/events?kind=deployment.runing', 400, "Did you mean 'deployment.running'?"],
    ['/_sim/events?after=yesterday', 400, "invalid position 'yesterday'"],
    ['/_sim/events?follow=no', 422, 'follow'],
    ['/_sim/events?kinds=request', 422, "Did you mean 'kind'?"],
  ],
  getLedger: [
    ['/_sim/ledger?from=', 400, 'invalid time'],
    ['/_sim/ledger?from=5&to=2', 400, "from '5': that is after the end, '2'. Give an earlier"],
    ['/_sim/ledger?from=99999999999', 400, 'that is after the end, 2026-01-01T00:00:0'],
    ['/_sim/ledger?subjct=x', 422, "Did you mean 'subject'?"],
    ['/_sim/ledger?to=2026-01-01', 400, "as in '2026-01-01T00:00:00Z'"],
  ],
  judgeClients: [
    ['/_sim/judge?off=backOff', 400, "Did you mean 'backsOff'?"],
    ['/_sim/judge?off=noLeak', 400, 'needs a run of explore'],
    ['/_sim/judge?keep=dep_1', 400, 'no client created'],
    ['/_sim/judge?pollsAtMost=0', 400, 'Give a number above 0'],
    ['/_sim/judge?client=nobodys', 400, 'unknown token'],
    ['/_sim/judge?rules=backsOff', 422, 'rules'],
  ],
  getReport: [
    ['/_sim/report?from=', 400, 'invalid time'],
    ['/_sim/report?form=x', 422, "Did you mean 'from'?"],
    ['/_sim/report?from=2025-12-31T00:00:00Z', 400, 'the world began at'],
    ['/_sim/report?to=2027-01-01T00:00:00Z', 400, 'what is to come is not known'],
    ['/_sim/report?step=0s', 400, 'a step of no time has no end'],
    ['/_sim/report?step=soon', 400, 'no known form'],
  ],
  getNodeOfDeployment: [
    [`/_sim/cluster/deployments/${STOPPED}/node`, 409, 'no instance of it has been placed'],
    ['/_sim/cluster/deployments/none/node', 404, 'no deployment or container'],
  ],
  listGpuLimits: [['/_sim/cluster/limits?gpu=H100-80GB', 422, 'It takes none.']],
  createWorld: [
    { path: '/_sim/worlds', body: { fixtures: 'emty' }, status: 400, says: "Did you mean 'empty'?" },
    { path: '/_sim/worlds', body: { from: 'nowhere' }, status: 404, says: "unknown world 'nowhere'" },
  ],
  getWorld: [['/_sim/worlds/w7', 404, "unknown world 'w7'"]],
  deleteWorld: [
    ['/_sim/worlds/w7', 404, "unknown world 'w7'"],
    ['/_sim/worlds/default', 409, 'POST /_sim/reset'],
  ],
  giveCommand: [
    give({ verb: 'zone.dwon' }, 400, "Did you mean 'zone.down'?"),
    give({ verb: 'zone.down', target: 'east-x' }, 400, 'Did you mean'),
    give({ verb: 'hub.down', at: 'later' }, 400, "at 'later' is an invalid time"),
    give({ verb: 'hub.down', at: '2025-12-31T23:00:00Z' }, 400, 'in the past'),
    give({ verb: 'hub.throttle' }, 400, 'share is missing'),
    give({}, 422, 'verb'),
    give({ verb: 'node.crash', target: '__proto__' }, 400, 'the fleet has none of that name'),
    give({ verb: 'pool.stockOut', target: 'other' }, 400, 'the type is unknown'),
    give(
      { verb: 'price.set', target: 'H100-80GB', args: { cents: -0.5 } },
      400,
      'Give cents per hour from 0 to 1,000,000,000',
    ),
  ],
  addFault: [
    add({ on: 'lists', fault: { kind: 'hang' } }, 400, 'unknown operation'),
    add({ on: '*', fault: { kind: 'reste' } }, 400, "Did you mean 'reset'?"),
    add({ on: '*' }, 422, 'fault'),
    ...['for', 'from', 'until'].map(field => {
      const says = `"${field}"],"msg":"Value error, the number 600 has no unit. Give a duration, as in '600s' or '600ms'`
      return add({ on: '*', nth: 1, [field]: 600, fault: { kind: 'hang' } }, 422, says)
    }),
    ...Object.entries({ rateLimit: 'retryAfter', latency: 'delay', stale: 'lag' }).map(([kind, field]) =>
      add({ on: '*', fault: { kind, [field]: 5 } }, 422, `"${field}"],"msg":"Value error, the number 5 has no unit.`),
    ),
  ],
  getFault: [['/_sim/faults/knwn', 404, "Did you mean 'known'?"]],
  removeFault: [['/_sim/faults/none', 404, 'unknown rule']],
  getScenario: [['/_sim/scenarios/hub-outag', 404, "Did you mean 'hub-outage'?"]],
  startScenario: [
    ['/_sim/scenarios/hub-uotage/start', 404, "Did you mean 'hub-outage'?"],
    ['/_sim/scenarios/money/start', 400, 'it has no timeline'],
    ['/_sim/scenarios/timeline/start?at=5m', 422, 'It takes none.'],
  ],
  runScenario: [
    ['/_sim/scenarios/hub-uotage/run', 404, "Did you mean 'hub-outage'?"],
    { path: '/_sim/scenarios/hub-outage/run', body: { opne: true }, status: 422, says: 'opne' },
  ],
  stopScenario: [['/_sim/scenarios/of-unknown', 404, 'GET /_sim/scenarios lists them']],
  getMetrics: [['/_sim/metrics?step=1m', 422, 'It takes none.']],
  getEngineMetrics: [['/_sim/engines/2cZeTxVFN7tKxCCh-9/metrics', 404, 'unknown instance']],
  explainSubject: [
    ['/_sim/explain/acount', 404, "Did you mean 'account'?"],
    ['/_sim/explain/999999', 404, 'Failed to explain entry 999999 of the journal'],
    ['/_sim/explain/account?depth=3', 422, 'depth'],
  ],
  getUnread: [['/_sim/unread', 400, 'Start with --strict-requests']],
  scriptAnswer: [
    { path: '/_sim/inference', body: { name: 'known', answer: { text: '' } }, status: 400, says: "a rule 'known'" },
    { path: '/_sim/inference', body: { times: 0, answer: { text: '' } }, status: 422, says: 'times' },
    { path: '/_sim/inference', body: { contains: 'rain' }, status: 422, says: 'answer' },
  ],
  removeScriptedAnswer: [['/_sim/inference/knwon', 404, "Did you mean 'known'?"]],
  takeSnapshot: [
    { path: '/_sim/snapshots', body: { name: 'known' }, status: 409, says: 'duplicate name' },
    { path: '/_sim/snapshots', body: { name: 'a/b' }, status: 422, says: 'should match pattern' },
  ],
  restoreSnapshot: [['/_sim/snapshots/unknown/restore', 404, "Did you mean 'known'?"]],
  exportSnapshot: [['/_sim/snapshots/zzzzzzz/export', 404, 'GET /_sim/snapshots lists']],
  importSnapshot: [
    { path: '/_sim/snapshots/theirs/import', file: Buffer.from('x'), status: 400, says: 'it is not a snapshot' },
    { path: '/_sim/snapshots/known/import', file: SNAPSHOT.toBytes(), status: 409, says: 'duplicate name' },
  ],
  deleteSnapshot: [['/_sim/snapshots/knwon', 404, "Did you mean 'known'?"]],
}

const scenarios = new ScenarioLibrary(['test/workbench/scenario/forms', 'scenarios'])
const FAULTS: FaultRule[] = [{ name: 'known', on: 'createLora', fault: { kind: 'refused' } }]
const ANSWERS: ScriptRule[] = [{ name: 'known', answer: { text: 'Hello.' } }]

const TABLE = Object.entries(controlOperations).map(([operation, endpoint]) => ({ operation, endpoint }))

function send({ server }: Running, method: string, { path, body, file }: Command): Promise<Response> {
  if (file !== undefined) return fetch(`${server.url}${path}`, { method, body: formOf({ file }) })
  return fetch(`${server.url}${path}`, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  })
}

const commandsOf = (operation: string) =>
  GOOD[operation]!.map((one): Command => {
    if (typeof one === 'string') return { path: one }
    return 'path' in one ? one : { path: one[0], body: one[1] }
  })

const refusedOf = (operation: string) =>
  (BAD[operation] ?? []).map((one): Bad => ('path' in one ? one : { path: one[0], status: one[1], says: one[2] }))

/** With rules, a snapshot and scenarios to speak of. */
async function prepared(operation: string): Promise<Running> {
  const world = await running(
    { faults: FAULTS, answers: ANSWERS },
    { scenarios, writePage: async () => '<!doctype html>' },
  )
  world.server.worlds.default.snapshots.set('known', SNAPSHOT)
  if (operation === 'getRequest') await world.ask('/deploy/list')
  if (/^(getPast|savePage)/.test(operation)) {
    await world.command('/_sim/past')
    world.sim.cluster.node('h100-0').crash()
  }
  return world
}

/** What a refused command leaves as it was; the journal alone has a line of it. */
const worldOf = ({ sim }: Running) => ({
  digest: sim.digest,
  now: sim.clock.iso,
  mode: sim.clock.mode,
  speed: sim.clock.speed,
  balance: sim.ledger.balance,
  nodes: sim.cluster.nodes(),
  faults: sim.faults.list(),
  answers: sim.inference.list(),
})

describe('every command', () => {
  test('has its cases in this table', () => {
    expect(Object.keys(GOOD).sort()).toEqual(Object.keys(controlOperations).sort())
  })

  test.each(TABLE)(
    '$operation answers as it is declared, and never to another origin',
    { tags: 'slow' },
    async ({ operation, endpoint }) => {
      const world = await prepared(operation)
      for (const command of commandsOf(operation)) {
        const response = await send(world, endpoint.method, command)
        const text = await response.text()
        expect([command, response.status, text.slice(0, 200)]).toEqual([command, 200, expect.any(String)])
        expect(response.headers.get('content-type')).toBe(endpoint.produces)
        if (endpoint.produces === 'application/json') endpoint.returns.parse(JSON.parse(text))
        const names = [...response.headers.keys()]
        expect(names.filter(name => name.startsWith('access-control-'))).toEqual([])
        expect(names).toEqual(expect.arrayContaining(['cross-origin-resource-policy', 'x-content-type-options']))
      }
    },
  )

  test.each(TABLE.filter(({ operation }) => BAD[operation] !== undefined))(
    '$operation says what is wrong with what it will not take, and changes nothing',
    { tags: 'slow' },
    async ({ operation, endpoint }) => {
      const world = await prepared(operation)
      const before = worldOf(world)
      for (const { status, says, ...command } of refusedOf(operation)) {
        const response = await send(world, endpoint.method, command)
        const text = JSON.parse(await response.text())
        const message = status === 422 ? JSON.stringify(text) : text.error
        expect([command, response.status, message]).toEqual([command, status, expect.stringContaining(says)])
        expect(worldOf(world), JSON.stringify(command)).toEqual(before)
      }
    },
  )

  test.each(TABLE.filter(({ endpoint: { method, body, upload } }) => method !== 'GET' && !body && !upload))(
    '$operation without a body refuses one with fields, and changes nothing',
    { tags: 'slow' },
    async ({ operation, endpoint: { method } }) => {
      const world = await prepared(operation)
      const before = worldOf(world)
      const url = world.server.url + [...commandsOf(operation), ...refusedOf(operation)][0]!.path
      const json = { 'content-type': 'application/json' }
      const bodies = ['{"seed":7}', '{bad', '[]', `{"seed":"${'7'.repeat(200_000)}"}`, streamOf('{"seed":7}')]
      for (const body of bodies) {
        const refused = await fetch(url, { method, headers: json, body, duplex: 'half' } as RequestInit)
        expect([refused.status, await refused.text()]).toEqual([422, expect.stringContaining('"body"')])
        expect(worldOf(world)).toEqual(before)
      }
      for (const body of ['', ' { }', streamOf('{}')]) {
        const answer = await fetch(url, { method, headers: json, body, duplex: 'half' } as RequestInit)
        expect([200, 404, 409]).toContain(answer.status)
      }
    },
  )
})

/** Returns a body that comes without its length, and after the head. */
const streamOf = (text: string) =>
  new ReadableStream({
    async start(controller) {
      await new Promise(resolve => setTimeout(resolve, 5))
      controller.enqueue(new TextEncoder().encode(text))
      controller.close()
    },
  })

/** A world with a batch of so many lines under way. */
async function busy(lines: number): Promise<Running> {
  const world = await running({ fixtures: 'empty' })
  const line = (_: unknown, i: number) =>
    batchLine(`line-${i}`, { model: MODEL, messages: [{ role: 'user', content: `Question ${i}` }] })
  await startBatch(world.sim, Array.from({ length: lines }, line))
  return world
}

test('health answers during a move of the clock with a time in between, and the service answers after it', {
  tags: 'slow',
}, async () => {
  const world = await busy(800)
  // Each look at the real clock finds that a slice is over.
  wall.ahead = 1_000
  let over = false
  const advanced = world.command('/_sim/clock/advance', { by: '6h' }).then(({ body }) => {
    over = true
    return body
  })
  const moments: string[] = []
  while (!over) moments.push((await world.read('/_sim/health')).now)
  const { from, to } = await advanced

  expect(moments.filter(now => now > from && now < to).length).toBeGreaterThan(0)
  expect(moments).toEqual([...moments].sort())
})

test('a request that arrives during an advance is answered at its end', { tags: 'slow' }, async () => {
  const world = await busy(1000)
  const advanced = world.command('/_sim/clock/advance', { by: '6h' })
  let now = ''
  do {
    now = (await world.read('/_sim/health')).now
  } while (now === '2026-01-01T00:00:00.000000+00:00')
  const date = (await world.ask('/deploy/list')).headers.get('date')
  expect((await advanced).status).toBe(200)
  expect(date).toBe('Thu, 01 Jan 2026 06:00:00 GMT')
})

describe('the journal', () => {
  test('reports the number of dropped entries when it is bounded', async () => {
    const world = await running({ journalLimit: 5 })
    for (let i = 0; i < 12; i++) await world.ask('/v1/voices')
    const { entries, last, dropped } = await world.read('/_sim/journal')
    expect([last, dropped + entries.length]).toEqual([12, 12])
    expect(entries.at(-1).seq).toBe(12)
  })

  test('and every other look at the simulator keep secrets', { tags: 'slow' }, async () => {
    const world = await running()
    const secrets = [...world.sim.world.store.tokens.all().map(({ token }) => token), 'hub_canary_token']
    const hub = { repo: 'acme/private-70b', token: 'hub_canary_token' }
    const body = JSON.stringify({ model_name: 'acme/new', gpu: 'H100-80GB', hub })
    expect((await world.ask('/deploy/llm', { method: 'POST', body })).status).toBe(200)
    const named = JSON.stringify({ model_name: secrets[0], gpu: 'L4-24GB', hub: { repo: 'acme/chat-8b' } })
    expect((await world.ask('/deploy/llm', { method: 'POST', body: named })).status).toBe(200)
    for (const secret of secrets) {
      await world.ask(`/v1/voices/${secret}`)
      await world.ask(`/${secret}/${secret}`, { headers: { authorization: `Bearer ${secret}`, 'alt-api-key': secret } })
      await world.command(`/_sim/${secret}`, undefined, 'GET')
      await world.command('/_sim/commands', { verb: 'node.crash', target: secret })
    }
    await world.command('/_sim/clock/advance', { by: '1h' })

    for (const { endpoint } of TABLE.filter(one => one.endpoint.method === 'GET' && !one.endpoint.path.includes('{'))) {
      // The stream of events would not end.
      const path = endpoint.path === '/_sim/events' ? '/_sim/events?after=start&follow=false' : endpoint.path
      const text = await (await send(world, 'GET', { path })).text()
      const shown = secrets.filter(secret => secret !== 'hub_canary_token' && text.includes(secret))
      expect([endpoint.path, shown]).toEqual([endpoint.path, []])
    }
    // A path holds what the caller wrote; no event holds the token that the deployment was given.
    const { entries } = await world.read('/_sim/journal?limit=100000')
    const events = entries.filter(({ kind }: { kind: string }) => kind !== 'request')
    expect(JSON.stringify(events)).not.toContain('hub_canary_token')
  })
})

test('the opening balance and every entry of the ledger add up to its balance', async () => {
  const world = await running()
  const funds = world.sim.world.store.account.funds_cents * 1_000_000
  const read = async () => await world.read('/_sim/ledger')
  await world.ask('/payment/funds', { method: 'POST', body: '{"amount":12345}' })
  for (const by of ['1s', '37m', '11h', '3d']) {
    await world.command('/_sim/clock/advance', { by })
    const { balance_microcents, entries } = await read()
    const sum = entries.reduce((total: number, one: { microcents: number }) => total + one.microcents, 0)
    expect([by, funds + sum]).toEqual([by, balance_microcents])
    const open = entries.filter((one: { open?: true }) => one.open)
    expect(open.length).toBeGreaterThan(0)
  }
})

test('the ledger of one subject holds only its entries', async () => {
  const world = await running()
  await world.command('/_sim/clock/advance', { by: '2h' })
  const { entries } = await world.read(`/_sim/ledger?subject=${RUNNING}`)
  const all = (await world.read('/_sim/ledger')).entries as { subject: string }[]
  expect(entries.length).toBeGreaterThan(0)
  expect(entries).toEqual(all.filter(({ subject }) => subject === RUNNING))
})

test('a GPU limit is read as it was set', async () => {
  const world = await running()
  const read = async () => await world.read('/_sim/cluster/limits')
  const [before] = (await read()).filter(({ gpu }: { gpu: string }) => gpu === 'H100-80GB')
  await world.command('/_sim/commands', { verb: 'limit.set', target: 'H100-80GB', args: { limit: 3 } })
  expect(await read()).toContainEqual({ gpu: 'H100-80GB', limit: 3, held: before.held })
})

test('every journal kind of the source is known to the hints', () => {
  const folders = ['src/simulation', 'src/simulator/faults']
  const files = folders.flatMap(folder =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map(name => `${folder}/${name}`),
  )
  const sources = files.filter(file => file.endsWith('.ts')).map(file => readFileSync(file, 'utf8'))
  const writers = /(?:\b[rR]ecord\w*|#record\w*|command|setHub|crash\w*|#\w*Down)\((?:[^()]|\([^()]*\))*/g
  const calls = sources.flatMap(text => text.match(writers) ?? [])
  const kinds = new Set(calls.flatMap(call => call.match(/(?<=')[a-z]+\.[a-zA-Z]+(?=')/g) ?? []))
  expect(kinds.size).toBeGreaterThan(50)
  expect([...kinds].filter(kind => !(JOURNAL_KINDS as readonly string[]).includes(kind))).toEqual([])
})

test('a reset world has the same history again', async () => {
  const world = await running()
  const first = world.sim.digest
  const walk = async () => {
    await world.ask('/deploy/llm', {
      method: 'POST',
      body: JSON.stringify({ model_name: 'acme/new', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }),
    })
    await world.command('/_sim/commands', { verb: 'node.crash', target: 'h100-0' })
    await world.command('/_sim/commands', { verb: 'price.set', target: 'H100-80GB', args: { cents: 1 } })
    await world.command('/_sim/clock/advance', { by: '20m' })
    return [world.sim.digest, await (await world.ask('/deploy/list')).text(), world.sim.ledger.balance]
  }
  const before = await walk()
  expect(before[0]).not.toBe(first)

  expect((await world.command('/_sim/reset')).body).toEqual({ now: '2026-01-01T00:00:00.000000+00:00', digest: first })

  expect(await walk()).toEqual(before)
})
