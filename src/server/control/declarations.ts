/**
 * Every operation of the control plane, by path and method: its route, and where it is declared.
 * `npm run generate` writes this file from the folders.
 *
 * A module of declarations exports nothing else. In the package, it is evaluated with the first use of an operation.
 */
import { assumed, type OperationTable } from '../../service/operation-table.ts'
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
  getRoot: assumed('GET /', () => overview.getRoot),
  getOverview: assumed('GET /_sim', () => overview.getOverview),
  getAhead: assumed('GET /_sim/ahead', () => viewsAhead.getAhead),
  getCauses: assumed('GET /_sim/causes/{seq}', () => viewsCauses.getCauses),
  getClock: assumed('GET /_sim/clock', () => clock.getClock),
  setClock: assumed('PUT /_sim/clock', () => clock.setClock),
  advanceClock: assumed('POST /_sim/clock/advance', () => clock.advanceClock),
  nextClock: assumed('POST /_sim/clock/next', () => clock.nextClock),
  pauseClock: assumed('POST /_sim/clock/pause', () => clock.pauseClock),
  resumeClock: assumed('POST /_sim/clock/resume', () => clock.resumeClock),
  untilClock: assumed('POST /_sim/clock/until', () => clock.untilClock),
  getNodeOfDeployment: assumed('GET /_sim/cluster/deployments/{deploy_id}/node', () => cluster.getNodeOfDeployment),
  listGpuLimits: assumed('GET /_sim/cluster/limits', () => cluster.listGpuLimits),
  listNodes: assumed('GET /_sim/cluster/nodes', () => cluster.listNodes),
  listVerbs: assumed('GET /_sim/commands', () => cluster.listVerbs),
  giveCommand: assumed('POST /_sim/commands', () => cluster.giveCommand),
  compareWorlds: assumed('GET /_sim/differences', () => viewsDifferences.compareWorlds),
  getDigest: assumed('GET /_sim/digest', () => journal.getDigest),
  getEngineMetrics: assumed('GET /_sim/engines/{instance}/metrics', () => metrics.getEngineMetrics),
  watchEvents: assumed('GET /_sim/events', () => events.watchEvents),
  explainSubject: assumed('GET /_sim/explain/{subject}', () => explain.explainSubject),
  clearFaults: assumed('DELETE /_sim/faults', () => faults.clearFaults),
  listFaults: assumed('GET /_sim/faults', () => faults.listFaults),
  addFault: assumed('POST /_sim/faults', () => faults.addFault),
  removeFault: assumed('DELETE /_sim/faults/{id}', () => faults.removeFault),
  getFault: assumed('GET /_sim/faults/{id}', () => faults.getFault),
  getFields: assumed('GET /_sim/fields', () => fields.getFields),
  getFleet: assumed('GET /_sim/fleet', () => viewsFleet.getFleet),
  healWorld: assumed('POST /_sim/heal', () => cluster.healWorld),
  getHealth: assumed('GET /_sim/health', () => overview.getHealth),
  clearScriptedAnswers: assumed('DELETE /_sim/inference', () => inference.clearScriptedAnswers),
  listScriptedAnswers: assumed('GET /_sim/inference', () => inference.listScriptedAnswers),
  scriptAnswer: assumed('POST /_sim/inference', () => inference.scriptAnswer),
  removeScriptedAnswer: assumed('DELETE /_sim/inference/{name}', () => inference.removeScriptedAnswer),
  getJournal: assumed('GET /_sim/journal', () => journal.getJournal),
  judgeClients: assumed('GET /_sim/judge', () => judge.judgeClients),
  getLedger: assumed('GET /_sim/ledger', () => ledger.getLedger),
  getLifecycles: assumed('GET /_sim/lifecycles', () => viewsLifecycles.getLifecycles),
  getMetrics: assumed('GET /_sim/metrics', () => metrics.getMetrics),
  getMoney: assumed('GET /_sim/money', () => viewsMoney.getMoney),
  savePage: assumed('GET /_sim/page', () => viewsPage.savePage),
  forgetPast: assumed('DELETE /_sim/past', () => viewsPast.forgetPast),
  getPast: assumed('GET /_sim/past', () => viewsPast.getPast),
  keepPast: assumed('POST /_sim/past', () => viewsPast.keepPast),
  getPastRecording: assumed('GET /_sim/past/recording', () => viewsPast.getPastRecording),
  getPastScenario: assumed('GET /_sim/past/scenario', () => viewsPast.getPastScenario),
  openRecording: assumed('POST /_sim/recordings', () => viewsRecordings.openRecording),
  getReport: assumed('GET /_sim/report', () => report.getReport),
  listRequests: assumed('GET /_sim/requests', () => requests.listRequests),
  sendRequest: assumed('POST /_sim/requests', () => sendRequest.sendRequest),
  getRequest: assumed('GET /_sim/requests/{seq}', () => viewsRequest.getRequest),
  reset: assumed('POST /_sim/reset', () => clock.reset),
  listScenarios: assumed('GET /_sim/scenarios', () => scenarios.listScenarios),
  stopScenario: assumed('DELETE /_sim/scenarios/{name}', () => scenarios.stopScenario),
  getScenario: assumed('GET /_sim/scenarios/{name}', () => scenarios.getScenario),
  runScenario: assumed('POST /_sim/scenarios/{name}/run', () => scenarios.runScenario),
  startScenario: assumed('POST /_sim/scenarios/{name}/start', () => scenarios.startScenario),
  listSnapshots: assumed('GET /_sim/snapshots', () => snapshots.listSnapshots),
  takeSnapshot: assumed('POST /_sim/snapshots', () => snapshots.takeSnapshot),
  deleteSnapshot: assumed('DELETE /_sim/snapshots/{snapshot}', () => snapshots.deleteSnapshot),
  exportSnapshot: assumed('GET /_sim/snapshots/{snapshot}/export', () => snapshots.exportSnapshot),
  importSnapshot: assumed('POST /_sim/snapshots/{snapshot}/import', () => snapshots.importSnapshot),
  restoreSnapshot: assumed('POST /_sim/snapshots/{snapshot}/restore', () => snapshots.restoreSnapshot),
  listThings: assumed('GET /_sim/things', () => viewsThings.listThings),
  getThing: assumed('GET /_sim/things/{id}', () => viewsThings.getThing),
  listTroubles: assumed('GET /_sim/troubles', () => cluster.listTroubles),
  getUnread: assumed('GET /_sim/unread', () => overview.getUnread),
  verifyReceived: assumed('POST /_sim/verify', () => requests.verifyReceived),
  getWeather: assumed('GET /_sim/weather', () => viewsWeather.getWeather),
  listWorlds: assumed('GET /_sim/worlds', () => worlds.listWorlds),
  createWorld: assumed('POST /_sim/worlds', () => worlds.createWorld),
  deleteWorld: assumed('DELETE /_sim/worlds/{world}', () => worlds.deleteWorld),
  getWorld: assumed('GET /_sim/worlds/{world}', () => worlds.getWorld),
}
