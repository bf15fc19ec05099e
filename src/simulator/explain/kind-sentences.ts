/** The sentences of all kinds of journal entries. The compiler names a kind without one. */

import {
  BATCH_LIFECYCLE,
  CONTAINER_LIFECYCLE,
  DEPLOYMENT_LIFECYCLE,
  HOSTED_LIFECYCLE,
} from '../../data/records/enums.ts'
import type { Lifecycle } from '../../data/records/lifecycle.ts'
import { formatDuration } from '../../kernel/duration.ts'
import type { Entry, RequestEntry } from '../../kernel/journal.ts'
import type { JournalKindName } from '../../simulation/journal-kinds.ts'
import { isControlRequest } from '../observer.ts'
import { ACCOUNT_SENTENCES, formatFactor, PROVIDER_SENTENCES } from './account-sentences.ts'
import { byField, fillSentence, formatValue, quoteText, type Sentence, withReason } from './sentence.ts'

/** Names a request by method, path and operation. */
export function nameRequest({ subject, fields }: RequestEntry): string {
  const { operation } = fields
  return operation === '' ? quoteText(subject) : `${quoteText(subject)} (${operation})`
}

function requestSentence(entry: Entry): string {
  const request = entry as RequestEntry
  const { status } = request.fields
  const sender = isControlRequest(request) ? 'The control plane received' : 'A client sent'
  const end = status === 0 ? 'has no answer' : `got the status ${status}`
  return `${sender} the request ${nameRequest(request)}. It ${end}.`
}

/** Returns a sentence about the state that an instance had before its end. */
function withState(sentence: string): Sentence {
  const withReasonOnly = withReason(sentence)
  return entry => `${fillSentence(withReasonOnly, entry)} It was ${formatValue(entry.fields?.state)} before.`
}

/** Returns the sentences of the kinds that record the statuses of a lifecycle. */
function statusSentences<Subject extends string, Status extends string, Unrecorded extends Status>(
  subject: Subject,
  lifecycle: Lifecycle<Status, Unrecorded>,
) {
  return Object.fromEntries(
    lifecycle.recorded.map(status => [`${subject}.${status}`, withReason(lifecycle.journalEntry(status).sentence)]),
  ) as { readonly [Name in Exclude<Status, Unrecorded> as `${Subject}.${Name}`]: Sentence }
}

const DEPLOYMENT_SENTENCES = {
  'deployment.created': 'A deployment of the model {model_name} was created: {id}.',
  ...statusSentences('deployment', DEPLOYMENT_LIFECYCLE),
  'deployment.resized':
    'A request changed the bounds of the deployment {id} to at least {min_instances} and at most {max_instances instance}.',
  'deployment.scaledUp': 'The deployment {id} wants {to instance} in place of {from}.',
  'deployment.scaledDown': 'The deployment {id} wants {to instance} in place of {from}.',
  'deployment.limited': ({ subject, fields }) =>
    fields?.suspended === undefined
      ? `The deployment ${formatValue(subject)} got no further instance: the quota for ${formatValue(fields?.gpu)} is reached.`
      : `The deployment ${formatValue(subject)} got no further instance: the account is suspended.`,
  'deployment.idled': 'The deployment {id} gave up its last instance, because it had no work.',
  'deployment.woken': 'Work came, so the deployment {id} asks for an instance again.',
  'deployment.crashed': 'A command crashed the engine of the deployment {id}: {times time}.',
  'adapter.created': 'The LoRA adapter {id} was created on the base {base}.',
  'adapter.described': 'The visibility or the description of the LoRA adapter {id} changed.',
  'adapter.resident': 'The LoRA adapter {id} was loaded on the instance {instance}.',
  'adapter.evicted': 'The LoRA adapter {id} left the instance {instance}, because the adapter {for} needed its slot.',
  'instance.pending': 'The instance {id} was requested, and waits for GPUs.',
  'instance.placed': 'The instance {id} got {gpus GPU} of the node {node}.',
  'instance.pulling': byField(
    'image',
    'cached',
    'The instance {id} found its image on its node.',
    'The instance {id} began to pull its image.',
  ),
  'instance.imagePulled': byField(
    'weights',
    'cached',
    'The instance {id} has its image, and found its weights on its node.',
    'The instance {id} has its image, and began to download its weights.',
  ),
  'instance.loading': 'The instance {id} began to load its weights to its GPUs.',
  'instance.warming': 'The instance {id} began to start its engine.',
  'instance.ready': 'The instance {id} became ready, and serves requests.',
  'instance.draining': 'The instance {id} takes no new requests, and ends soon.',
  'instance.gone': 'The instance {id} ended, and released its GPUs.',
  'instance.crashed': withState('The engine of the instance {id} exited.'),
  'instance.lost': withState('The instance {id} was lost.'),
} as const satisfies { readonly [Kind in JournalKindName]?: Sentence }

