/** The lines of a past, and what they say about open requests. */

import type { StepLines } from '../lines.ts'

/** Characters of a line beside its texts: names of fields, numbers. */
const LINE_OVERHEAD = 160

/** The requests that have begun and not ended, after some lines. */
export class OpenRequests {
  readonly #numbers = new Set<number>()

  get count(): number {
    return this.#numbers.size
  }

  /** Takes the next line into account. */
  note(line: StepLines): void {
    if ('request' in line) this.#numbers.add(line.request)
    else if ('answer' in line) {
      if (!line.streamed) this.#numbers.delete(line.answer)
    } else if ('read' in line && line.body !== undefined) this.#numbers.delete(line.read)
  }
}

/** The fields that have the number of a request. */
const REQUEST_KEYS = ['request', 'step', 'waits', 'ready', 'end', 'read', 'answer'] as const

/** Returns the number of the request that a line is about; undefined for an action and for the digest. */
export function requestOf(line: StepLines): number | undefined {
  const numbers = line as { readonly [Key in (typeof REQUEST_KEYS)[number]]?: number }
  const key = REQUEST_KEYS.find(name => name in line)
  return key && numbers[key]
}

/** Whether a line is something that came from outside: a request, or an action. */
export function isInput(line: StepLines): boolean {
  return 'request' in line || 'action' in line
}

/** Whether a line is a step of a request in the world. */
export function isStep(line: StepLines): boolean {
  return 'request' in line || 'step' in line
}

/** Returns about how many bytes a line takes. */
export function sizeOf(line: StepLines): number {
  let size = LINE_OVERHEAD
  if ('action' in line) return size + JSON.stringify(line.action).length
  for (const value of Object.values(line)) {
    if (typeof value === 'string') size += value.length
    else if (typeof value === 'object' && value !== null) {
      for (const text of Object.values(value)) if (typeof text === 'string') size += text.length
    }
  }
  return size
}
