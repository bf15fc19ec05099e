import type { Lifecycle } from '../data/records/lifecycle.ts'
import type { EntryFields } from '../kernel/journal.ts'

/** What the text of a log line can say. */
export interface LogContext {
  readonly fields: EntryFields
  /** The kind without its subject: `running` of `deployment.running`. */
  readonly status: string
  readonly modelName: string
  /** Whether the deployment runs a model of the catalog on GPUs of the provider. */
  readonly isOfCatalog: boolean
  readonly repo: string
  readonly image: string
  readonly gigabytes: string
  readonly numGpus: number
  readonly gpu: string
  readonly maxBatchSize: number
  /** `created`, with the time if the deployment is older than the world. */
  readonly created: string
  /** Returns ` after <duration>` if the previous line of the instance has this kind and is older, and '' otherwise. */
  durationAfter(kind: string): string
}

export type LogText = (context: LogContext) => string

export interface JournalKind {
  /** What happened, as Markdown. */
  readonly meaning: string
  /** The names of its fields, separated by spaces. Default: none. */
  readonly fields?: string | undefined
  /** Its line in the log of a deployment or an instance, beginning with the level. Default: no line. */
  readonly log?: LogText | undefined
}

export interface LoggedKind extends JournalKind {
  readonly log: LogText
}

/** The kinds of one subject. */
export interface JournalSection {
  readonly title: string
  /** What the subject of the entries is. */
  readonly subject?: string
  readonly kinds: Readonly<Record<string, JournalKind>>
  readonly note?: string
}

/** Fields of an answered request: tokens, or the seconds of media work. */
export const ANSWER_FIELDS = 'model prompt_tokens completion_tokens seconds'

export const formatReason: LogText = ({ fields }) => `ERROR ${fields.reason}`
/** Log lines of instances without a journal entry: the entry is the failure of the deployment. */
export const LOG_ONLY_LINES: Readonly<Record<string, LogText>> = {
  'instance.outOfMemory': formatReason,
  'instance.refused': formatReason,
}

export const formatScaled: LogText = ({ fields }) => `INFO scaled from ${fields.from} to ${fields.to} instances`
export const formatDeploymentStatus: LogText = ({ status, fields }) =>
  status === 'failed' ? `ERROR failed: ${fields.reason}` : `INFO status ${status}`

/** Returns the kinds that record the statuses of a lifecycle. */
export function statusKinds<Subject extends string, Status extends string, Unrecorded extends Status>(
  subject: Subject,
  lifecycle: Lifecycle<Status, Unrecorded>,
  { log }: { readonly log?: LogText } = {},
) {
  return Object.fromEntries(
    lifecycle.recorded.map((status): [string, JournalKind] => {
      const { entry, fields } = lifecycle.journalEntry(status)
      return [`${subject}.${status}`, { meaning: entry, fields, log }]
    }),
  ) as { readonly [Name in Exclude<Status, Unrecorded> as `${Subject}.${Name}`]: JournalKind }
}
