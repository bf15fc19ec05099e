import { BATCH_LIFECYCLE, CONTAINER_LIFECYCLE, DEPLOYMENT_LIFECYCLE, HOSTED_LIFECYCLE } from '../data/records/enums.ts'
import { formatDuration } from '../kernel/duration.ts'
import {
  ANSWER_FIELDS,
  formatDeploymentStatus,
  formatReason,
  formatScaled,
  type JournalKind,
  type JournalSection,
  LOG_ONLY_LINES,
  type LogContext,
  type LoggedKind,
  statusKinds,
} from './journal-kind.ts'

/** The journal kinds of the account. */
const ACCOUNT_SECTION = {
  title: 'Account',
  subject: 'The subject is the account.',
  kinds: {
    'funds.added': { meaning: 'Funds were added by hand', fields: 'cents' },
    'funds.set': { meaning: 'A command set the remaining funds', fields: 'cents' },
    'topup.set': { meaning: 'The top-up rule was set', fields: 'amount threshold enabled' },
    'topup.begun': {
      meaning: 'The balance fell below the threshold; `draw` and `delay_us` if the weather makes the top-up late',
      fields: 'cents draw delay_us',
    },
    'topup.charged': { meaning: 'The card was charged', fields: 'cents' },
    'topup.declined': {
      meaning: 'The card declined the charge; `draw` if the weather decided it',
      fields: 'cents draw',
    },
    'topup.calledOff': { meaning: 'Funds came before the charge, so it was cancelled' },
    'topup.delayed': { meaning: 'Top-ups take so many microseconds from now on', fields: 'by_us' },
    'topup.normal': { meaning: 'Top-ups take their usual time' },
    'card.declined': { meaning: 'The card declines charges from now on' },
    'card.accepted': { meaning: 'The card accepts charges again' },
    'account.suspended': {
      meaning: 'Suspended: `balance`, `limit-reached`, or the reason of the command',
      fields: 'reason',
    },
    'account.graceEnded': { meaning: 'The grace period ended; all that runs stops' },
    'account.resumed': { meaning: 'A suspension ended' },
    'account.edited': { meaning: 'The owner changed the record of the account', fields: 'changed' },
    'account.deleted': { meaning: 'The owner deleted the account and all that it had' },
    'limit.set': { meaning: 'The GPU quota was set; `null` means no quota', fields: 'gpu limit' },
    'limit.requested': { meaning: 'A higher quota was requested', fields: 'gpu requested_limit' },
    'limit.approved': { meaning: 'The quota request was approved', fields: 'gpu requested_limit' },
    'limit.denied': { meaning: 'The quota request was denied', fields: 'gpu requested_limit' },
    'rateLimit.set': { meaning: 'A command set the rate limits; -1 means no limit', fields: 'requests tokens' },
    'rateLimit.requested': { meaning: 'Higher rate limits were requested; -1: unchanged', fields: 'requests tokens' },
    'rateLimit.approved': { meaning: 'The request for rate limits was approved', fields: 'requests tokens' },
    'rateLimit.denied': { meaning: 'The request for rate limits was denied', fields: 'requests tokens' },
    'spendingLimit.set': { meaning: 'The spending limit was set; `null` means no limit', fields: 'microcents' },
    'price.set': { meaning: 'The price of a GPU type changed', fields: 'gpu cents_per_hour' },
    'token.created': { meaning: 'An API token was created', fields: 'token_id name' },
    'scopedToken.created': { meaning: 'An API token signed a scoped token', fields: 'token_id scope' },
    'token.deleted': { meaning: 'An API token was deleted by a request', fields: 'token_id' },
    'token.revoked': { meaning: 'A command revoked an API token', fields: 'token_id' },
    'token.restored': { meaning: 'A command restored an API token', fields: 'token_id' },
    'token.allowed': { meaning: 'The allowed addresses of an API token changed', fields: 'token_id addresses' },
  },
} as const satisfies JournalSection

