import { groupBy } from '../../../lib/lists.ts'
import { childrenOf, formatPlace, type Leaf, leavesOf, type Place, patternOf, valueAt } from '../answers/leaves.ts'
import { isTelling } from '../answers/run-answers.ts'
import { type AskedLine, askedLines, type BatchRowRecord } from '../batch-rows.ts'
import { entryEvidence, requestEvidence, violationAt, walk } from '../facts.ts'
import type { Observation } from '../observation.ts'
import { defineRule } from '../rule.ts'
import { quoteText } from '../words.ts'

/**
 * What the client returns of a row goes with the `custom_id` of that row: in the same record or around it, as a key of a
 * map, at the same position of another list, or before it on a line of text. The names of fields do not matter. A list of
 * answers without ids has the order of the input, because the order of the output file is another one. No row is there
 * more often than its line is in the input. A line that failed also without faults is named, if others are.
 */
export const batchLines = defineRule({
  summary: 'Each custom_id of a batch is returned once, with its own answer or error.',
  advice:
    'Join rows by custom_id, because the order of an output file is not that of the input. Read the error file too.',
  premise: observation => readLines(observation) !== undefined,
  otherwise: 'its result has no line of a batch; if it should, return rows with their ids, or give the option lines',
  check(observation) {
    const found = readLines(observation)
    if (found === undefined) return []
    const problems = [...wrongPairs(found), ...unattributed(found), ...repeated(found), ...unnamed(observation, found)]
    const [first] = problems
    if (first === undefined) return []
    const { requests } = observation
    const rest = problems.length > 1 ? ` ${problems.length - 1} more lines are wrong.` : ''
    const batch = found.asked.get(first.customId)?.batches.at(-1)
    const reads = requests.filter(({ read }) => read?.text.includes(first.customId)).slice(-2)
    return [
      violationAt(reads.at(-1) ?? requests.at(-1)!, `${first.words}${rest}`, {
        subject: batch?.id,
        evidence: [...requestEvidence(...reads), ...(batch ? entryEvidence(observation, batch.id) : [])],
      }),
    ]
  },
})

/** A text of a row in the result, and the id that goes with it. */
interface FoundRow {
  readonly place: Place
  /** The line whose row has the text. */
  readonly owner: string
  readonly id: string | undefined
}

interface FoundLines {
  readonly asked: ReadonlyMap<string, AskedLine>
  readonly rows: readonly FoundRow[]
  /** The ids that the result names. */
  readonly named: ReadonlySet<string>
}

interface Problem {
  readonly words: string
  readonly customId: string
}

/** Returns what the result has of the lines of batches; undefined if it has nothing of them. */
export function readLines(observation: Observation): FoundLines | undefined {
  const { end, lines } = observation
  if (end.kind !== 'returned') return undefined
  const asked = askedLines(observation)
  if (asked.size === 0) return undefined
  const result = lines ?? end.result
  const owners = ownersOf([...asked.values()])
  const leaves = leavesOf(result)
  const lists = idLists(leaves, asked)
  const named = new Set<string>()
  const rows = leaves.flatMap(({ place, value }): FoundRow[] => {
    for (const key of place) if (asked.has(String(key))) named.add(String(key))
    if (typeof value !== 'string') return []
    if (asked.has(value)) named.add(value)
    const owner = owners.get(value.trim())
    if (owner !== undefined) return [{ place, owner, id: idNear(result, place, asked) ?? idBeside(place, lists) }]
    return value.includes(' ') ? rowsInText(place, value, owners, asked) : []
  })
  return rows.length === 0 && named.size === 0 ? undefined : { asked, rows, named }
}

/** Returns the texts that the row of one line alone has, with the line. */
function ownersOf(lines: readonly AskedLine[]): ReadonlyMap<string, string> {
  const owners = new Map<string, Set<string>>()
  const add = (row: BatchRowRecord, customId: string) =>
    walk(row.response, value => {
      if (typeof value !== 'string' || !isTelling(value.trim())) return undefined
      const known = owners.get(value.trim()) ?? new Set()
      owners.set(value.trim(), known.add(customId))
      return undefined
    })
  for (const { customId, outputRows } of lines) for (const row of outputRows) add(row, customId)
  return new Map(
    [...owners].flatMap(([text, [owner, other]]) => (other === undefined ? [[text, owner!] as const] : [])),
  )
}

