import { groupBy } from '../../../../lib/lists.ts'
import { findModelTarget } from '../../../../simulation/deployments/model-lookup.ts'
import type { JournalEntry } from '../../../simulator-interface.ts'
import { idInPath, requestEvidence, violationAt } from '../../facts.ts'
import type { Conduct, ObservedRequest } from '../../observation.ts'
import { defineRule } from '../../rule.ts'
import { formatSince, nameRequest } from '../../words.ts'

/** Fields of bodies that name a model of the catalog. */
const MODEL_FIELDS = ['model', 'base_model']

/**
 * The client asks for no model that has a date of deprecation. What it sent before the date was announced does not count. A
 * date can be in the future: then the model still answers.
 */
export const usesCurrentModels = defineRule({
  summary: 'The client asks for no deprecated model.',
  advice:
    'Name a current model of GET /models/list. Read `deprecated` there, so that you learn of a date before it comes.',
  detail:
    'A date in the future counts as soon as it is announced, although the model still answers. Requests that name the model in `model`, `base_model` or the path of native inference count.',
  source: 'Interface document: `deprecated` of a model is the time from which requests for it are refused.',
  place: 'operation',
  check(conduct) {
    const uses = conduct.requests.flatMap(request => {
      const model = modelOf(conduct, request)
      return model === undefined ? [] : [{ request, model }]
    })
    return [...groupBy(uses, ({ model }) => model)].flatMap(([model, all]) => {
      const seconds = conduct.sim.world.store.models.get(model)?.deprecated ?? null
      if (seconds === null) return []
      const announcement = announcementOf(conduct, model)
      const late = all
        .map(({ request }) => request)
        .filter(request => announcement === undefined || isAfter(request, announcement))
      const [first, last] = [late[0], late.at(-1)]
      if (first === undefined || last === undefined) return []
      const times = late.length === 1 ? 'once' : `${late.length} times`
      const date = new Date(seconds * 1000).toISOString().slice(0, 10)
      const words =
        `The model ${model} is deprecated from ${date} on. The client asked for it ${times}, first in ` +
        `${nameRequest(first)}, ${formatSince(conduct, first.sentAt)} after the start.`
      return [
        violationAt(first, words, {
          subject: model,
          evidence: [
            ...(announcement === undefined ? [] : [{ kind: 'entry' as const, entry: announcement }]),
            ...requestEvidence(...new Set([first, last])),
          ],
        }),
      ]
    })
  },
})

/** Returns the entry with which the date of deprecation of a model was announced; undefined if the world began with it. */
function announcementOf({ sim }: Conduct, model: string): JournalEntry | undefined {
  return sim.journal.entries().findLast(({ kind, fields }) => kind === 'catalog.deprecated' && fields?.model === model)
}

/** Tells whether a request was sent after an entry. At one instant, the positions in the journal tell. */
function isAfter({ seq, sentAt }: ObservedRequest, entry: JournalEntry): boolean {
  return seq === undefined ? sentAt >= entry.time : seq > entry.seq
}

/** Returns the model of the catalog that a request names. */
function modelOf({ sim }: Conduct, request: ObservedRequest): string | undefined {
  const { body, operation } = request
  const { acceptsScopedTokens = false, path = '' } = sim.api.operations[operation] ?? {}
  const fields = typeof body === 'object' && body !== null ? (body as Readonly<Record<string, unknown>>) : {}
  const isInPath = acceptsScopedTokens && path.includes('{model_name}')
  const named = isInPath ? idInPath({ sim }, request) : MODEL_FIELDS.map(name => fields[name]).find(isText)
  if (named === undefined) return undefined
  const target = findModelTarget(sim.world, named, true)
  return target?.kind === 'catalog' ? target.model : undefined
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