/** The journal kinds of hosted instances and containers, and of the SSH keys of their machines. */
const RENTAL_KINDS = {
  'sshKey.added': { meaning: 'An SSH key was added to the account', fields: 'ssh_key_id name' },
  'sshKey.deleted': { meaning: 'An SSH key was deleted', fields: 'ssh_key_id' },
  'hosted.created': { meaning: 'A hosted instance was created', fields: 'name plan_id region' },
  ...statusKinds('hosted', HOSTED_LIFECYCLE),
  'hosted.placed': { meaning: 'It has a machine of this region', fields: 'region' },
  'hosted.deleting': { meaning: 'A deletion replaces a stop in progress' },
  'hosted.crashed': { meaning: 'A command crashed its machine' },
  'hosted.lost': { meaning: 'Its machine was lost; it starts on another', fields: 'reason' },
  'hosted.expanding': { meaning: 'More storage was requested', fields: 'storage_gb' },
  'hosted.expanded': { meaning: 'It has more storage', fields: 'storage_gb' },
  'hosted.renamed': { meaning: 'It has another name', fields: 'name' },
  'container.created': { meaning: 'A container was created', fields: 'name gpu num_gpus' },
  ...statusKinds('container', CONTAINER_LIFECYCLE),
  'container.placed': { meaning: 'It has GPUs of this node', fields: 'node gpus' },
  'container.imagePulled': { meaning: 'It has its image: `fetched`, or `cached` on the node', fields: 'image' },
  'container.renamed': { meaning: 'It has another name', fields: 'name' },
} as const satisfies JournalSection['kinds']

/** The recorder adds a line to the log of the deployment for each of them with `log`. */
const DEPLOYMENT_KINDS = {
  'deployment.created': {
    meaning: 'A deployment was created',
    fields: 'model_name gpu num_gpus',
    log: ({ isOfCatalog, created, modelName, numGpus, gpu }) =>
      isOfCatalog
        ? `INFO ${created}: ${modelName} of the catalog, on GPUs of the provider`
        : `INFO ${created}: ${modelName} on ${numGpus} ${gpu} an instance`,
  },
  ...statusKinds('deployment', DEPLOYMENT_LIFECYCLE, { log: formatDeploymentStatus }),
  'deployment.resized': {
    meaning: 'A request changed its bounds',
    fields: 'min_instances max_instances',
    log: ({ fields }) => `INFO min_instances ${fields.min_instances}, max_instances ${fields.max_instances}`,
  },
  'deployment.scaledUp': { meaning: 'It wants more instances than before', fields: 'from to', log: formatScaled },
  'deployment.scaledDown': { meaning: 'It wants fewer instances than before', fields: 'from to', log: formatScaled },
  'deployment.limited': {
    meaning: 'An instance was not requested: quota of `gpu`, or suspended account',
    fields: 'gpu suspended',
    log: ({ fields }) =>
      fields.suspended === undefined
        ? `WARNING no instance is requested: the limit of the account for ${fields.gpu} is reached`
        : `WARNING no instance is requested: the account is suspended (${fields.suspended})`,
  },
  'deployment.idled': {
    meaning: 'It gave up its last instance for lack of work',
    log: () => 'INFO no requests for a while: down to zero instances',
  },
  'deployment.woken': {
    meaning: 'Work asks for an instance again',
    log: () => 'INFO requests arrived: an instance is requested',
  },
  'deployment.crashed': { meaning: 'A command crashes its engine, now and at its next starts', fields: 'times' },
  'adapter.created': {
    meaning: 'An adapter was created on this base',
    fields: 'base',
    log: ({ fields, created, modelName }) => `INFO ${created}: adapter ${modelName} on ${fields.base}`,
  },
  'adapter.described': { meaning: 'Its visibility or description changed', fields: 'private' },
  'adapter.resident': {
    meaning: 'It is loaded on this instance',
    fields: 'instance',
    log: ({ fields }) => `INFO loaded on ${fields.instance}`,
  },
  'adapter.evicted': {
    meaning: 'It gave its slot to the adapter `for`',
    fields: 'instance for',
    log: ({ fields }) => `INFO left its slot on ${fields.instance} to another adapter`,
  },
} as const satisfies Readonly<Record<string, JournalKind>>

