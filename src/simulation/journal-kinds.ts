import { BATCH_STATUSES, CONTAINER_STATES, DEPLOYMENT_STATUSES, HOSTED_STATES } from '../data/records/enums.ts'
import { INSTANCE_STATES } from './deployments/instance-row.ts'

/** What the journal calls things that happen, for the hint at a mistyped word; a test holds it against the source. */
export const JOURNAL_KINDS: readonly string[] = [
  'request',
  ...kindsOf('account', 'graceEnded resumed suspended'),
  ...kindsOf('adapter', 'created described evicted resident'),
  ...kindsOf('autoscaler', 'freed frozen'),
  ...kindsOf('batch', 'capacityCame created linesRetried progressed waiting', BATCH_STATUSES),
  ...kindsOf('card', 'accepted declined'),
  ...kindsOf('command', 'missed'),
  ...kindsOf('container', 'created imagePulled placed renamed', CONTAINER_STATES),
  ...kindsOf('data', 'created updated deleted'),
  ...kindsOf('deployment', 'crashed created idled limited resized scaledDown scaledUp woken', DEPLOYMENT_STATUSES),
  ...kindsOf('disk', 'filled freed'),
  ...kindsOf('fault', 'added hit removed'),
  ...kindsOf('file', 'created deleted expired'),
  ...kindsOf('funds', 'added'),
  ...kindsOf('gpu', 'failed reset'),
  ...kindsOf('hosted', 'created deleting expanded expanding lost placed renamed', HOSTED_STATES),
  ...kindsOf('hub', 'down repositoryChanged throttled unthrottled up'),
  ...kindsOf('inference', 'broken cutOff left queued served turnedAway'),
  ...kindsOf('instance', 'crashed gone imagePulled lost', INSTANCE_STATES),
  ...kindsOf('limit', 'approved denied requested set'),
  ...kindsOf('model', 'versionAdded versionRemoved'),
  ...kindsOf(
    'node',
    'cordoned crashed degraded drained gone imageEvicted lost preempted preemptionNoticed provisioning ready recovered repaired uncordoned weightsEvicted',
  ),
  ...kindsOf('pool', 'restocked spotReturned stockedOut'),
  ...kindsOf('price', 'set'),
  ...kindsOf('provisioning', 'normal slowed'),
  ...kindsOf('registry', 'down up'),
  ...kindsOf('scenario', 'started stopped'),
  ...kindsOf('token', 'allowed created deleted restored revoked'),
  ...kindsOf('topup', 'begun calledOff charged declined delayed normal set'),
  ...kindsOf('voice', 'created deleted edited'),
  ...kindsOf('zone', 'down up'),
]

function kindsOf(subject: string, words: string, states: readonly string[] = []): string[] {
  return [...new Set([...words.split(' '), ...states])].map(word => `${subject}.${word}`)
}