const WORK_SENTENCES = {
  request: requestSentence,
  'inference.queued': 'The answer {id} waits, because no place on the deployment {deployment} is free.',
  'inference.served': 'The answer {id} of the model {model} was complete.',
  'inference.left': 'The client of the answer {id} disconnected.',
  'inference.broken': withReason('The answer {id} broke.'),
  'inference.turnedAway': withReason('The request for the answer {id} was refused during its wait.'),
  'inference.cutOff': withReason('The answer {id} was cut off, because the account was suspended or was deleted.'),
  'webhook.sent': 'The attempt {attempt} to deliver the result of {id} began.',
  'webhook.delivered': 'The address of the webhook took the result of {id} with the status {status}.',
  'webhook.failed': withReason('The attempt {attempt} to deliver the result of {id} failed.'),
  'webhook.gaveUp': 'The delivery of the result of {id} was given up after {attempts attempt}.',
  'batch.created': 'The batch {id} was created with the input file {input_file_id}, and its validation began.',
  ...statusSentences('batch', BATCH_LIFECYCLE),
  'batch.waiting': 'The batch {id} waits for shared capacity. The class of the wait is {wait}.',
  'batch.capacityCame': 'The batch {id} got shared capacity.',
  'batch.progressed': 'The batch {id} has done {done} of its {total} lines. {failed} of them failed.',
  'batch.linesRetried': 'The batch {id} runs {lines line} again, because an instance was lost.',
  'file.created': 'The file {id} was written with {bytes} bytes.',
  'file.deleted': 'A request deleted the file {id}.',
  'file.expired': 'The file {id} was deleted at the end of its life.',
  'hosted.created': 'The hosted instance {id} was created in the region {region}.',
  ...statusSentences('hosted', HOSTED_LIFECYCLE),
  'hosted.placed': 'The hosted instance {id} got a machine of the region {region}.',
  'hosted.deleting': 'The hosted instance {id} is deleted in place of its stop.',
  'hosted.crashed': 'A command crashed the machine of the hosted instance {id}.',
  'hosted.lost': withReason('The machine of the hosted instance {id} was lost, so it starts on another one.'),
  'hosted.expanding': 'A request asked for {storage_gb} GB of storage for the hosted instance {id}.',
  'hosted.expanded': 'The hosted instance {id} has {storage_gb} GB of storage now.',
  'hosted.renamed': 'The hosted instance {id} was renamed to {name}.',
  'container.created': 'The container {id} was created for {num_gpus GPU} of the type {gpu}.',
  ...statusSentences('container', CONTAINER_LIFECYCLE),
  'container.placed': 'The container {id} got {gpus GPU} of the node {node}.',
  'container.imagePulled': 'The container {id} has its image.',
  'container.renamed': 'The container {id} was renamed to {name}.',
} as const satisfies { readonly [Kind in JournalKindName]?: Sentence }

const FLEET_SENTENCES = {
  'node.provisioning': 'The autoscaler requested the node {id} for the pool {pool}.',
  'node.ready': 'The node {id} became ready.',
  'node.crashed': 'The node {id} crashed.',
  'node.repaired': 'The node {id} was repaired.',
  'node.cordoned': 'The node {id} was cordoned, and gets no new tenants.',
  'node.uncordoned': 'The node {id} gets tenants again.',
  'node.drained': 'The node {id} began to drain, so its tenants leave.',
  'node.degraded': ({ subject, fields }) =>
    `The node ${formatValue(subject)} became slower by the factor ${formatFactor(fields?.factor)}.`,
  'node.recovered': 'The node {id} has its full speed again.',
  'node.preemptionNoticed': ({ subject, fields }) =>
    `The spot node ${formatValue(subject)} is taken back in ${formatDuration(Number(fields?.notice_seconds) * 1e6)}.`,
  'node.preempted': 'The spot node {id} was taken back.',
  'node.lost': 'The node {id} was lost with its zone {zone}.',
  'node.gone': 'The autoscaler removed the node {id}.',
  'node.imageEvicted': 'The image {image} left the disk of the node {id}.',
  'node.weightsEvicted': 'The weights of {repo} left the disk of the node {id}.',
  'gpu.failed': 'The GPU {gpu} of the node {id} failed with the code XID {xid}.',
  'gpu.reset': 'The GPU {gpu} of the node {id} was reset.',
  'disk.filled': 'The disk of the node {id} became full.',
  'disk.freed': 'The disk of the node {id} has room again.',
} as const satisfies { readonly [Kind in JournalKindName]?: Sentence }

const SIMULATOR_SENTENCES = {
  'fault.added': 'The fault rule {id} was added: its fault is {fault}, on {on}.',
  'fault.hit': byField(
    'lines',
    undefined,
    'The fault rule {id} acted on the request to {operation}: its fault is {fault}.',
    'The fault rule {id} failed {lines line} of the batch {batch}: its fault is {fault}.',
  ),
  'fault.missed': 'The fault rule {id} changed nothing of the answer to {operation}: its fault is {fault}.',
  'fault.removed': 'The fault rule {id} was removed.',
  'scenario.started': 'The timeline of the scenario {id} started.',
  'scenario.stopped': 'The timeline of the scenario {id} was stopped.',
  'event.failed': 'The event {event} of {id} failed, which is a bug of the simulator. The error is {error}.',
  'command.missed': withReason('The scheduled command {verb} failed.'),
  'data.created': 'A test added reference data: {kind} {key}.',
  'data.updated': 'A test changed reference data: {kind} {key}.',
  'data.deleted': 'A test deleted reference data: {kind} {key}.',
} as const satisfies { readonly [Kind in JournalKindName]?: Sentence }

/** The sentence of each kind. */
export const KIND_SENTENCES: Readonly<Record<JournalKindName, Sentence>> = {
  ...DEPLOYMENT_SENTENCES,
  ...WORK_SENTENCES,
  ...FLEET_SENTENCES,
  ...ACCOUNT_SENTENCES,
  ...PROVIDER_SENTENCES,
  ...SIMULATOR_SENTENCES,
}

/** Says what happened in an entry, in one to three sentences. */
export function describeEntry(entry: Entry): string {
  return fillSentence(KIND_SENTENCES[entry.kind as JournalKindName], entry)
}