/** Returns the nearest id around a place: a key on the way to it, or a value of a record that it is in. */
function idNear(result: unknown, place: Place, asked: ReadonlyMap<string, AskedLine>): string | undefined {
  for (let depth = place.length - 1; depth >= 0; depth--) {
    const key = String(place[depth])
    if (asked.has(key)) return key
    const container = valueAt(result, place.slice(0, depth))
    const isPair = Array.isArray(container) && container.length === 2
    if (Array.isArray(container) && !isPair) continue
    const id = childrenOf(container).find(([, child]) => typeof child === 'string' && asked.has(child))?.[1]
    if (id !== undefined) return id as string
  }
  return undefined
}

/** Returns the lists of ids in a result, by the length and the place of each. */
function idLists(leaves: readonly Leaf[], asked: ReadonlyMap<string, AskedLine>): readonly (readonly string[])[] {
  const lists = groupBy(
    leaves.filter(({ place }) => typeof place.at(-1) === 'number'),
    ({ place }) => formatPlace(place.slice(0, -1)),
  )
  return [...lists.values()].flatMap(list => {
    const values = list.map(({ value }) => String(value))
    return values.every(value => asked.has(value)) ? [values] : []
  })
}

/** Returns the id at the same position of a list of ids. */
function idBeside(place: Place, lists: readonly (readonly string[])[]): string | undefined {
  const position = place.findLast(key => typeof key === 'number')
  return lists.length === 1 && typeof position === 'number' ? lists[0]![position] : undefined
}

/** Returns the rows that a text has, each with the last id before it on its line. */
function rowsInText(
  place: Place,
  text: string,
  owners: ReadonlyMap<string, string>,
  asked: ReadonlyMap<string, AskedLine>,
): FoundRow[] {
  return text.split('\n').flatMap(line =>
    [...owners].flatMap(([content, owner]) => {
      const at = line.indexOf(content)
      if (at < 0) return []
      const words = line.slice(0, at).split(/[^\w.-]+/)
      return [{ place, owner, id: words.findLast(word => asked.has(word)) }]
    }),
  )
}

function wrongPairs({ rows }: FoundLines): Problem[] {
  return rows.flatMap(({ id, owner, place }) =>
    id === undefined || id === owner
      ? []
      : [
          {
            customId: id,
            words: `The client returned for ${quoteText(id)} the answer of ${quoteText(owner)}, at ${formatPlace(place)}.`,
          },
        ],
  )
}

/** Lists of all answers without ids, in the order of the output file. */
function unattributed({ rows, asked }: FoundLines): Problem[] {
  const answered = [...asked.values()].filter(({ outputRows }) => outputRows.length > 0)
  const input = answered.map(({ customId }) => customId)
  const output = answered.toSorted((a, b) => a.outputAt - b.outputAt).map(({ customId }) => customId)
  if (input.join() === output.join() || input.length < 2) return []
  const lists = groupBy(
    rows.filter(({ id }) => id === undefined),
    ({ place }) => patternOf(place),
  )
  return [...lists.values()].flatMap(list => {
    const owners = list.map(({ owner }) => owner)
    if (owners.join() !== output.join()) return []
    const at = formatPlace(
      list[0]!.place.slice(
        0,
        list[0]!.place.findLastIndex(key => typeof key === 'number'),
      ),
    )
    const words = `The answers at ${at} cannot be attributed: they have the order of the output file and no custom_id.`
    return [{ customId: owners[0]!, words }]
  })
}

function repeated({ rows, asked }: FoundLines): Problem[] {
  const groups = groupBy(rows, ({ place, owner }) => `${patternOf(place)} ${owner}`)
  return [...groups.values()].flatMap(group => {
    const { owner } = group[0]!
    const count = asked.get(owner)?.count ?? 1
    if (group.length <= count) return []
    const words = `The client returned the answer of ${quoteText(owner)} ${group.length} times: the input has it ${count === 1 ? 'once' : `${count} times`}.`
    return [{ customId: owner, words }]
  })
}

/** Lines that failed also without faults, and that the result does not name although it names others. */
function unnamed({ base }: Observation, { asked, named }: FoundLines): Problem[] {
  if (named.size === 0) return []
  return [...asked.values()].flatMap(({ customId, outputRows, errorRows }) => {
    const hasFailed = outputRows.length === 0 && errorRows.length > 0 && base?.answered.has(customId) !== true
    if (!hasFailed || named.has(customId)) return []
    const { error } = errorRows[0]!
    const reason = quoteText((error as { message?: unknown } | null)?.message ?? error)
    const words = `The client returned nothing for ${quoteText(customId)}, but the error file has it: ${reason}.`
    return [{ customId, words }]
  })
}