/** Each of them is also a line in the log of its instance. */
const INSTANCE_KINDS = {
  'instance.pending': {
    meaning: 'Requested; waits for GPUs',
    fields: 'deployment',
    log: ({ numGpus, gpu }) => `INFO waiting for ${numGpus} ${gpu} on one node`,
  },
  'instance.placed': {
    meaning: 'Has GPUs of this node',
    fields: 'node gpus',
    log: ({ fields, durationAfter }) =>
      `INFO placed on ${fields.node} with ${fields.gpus} of its GPUs${durationAfter('instance.pending')}`,
  },
  'instance.pulling': {
    meaning: 'Gets its image: `fetched`, or `cached` on the node',
    fields: 'image',
    log: ({ fields, image }) => (fields.image === 'cached' ? `INFO ${image} is on the node` : `INFO pulling ${image}`),
  },
  'instance.imagePulled': {
    meaning: 'Has its image and gets its weights: `fetched` or `cached`',
    fields: 'weights',
    log: ({ fields, repo, gigabytes, durationAfter }) => {
      const weights =
        fields.weights === 'cached' ? `weights of ${repo} are on the node` : `downloading ${gigabytes} of ${repo}`
      return `INFO container started${durationAfter('instance.pulling')}; ${weights}`
    },
  },
  'instance.loading': {
    meaning: 'Loads its weights to the GPUs',
    log: ({ gigabytes, numGpus, gpu, durationAfter }) =>
      `INFO weights complete${durationAfter('instance.imagePulled')}; loading ${gigabytes} into the memory of ${numGpus} ${gpu}`,
  },
  'instance.warming': {
    meaning: 'Starts its engine',
    log: ({ maxBatchSize, durationAfter }) =>
      `INFO weights loaded${durationAfter('instance.loading')}; warming up for max_batch_size ${maxBatchSize}`,
  },
  'instance.ready': {
    meaning: 'Serves requests',
    log: ({ modelName, durationAfter }) => `INFO ready${durationAfter('instance.warming')}; serving ${modelName}`,
  },
  'instance.draining': {
    meaning: 'Takes no new requests and ends soon',
    log: () => 'INFO draining: no new requests; those in work are finished',
  },
  'instance.gone': { meaning: 'Released its GPUs', log: () => 'INFO stopped' },
  'instance.crashed': {
    meaning: 'Its engine exited; `state` is the state before',
    fields: 'reason state',
    log: formatReason,
  },
  'instance.lost': {
    meaning: 'Lost for another reason, such as a crash of its node',
    fields: 'reason state',
    log: ({ fields }) => `ERROR lost while ${fields.state}: ${fields.reason}`,
  },
} as const satisfies Readonly<Record<string, LoggedKind>>

/**
 * The kinds of journal entries by subject: one table for the hints at mistyped words, the logs of deployments and
 * docs/journal.md. Statuses follow from their lifecycle.
 */
