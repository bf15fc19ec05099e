import { INSTANCE_STATES } from '../cluster/instances.ts'
import { BATCH_STATUSES, CONTAINER_STATES, DEPLOYMENT_STATUSES, HOSTED_STATES } from '../store/records.ts'

/** What the journal calls things that happen, for the hint at a mistyped word; a test holds it against the source. */
export const JOURNAL_KINDS: readonly string[] = [
  'request',
  ...of('account', 'graceEnded resumed suspended'),
  ...of('adapter', 'created described evicted resident'),
  ...of('autoscaler', 'freed frozen'),
  ...of('batch', 'capacityCame created linesRetried progressed waiting', BATCH_STATUSES),
  ...of('card', 'accepted declined'),
  ...of('command', 'missed'),
  ...of('container', 'created imagePulled placed renamed', CONTAINER_STATES),
  ...of('data', 'created updated deleted'),
  ...of('deployment', 'crashed created idled limited resized scaledDown scaledUp woken', DEPLOYMENT_STATUSES),
  ...of('disk', 'filled freed'),
  ...of('fault', 'added hit removed'),
  ...of('file', 'created deleted expired'),
  ...of('funds', 'added'),
  ...of('gpu', 'failed reset'),
  ...of('hosted', 'created deleting expanded expanding lost placed renamed', HOSTED_STATES),
  ...of('hub', 'down repositoryChanged throttled unthrottled up'),
  ...of('inference', 'broken cutOff left queued served turnedAway'),
  ...of('instance', 'crashed gone imagePulled lost', INSTANCE_STATES),
  ...of('limit', 'approved denied requested set'),
  ...of('model', 'versionAdded versionRemoved'),
  ...of(
    'node',
    'cordoned crashed degraded drained gone imageEvicted lost preempted preemptionNoticed provisioning ready recovered repaired uncordoned weightsEvicted',
  ),
  ...of('pool', 'restocked spotReturned stockedOut'),
  ...of('price', 'set'),
  ...of('provisioning', 'normal slowed'),
  ...of('registry', 'down up'),
  ...of('scenario', 'started stopped'),
  ...of('token', 'allowed created deleted restored revoked'),
  ...of('topup', 'begun calledOff charged declined delayed normal set'),
  ...of('voice', 'created deleted edited'),
  ...of('zone', 'down up'),
]

function of(thing: string, words: string, states: readonly string[] = []): string[] {
  return [...new Set([...words.split(' '), ...states])].map(word => `${thing}.${word}`)
}
