/** What differs between two answers. */

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

/** A part of an answer that differs. A side without it is undefined. */
export interface Difference {
  /** As in `status`, `header date`, `body.error.message`. */
  readonly part: string
  readonly before: string | undefined
  readonly after: string | undefined
}

/** Returns the parts of two answers that differ: the status, headers, and values of the bodies. */
export function compareAnswers(before: Answer, after: Answer): readonly Difference[] {
  const [one, other] = [partsOf(before), partsOf(after)]
  return [...new Set([...one.keys(), ...other.keys()])].flatMap(part => {
    const difference = { part, before: one.get(part), after: other.get(part) }
    return difference.before === difference.after ? [] : [difference]
  })
}

function partsOf({ status, headers, body }: Answer): Map<string, string> {
  const parts = new Map([['status', status === 0 ? 'no answer' : String(status)]])
  for (const [name, value] of Object.entries(headers)) parts.set(`header ${name}`, value)
  addValues(parts, 'body', body)
  return parts
}

function addValues(parts: Map<string, string>, path: string, value: unknown): void {
  const fields = typeof value === 'object' && value !== null ? Object.entries(value) : []
  for (const [name, field] of fields)
    addValues(parts, Array.isArray(value) ? `${path}[${name}]` : `${path}.${name}`, field)
  if (fields.length === 0) parts.set(path, typeof value === 'string' ? value : JSON.stringify(value))
}