const SECTIONS = [
  {
    title: 'Requests',
    kinds: {
      request: {
        meaning:
          'A request of a client, or one to the control plane that can change the world. `status` is 0 until it ends, and if it got no answer',
        fields: 'operation status decidedBy',
      },
    },
  },
  {
    title: 'Deployments',
    subject: 'The subject is the `deploy_id`. A LoRA adapter is a deployment too.',
    kinds: DEPLOYMENT_KINDS,
    note: '`reason` is present only if the deployment has a `fail_reason`.',
  },
  {
    title: 'Instances',
    subject: 'The subject is the id of the instance: the `deploy_id`, a dash and a number.',
    kinds: INSTANCE_KINDS,
  },
  {
    title: 'Requests to models',
    subject: 'The subject is the id of the answer, such as `chatcmpl-…`.',
    kinds: {
      'inference.queued': { meaning: 'No place is free, so the request waits', fields: 'deployment' },
      'inference.served': { meaning: 'Answered', fields: ANSWER_FIELDS },
      'inference.left': { meaning: 'The client disconnected', fields: ANSWER_FIELDS },
      'inference.broken': { meaning: 'Its instance was lost or ended', fields: 'model reason' },
      'inference.turnedAway': { meaning: 'Refused while it waited', fields: 'model reason' },
      'inference.cutOff': {
        meaning: 'The grace period of the account ended, or the account was deleted',
        fields: 'model reason',
      },
    },
  },
  {
    title: 'Webhooks',
    subject: 'The subject is the id of the request whose result is sent.',
    kinds: {
      'webhook.sent': { meaning: 'An attempt to deliver the result begins', fields: 'url attempt' },
      'webhook.delivered': { meaning: 'The address answered with a 2xx', fields: 'status attempt' },
      'webhook.failed': {
        meaning: 'The address answered with another status, or did not answer for `reason`',
        fields: 'status reason attempt',
      },
      'webhook.gaveUp': { meaning: 'The last attempt failed', fields: 'attempts' },
    },
  },
  {
    title: 'Batches and files',
    subject: 'The subject is the id of the batch or file.',
    kinds: {
      'batch.created': { meaning: 'A batch was created; its validation begins', fields: 'input_file_id endpoint' },
      ...statusKinds('batch', BATCH_LIFECYCLE, {
        log: ({ status, fields }) => `INFO batch ${fields.batch} is ${status}`,
      }),
      'batch.waiting': {
        meaning: 'It waits for shared capacity; `wait` is the class of the wait in the profile',
        fields: 'wait',
      },
      'batch.capacityCame': { meaning: 'That wait ended' },
      'batch.progressed': { meaning: 'Lines so far; an entry for each hundredth', fields: 'done failed total' },
      'batch.linesRetried': {
        meaning: 'So many lines run again, because their instance was lost',
        fields: 'lines',
        log: ({ fields }) => `WARNING ${fields.lines} lines of ${fields.batch} are run again`,
      },
      'file.created': { meaning: 'Uploaded, or written by a batch', fields: 'filename bytes hash' },
      'file.deleted': { meaning: 'Deleted by a request or a command' },
      'file.expired': { meaning: 'Deleted at its `expires_at`' },
    },
  },
  {
    title: 'Models and voices',
    subject: 'The subject is the name of the model. For voices and the catalog it is the account.',
    kinds: {
      'model.versionAdded': { meaning: 'A version was added; the first eight digits', fields: 'version' },
      'model.versionRemoved': { meaning: 'A version was removed', fields: 'version' },
      'model.described': { meaning: 'Its visibility or details changed', fields: 'public' },
      'catalog.deprecated': { meaning: 'A catalog model has a date of deprecation', fields: 'model deprecated' },
      'catalog.restored': { meaning: 'A command made a catalog model current again', fields: 'model' },
      'catalog.versionAdded': { meaning: 'A catalog model has a newer version', fields: 'model version' },
      'catalog.priceSet': { meaning: 'The price of its tokens changed', fields: 'model side cents_per_million' },
      'voice.created': { meaning: 'A voice was created', fields: 'voice_id name' },
      'voice.edited': { meaning: 'A voice was changed', fields: 'voice_id name' },
      'voice.deleted': { meaning: 'A voice was deleted', fields: 'voice_id' },
    },
  },
  {
    title: 'Records of own endpoints',
    subject: 'The subject is the key of the record. `kind` is the word of its table.',
    kinds: {
      'ownRecord.created': { meaning: 'A record was created', fields: 'kind status name' },
      'ownRecord.changed': {
        meaning: 'A record was changed, by a request or by a planned change',
        fields: 'kind status name',
      },
      'ownRecord.deleted': { meaning: 'A record was deleted', fields: 'kind' },
    },
  },
  {
    title: 'Rentals',
    subject: 'The subject is the id of the hosted instance or container. For SSH keys it is the account.',
    kinds: RENTAL_KINDS,
    note: '`reason` is present only if the simulator, and not a request, caused the change.',
  },
  {
    title: 'Nodes and GPUs',
    subject: 'The subject is the name of the node.',
    kinds: {
      'node.provisioning': { meaning: 'A new node was requested', fields: 'pool' },
      'node.ready': { meaning: 'It can serve, new or after an outage of its zone' },
      'node.crashed': { meaning: 'It crashed' },
      'node.repaired': { meaning: 'It was repaired, or a GPU of it replaced' },
      'node.cordoned': { meaning: 'It gets no new tenants' },
      'node.uncordoned': { meaning: 'It gets tenants again' },
      'node.drained': { meaning: 'Its tenants leave', log: ({ fields }) => `WARNING ${fields.node} is being drained` },
      'node.degraded': { meaning: 'It is slower by this factor', fields: 'factor' },
      'node.recovered': { meaning: 'It has its full speed again', fields: 'factor' },
      'node.preemptionNoticed': {
        meaning: 'The spot node goes after this notice',
        fields: 'notice_seconds',
        log: ({ fields }) =>
          `WARNING ${fields.node} is taken back in ${formatDuration(Number(fields.notice_seconds) * 1e6)}`,
      },
      'node.preempted': { meaning: 'The spot node is gone' },
      'node.lost': { meaning: 'It is lost with its zone', fields: 'zone' },
      'node.gone': { meaning: 'The autoscaler removed it' },
      'node.imageEvicted': { meaning: 'An image left its disk', fields: 'image' },
      'node.weightsEvicted': { meaning: 'Weights left its disk', fields: 'repo' },
      'gpu.failed': { meaning: 'A GPU failed with this code; `action` is what it needs', fields: 'gpu xid action' },
      'gpu.reset': { meaning: 'A GPU was reset', fields: 'gpu' },
      'disk.filled': { meaning: 'Its disk is full' },
      'disk.freed': { meaning: 'Its disk has room again' },
    },
  },
  {
    title: 'Services of the provider',
    subject: 'The subject is the account.',
    kinds: {
      'zone.down': { meaning: 'All nodes of the zone are lost', fields: 'zone' },
      'zone.up': { meaning: 'The zone is back', fields: 'zone' },
      'pool.stockedOut': { meaning: 'No GPU of this type is assigned', fields: 'gpu' },
      'pool.restocked': { meaning: 'GPUs of this type are assigned again', fields: 'gpu' },
      'pool.soldOut': { meaning: 'Other customers took the last free GPU of this type', fields: 'gpu' },
      'pool.freed': { meaning: 'Other customers left a GPU of this type, and none was free before', fields: 'gpu' },
      'pool.spotReturned': { meaning: 'The pool gets spot nodes again', fields: 'pool' },
      'hub.down': { meaning: 'The model hub does not answer', fields: 'hubDown' },
      'hub.up': { meaning: 'The model hub answers again', fields: 'hubDown' },
      'hub.throttled': { meaning: 'Downloads have this share of their speed', fields: 'hubShare' },
      'hub.unthrottled': { meaning: 'Downloads have their full speed', fields: 'hubShare' },
      'hub.repositoryChanged': { meaning: 'A repository is `open`, `gated` or `missing`', fields: 'repo state' },
      'registry.down': { meaning: 'The image registry does not answer' },
      'registry.up': { meaning: 'The image registry answers again' },
      'autoscaler.frozen': { meaning: 'The autoscaler does nothing' },
      'autoscaler.freed': { meaning: 'The autoscaler works again' },
      'provisioning.slowed': { meaning: 'New nodes take longer by this factor', fields: 'factor' },
      'provisioning.normal': { meaning: 'New nodes take their usual time', fields: 'factor' },
    },
  },
  ACCOUNT_SECTION,
  {
    title: 'The simulator itself',
    subject: 'The subject is the name of the rule or scenario. For commands and data it is the account.',
    kinds: {
      'fault.added': { meaning: 'A fault rule was added: its fault kind and operations', fields: 'fault on' },
      'fault.hit': {
        meaning:
          'A fault rule acted on a request, or on `lines` of a `batch`. With a `chance`, a request has the draw, which is below it',
        fields: 'fault operation draw batch lines',
      },
      'fault.missed': {
        meaning: 'The fault could change nothing of the answer, so the hit before does not count',
        fields: 'fault operation',
      },
      'fault.removed': { meaning: 'A fault rule was removed' },
      'scenario.started': { meaning: 'The timeline of a scenario started' },
      'scenario.stopped': { meaning: 'The timeline of a scenario was stopped' },
      'event.failed': {
        meaning:
          'An event threw, which is a bug of the simulator. The subject is the thing that fails because of it, or the account',
        fields: 'event error',
      },
      'command.missed': { meaning: 'A scheduled command could not be executed', fields: 'verb reason' },
      'data.created': { meaning: 'A test added reference data through `sim.data()`', fields: 'kind key' },
      'data.updated': { meaning: 'A test changed reference data', fields: 'kind key' },
      'data.deleted': { meaning: 'A test deleted reference data', fields: 'kind key' },
    },
  },
] as const satisfies readonly JournalSection[]

export const JOURNAL_SECTIONS: readonly JournalSection[] = SECTIONS

type KeysOf<Section> = Section extends { readonly kinds: infer Kinds } ? keyof Kinds & string : never

/** The kinds of journal entries. */
export type JournalKindName = KeysOf<(typeof SECTIONS)[number]>

const KINDS: ReadonlyMap<string, JournalKind> = new Map(JOURNAL_SECTIONS.flatMap(({ kinds }) => Object.entries(kinds)))

/** What the journal calls things that happen; a test compares it with the source. */
export const JOURNAL_KINDS = [...KINDS.keys()] as readonly JournalKindName[]

/** The kinds of deployments that the recorder also logs. */
export const LOGGED_KINDS: ReadonlySet<string> = new Set(
  Object.keys(DEPLOYMENT_KINDS).filter(kind => KINDS.get(kind)!.log !== undefined),
)

/** Returns the text of a log line. Throws for a kind without one. */
export function formatLogLine(kind: string, context: LogContext): string {
  const log = KINDS.get(kind)?.log ?? LOG_ONLY_LINES[kind]
  if (log === undefined) throw new Error(`Failed to format the log line '${kind}': the kind has no text.`)
  return log(context)
}
