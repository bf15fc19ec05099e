import { groupBy } from '../../../lib/group-by.ts'
import { type AskedLine, askedLines, canonical, hasContent, isNothing, isPartOfRow } from '../batch-rows.ts'
import { entryEvidence, isAbout, requestEvidence } from '../facts.ts'
import type { LineResult, Observation, ObservedRequest } from '../observation.ts'
import { defineRule, type Violation } from '../rule.ts'
import { operationOf, quoteText } from '../words.ts'

/**
 * What the client returns for each line of its batches is what the files say of its `custom_id`:
 * - no `custom_id` twice, and none that no input file has
 * - the answer is the response of its own row, or a part of it, such as the text of the message
 * - a line whose only row is in the error file has an error and no answer
 *
 * A client may transform answers. Then they must equal those of the base run, and in the base run they must not be those
 * of another row. A line with an answer in the output file that the client does not return at all is a case of
 * `noSilentLoss`. The rule holds for clients that return no lines.
 */
export const batchLines = defineRule({
  summary: 'Each custom_id of a batch is returned once, with its own answer or error.',
  advice:
    'Join rows by custom_id, because the order of an output file is not that of the input. Read the error file too.',
  check(observation) {
    const { end, base } = observation
    // A client that returns lines without faults returns none by a defect.
    const lines = observation.lines ?? (base?.lines && [])
    if (end.kind !== 'returned' || lines === undefined) return []
    const asked = askedLines(observation)
    if (asked.size === 0) return []
    const results = groupBy(lines, ({ custom_id }) => custom_id)
    const problems = [
      ...[...asked.values()].flatMap(line => {
        const words = problemOf(observation, line, results.get(line.customId) ?? [], asked)
        return words === undefined ? [] : [{ words, line }]
      }),
      ...[...results.keys()].flatMap(customId =>
        asked.has(customId)
          ? []
          : [{ words: `The client returned ${quoteText(customId)}, which no input has.`, line: undefined }],
      ),
    ]
    if (problems.length === 0) return []
    return [toViolation(observation, problems)]
  },
})

interface Problem {
  readonly words: string
  readonly line: AskedLine | undefined
}

/** Reports the problems of all lines as one violation: they have one cause. */
function toViolation(observation: Observation, problems: readonly Problem[]): Violation {
  const [first] = problems as [Problem]
  const rest = problems.length > 1 ? ` ${problems.length - 1} more lines are wrong.` : ''
  const batch = first.line?.batches.at(-1)
  const downloads = observation.requests.filter(isDownload)
  const reads = batch ? observation.requests.filter(request => isAbout(request, batch.id)).slice(-1) : []
  return {
    words: `${first.words}${rest}`,
    operation: operationOf(downloads.at(-1) ?? observation.requests.at(-1)!),
    subject: batch?.id,
    evidence: [
      ...requestEvidence(...reads, ...downloads.slice(-2)),
      ...(batch ? entryEvidence(observation, batch.id) : []),
    ],
  }
}

function isDownload({ operation }: ObservedRequest): boolean {
  return operation === 'getFileContent'
}

/** Returns what is wrong with the results of a line; undefined if nothing is. */
function problemOf(
  { base }: Observation,
  { customId, count, outputRows, errorRows }: AskedLine,
  results: readonly LineResult[],
  asked: ReadonlyMap<string, AskedLine>,
): string | undefined {
  const full = results.filter(hasContent)
  const id = quoteText(customId)
  if (full.length > count) return `The client returned ${id} ${full.length} times: the input has it ${times(count)}.`
  const answered = full.filter(({ answer, error }) => !isNothing(answer) && isNothing(error))
  if (outputRows.length === 0 && errorRows.length > 0) {
    const reason = quoteText((errorRows[0]!.error as { message?: unknown } | null)?.message ?? errorRows[0]!.error)
    if (answered.length > 0)
      return `The client returned an answer for ${id}, but the error file says that it failed: ${reason}.`
    return full.length > 0 ? undefined : `The client returned nothing for ${id}, but the error file has it: ${reason}.`
  }
  for (const { answer } of answered) {
    if (outputRows.some(row => isPartOfRow(answer, row))) continue
    if (base !== undefined && answersOf(base.lines, customId).includes(canonical(answer))) continue
    const owner = [...asked.values()].find(other => other.outputRows.some(row => isPartOfRow(answer, row)))
    if (owner !== undefined)
      return `The client returned for ${id} the answer of ${quoteText(owner.customId)}: ${quoteText(answer)}.`
    if (base?.lines !== undefined)
      return `The client returned for ${id} an answer that is in none of its files: ${quoteText(answer)}.`
  }
  return undefined
}

function answersOf(lines: readonly LineResult[] | undefined, customId: string): string[] {
  return (lines ?? []).filter(line => line.custom_id === customId).map(({ answer }) => canonical(answer))
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`
}
