/**
 * Every operation of the control plane, by path and method: its route, and where it is declared.
 * `npm run generate` writes this file from the folders.
 *
 * A module of declarations exports nothing else. In the package, it is evaluated with the first use of an operation.
 */
import { type OperationTable, operation } from '../../service/operation-table.ts'
import * as clock from './endpoints/clock.ts'
import * as cluster from './endpoints/cluster.ts'
import * as events from './endpoints/events.ts'
import * as explain from './endpoints/explain.ts'
import * as faults from './endpoints/faults.ts'
import * as fields from './endpoints/fields.ts'
import * as inference from './endpoints/inference.ts'
import * as journal from './endpoints/journal.ts'
import * as judge from './endpoints/judge.ts'
import * as ledger from './endpoints/ledger.ts'
import * as metrics from './endpoints/metrics.ts'
import * as overview from './endpoints/overview.ts'
import * as report from './endpoints/report.ts'
import * as requests from './endpoints/requests.ts'
import * as scenarios from './endpoints/scenarios.ts'
import * as sendRequest from './endpoints/send-request.ts'
import * as snapshots from './endpoints/snapshots.ts'
import * as worlds from './endpoints/worlds.ts'
import * as viewsAhead from './views/ahead.ts'
import * as viewsCauses from './views/causes.ts'
import * as viewsDifferences from './views/differences.ts'
import * as viewsFleet from './views/fleet.ts'
import * as viewsLifecycles from './views/lifecycles.ts'
import * as viewsMoney from './views/money.ts'
import * as viewsPage from './views/page.ts'
import * as viewsPast from './views/past.ts'
import * as viewsRecordings from './views/recordings.ts'
import * as viewsRequest from './views/request.ts'
import * as viewsThings from './views/things.ts'
import * as viewsWeather from './views/weather.ts'

/** The exports of all modules. */
export type Declarations = typeof clock &
  typeof cluster &
  typeof events &
  typeof explain &
  typeof faults &
  typeof fields &
  typeof inference &
  typeof journal &
  typeof judge &
  typeof ledger &
  typeof metrics &
  typeof overview &
  typeof report &
  typeof requests &
  typeof scenarios &
  typeof sendRequest &
  typeof snapshots &
  typeof worlds &
  typeof viewsAhead &
  typeof viewsCauses &
  typeof viewsDifferences &
  typeof viewsFleet &
  typeof viewsLifecycles &
  typeof viewsMoney &
  typeof viewsPage &
  typeof viewsPast &
  typeof viewsRecordings &
  typeof viewsRequest &
  typeof viewsThings &
  typeof viewsWeather

