import { violationAt } from '../facts.ts'
import { nameError, placeOfCrash } from '../recovery.ts'
import { defineRule } from '../rule.ts'
import { nameRequest, operationOf, quoteText } from '../words.ts'

/**
 * One temporary fault does not make the code of the client fail: an error, a broken or a lost answer, a late or stale
 * one, an outage of a minute. A client that gives up with an error is not judged, unless `recovers` is `'always'`, or it
 * ends as usual after nine of ten other faults: then it has a hole.
 */
export const recovers = defineRule({
  summary: 'A client checks an answer before it uses it, and survives what passes as it survives other faults.',
  advice:
    'Look at the status and the body of each answer before you use it. Repeat a read, and a write that may be repeated, ' +
    'or throw an error of your own. Handle the rejection of each promise, also of a request that you abort. A repeated ' +
    'delete that finds nothing has done its work.',
  premise: ({ recovery }) => recovery !== undefined,
  otherwise: 'no single temporary fault was run',
  check({ recovery, requests, end, settings }) {
    if (recovery === undefined || end.kind !== 'threw') return []
    const { grade, isUneven } = recovery
    const isAlways = settings.recovers === 'always'
    if (grade !== 'crash' && !isUneven && !isAlways) return []
    const hit = requests.find(({ fault }) => fault !== undefined) ?? requests.at(-1)
    if (hit === undefined) return []
    const { error } = end
    const text = nameError(error)
    const how = end.isUnhandled
      ? `Nothing handled an error after ${nameRequest(hit)}, so it ended the client: ${quoteText(text)}${placeOfCrash(error)}.`
      : grade === 'crash'
        ? `The code of the client failed after ${nameRequest(hit)}: ${quoteText(text)}${placeOfCrash(error)}.`
        : `The client gave up after ${nameRequest(hit)}: ${quoteText(text)}.`
    const hole = grade !== 'crash' && isUneven ? ' It ends as usual after nearly all other temporary faults.' : ''
    const kind = grade === 'crash' ? 'crash' : isUneven ? 'uneven' : grade
    // A line that reads several answers fails after each of them.
    const line = grade === 'crash' ? placeOfCrash(error) : ''
    return [violationAt(hit, how + hole, { rootCause: `${operationOf(hit)}/${kind}`, cause: line || undefined })]
  },
})
