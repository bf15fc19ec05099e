/** A journal that only numbers its entries, to measure what the journal and its digest cost. */
import { Journal } from '../../src/kernel/journal.ts'

/**
 * Runs `work` while journals keep nothing and hash nothing. Entries still have positions, since causes refer to them.
 *
 * @returns what `work` returns. If that is a promise, the journals are as before when it settles.
 */
export function withoutJournal<Result>(work: () => Result): Result {
  const kinds = new Map<string, number>()
  const numberOf = (kind: string) => {
    const known = kinds.get(kind)
    if (known !== undefined) return known
    kinds.set(kind, kinds.size)
    return kinds.size - 1
  }
  let last = 0
  return withMethods(
    {
      record(_row, _time, kind) {
        this.lastKindNumber = numberOf(kind)
        return ++last
      },
      recordRequest(time, operation, subject, cause = 0) {
        const fields = { operation, status: 0, decidedBy: 'none' as const }
        return { seq: ++last, time, kind: 'request', subject, cause, fields }
      },
    },
    work,
  )
}

type Methods = Pick<Journal, 'record' | 'recordRequest'>

function withMethods<Result>(methods: Methods & ThisType<Journal>, work: () => Result): Result {
  const { record, recordRequest } = Journal.prototype
  const restore = () => Object.assign(Journal.prototype, { record, recordRequest })
  Object.assign(Journal.prototype, methods)
  let result: Result | undefined
  try {
    result = work()
    return result instanceof Promise ? (result.finally(restore) as Result) : result
  } finally {
    if (!(result instanceof Promise)) restore()
  }
}