export const OPERATIONS: OperationTable<Declarations> = {
  getRoot: operation('GET /', 'assumed', () => overview.getRoot),
  getOverview: operation('GET /_sim', 'assumed', () => overview.getOverview),
  getAhead: operation('GET /_sim/ahead', 'assumed', () => viewsAhead.getAhead),
  getCauses: operation('GET /_sim/causes/{seq}', 'assumed', () => viewsCauses.getCauses),
  getClock: operation('GET /_sim/clock', 'assumed', () => clock.getClock),
  setClock: operation('PUT /_sim/clock', 'assumed', () => clock.setClock),
  advanceClock: operation('POST /_sim/clock/advance', 'assumed', () => clock.advanceClock),
  nextClock: operation('POST /_sim/clock/next', 'assumed', () => clock.nextClock),
  pauseClock: operation('POST /_sim/clock/pause', 'assumed', () => clock.pauseClock),
  resumeClock: operation('POST /_sim/clock/resume', 'assumed', () => clock.resumeClock),
  untilClock: operation('POST /_sim/clock/until', 'assumed', () => clock.untilClock),
  getNodeOfDeployment: operation(
    'GET /_sim/cluster/deployments/{deploy_id}/node',
    'assumed',
    () => cluster.getNodeOfDeployment,
  ),
  listGpuLimits: operation('GET /_sim/cluster/limits', 'assumed', () => cluster.listGpuLimits),
  listNodes: operation('GET /_sim/cluster/nodes', 'assumed', () => cluster.listNodes),
  listVerbs: operation('GET /_sim/commands', 'assumed', () => cluster.listVerbs),
  giveCommand: operation('POST /_sim/commands', 'assumed', () => cluster.giveCommand),
  compareWorlds: operation('GET /_sim/differences', 'assumed', () => viewsDifferences.compareWorlds),
  getDigest: operation('GET /_sim/digest', 'assumed', () => journal.getDigest),
  getEngineMetrics: operation('GET /_sim/engines/{instance}/metrics', 'assumed', () => metrics.getEngineMetrics),
  watchEvents: operation('GET /_sim/events', 'assumed', () => events.watchEvents),
  explainSubject: operation('GET /_sim/explain/{subject}', 'assumed', () => explain.explainSubject),
  clearFaults: operation('DELETE /_sim/faults', 'assumed', () => faults.clearFaults),
  listFaults: operation('GET /_sim/faults', 'assumed', () => faults.listFaults),
  addFault: operation('POST /_sim/faults', 'assumed', () => faults.addFault),
  removeFault: operation('DELETE /_sim/faults/{id}', 'assumed', () => faults.removeFault),
  getFault: operation('GET /_sim/faults/{id}', 'assumed', () => faults.getFault),
  getFields: operation('GET /_sim/fields', 'assumed', () => fields.getFields),
  getFleet: operation('GET /_sim/fleet', 'assumed', () => viewsFleet.getFleet),
  healWorld: operation('POST /_sim/heal', 'assumed', () => cluster.healWorld),
  getHealth: operation('GET /_sim/health', 'assumed', () => overview.getHealth),
  clearScriptedAnswers: operation('DELETE /_sim/inference', 'assumed', () => inference.clearScriptedAnswers),
  listScriptedAnswers: operation('GET /_sim/inference', 'assumed', () => inference.listScriptedAnswers),
  scriptAnswer: operation('POST /_sim/inference', 'assumed', () => inference.scriptAnswer),
  removeScriptedAnswer: operation('DELETE /_sim/inference/{name}', 'assumed', () => inference.removeScriptedAnswer),
  getJournal: operation('GET /_sim/journal', 'assumed', () => journal.getJournal),
  judgeClients: operation('GET /_sim/judge', 'assumed', () => judge.judgeClients),
  getLedger: operation('GET /_sim/ledger', 'assumed', () => ledger.getLedger),
  getLifecycles: operation('GET /_sim/lifecycles', 'assumed', () => viewsLifecycles.getLifecycles),
  getMetrics: operation('GET /_sim/metrics', 'assumed', () => metrics.getMetrics),
  getMoney: operation('GET /_sim/money', 'assumed', () => viewsMoney.getMoney),
  savePage: operation('GET /_sim/page', 'assumed', () => viewsPage.savePage),
  forgetPast: operation('DELETE /_sim/past', 'assumed', () => viewsPast.forgetPast),
  getPast: operation('GET /_sim/past', 'assumed', () => viewsPast.getPast),
  keepPast: operation('POST /_sim/past', 'assumed', () => viewsPast.keepPast),
  getPastRecording: operation('GET /_sim/past/recording', 'assumed', () => viewsPast.getPastRecording),
  getPastScenario: operation('GET /_sim/past/scenario', 'assumed', () => viewsPast.getPastScenario),
  openRecording: operation('POST /_sim/recordings', 'assumed', () => viewsRecordings.openRecording),
  getReport: operation('GET /_sim/report', 'assumed', () => report.getReport),
  listRequests: operation('GET /_sim/requests', 'assumed', () => requests.listRequests),
  sendRequest: operation('POST /_sim/requests', 'assumed', () => sendRequest.sendRequest),
  getRequest: operation('GET /_sim/requests/{seq}', 'assumed', () => viewsRequest.getRequest),
  reset: operation('POST /_sim/reset', 'assumed', () => clock.reset),
  listScenarios: operation('GET /_sim/scenarios', 'assumed', () => scenarios.listScenarios),
  stopScenario: operation('DELETE /_sim/scenarios/{name}', 'assumed', () => scenarios.stopScenario),
  getScenario: operation('GET /_sim/scenarios/{name}', 'assumed', () => scenarios.getScenario),
  runScenario: operation('POST /_sim/scenarios/{name}/run', 'assumed', () => scenarios.runScenario),
  startScenario: operation('POST /_sim/scenarios/{name}/start', 'assumed', () => scenarios.startScenario),
  listSnapshots: operation('GET /_sim/snapshots', 'assumed', () => snapshots.listSnapshots),
  takeSnapshot: operation('POST /_sim/snapshots', 'assumed', () => snapshots.takeSnapshot),
  deleteSnapshot: operation('DELETE /_sim/snapshots/{snapshot}', 'assumed', () => snapshots.deleteSnapshot),
  exportSnapshot: operation('GET /_sim/snapshots/{snapshot}/export', 'assumed', () => snapshots.exportSnapshot),
  importSnapshot: operation('POST /_sim/snapshots/{snapshot}/import', 'assumed', () => snapshots.importSnapshot),
  restoreSnapshot: operation('POST /_sim/snapshots/{snapshot}/restore', 'assumed', () => snapshots.restoreSnapshot),
  listThings: operation('GET /_sim/things', 'assumed', () => viewsThings.listThings),
  getThing: operation('GET /_sim/things/{id}', 'assumed', () => viewsThings.getThing),
  listTroubles: operation('GET /_sim/troubles', 'assumed', () => cluster.listTroubles),
  getUnread: operation('GET /_sim/unread', 'assumed', () => overview.getUnread),
  verifyReceived: operation('POST /_sim/verify', 'assumed', () => requests.verifyReceived),
  getWeather: operation('GET /_sim/weather', 'assumed', () => viewsWeather.getWeather),
  listWorlds: operation('GET /_sim/worlds', 'assumed', () => worlds.listWorlds),
  createWorld: operation('POST /_sim/worlds', 'assumed', () => worlds.createWorld),
  deleteWorld: operation('DELETE /_sim/worlds/{world}', 'assumed', () => worlds.deleteWorld),
  getWorld: operation('GET /_sim/worlds/{world}', 'assumed', () => worlds.getWorld),
}
