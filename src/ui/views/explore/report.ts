/** The object that `modelhost-sim explore --json` prints, as far as the page shows it. */
import { tryParseJson } from '../../../lib/json-text.ts'

export interface ExploreReport {
  readonly flow: string
  readonly runs: number
  readonly points: number
  readonly chance_of_new: number
  readonly stopped_because: string
  readonly runs_of: Readonly<Record<string, number>>
  readonly matrix: readonly MatrixCell[]
  readonly saturation: readonly { readonly runs: number; readonly findings: number; readonly chance_of_new: number }[]
  readonly findings: readonly Finding[]
}

export interface MatrixCell {
  readonly operation: string
  readonly class: string
  readonly found: number
  readonly surfaced: number
  readonly survived: number
  readonly notReached: number
}

export interface Finding {
  readonly invariant: string
  readonly signature: string
  readonly plan: readonly unknown[]
  readonly found_with: readonly unknown[]
  readonly scenario: string
  readonly why: string
  readonly stage: string
  readonly shrinking?: { readonly runs: number; readonly minimal: boolean }
  /** The first 100 requests. */
  readonly requests: readonly { readonly operation: string; readonly status: number }[]
  readonly requests_total: number
  readonly inevitable?: { readonly after_request: number; readonly exceptions: readonly number[] }
}

/**
 * Reads the output of `explore --json`: one object a line.
 *
 * @throws Error with what is wrong and what to do
 */
export function readReports(text: string): readonly ExploreReport[] {
  const lines = text.split('\n').filter(line => line.trim() !== '')
  if (lines.length === 0) throw new Error('Failed to read the file: it is empty. Give the output of explore --json.')
  return lines.map((line, index) => {
    const value = tryParseJson(line) as ExploreReport | undefined
    const isReport =
      typeof value?.flow === 'string' &&
      Array.isArray(value.findings) &&
      Array.isArray(value.matrix) &&
      Array.isArray(value.saturation)
    if (isReport) return value
    throw new Error(
      `Failed to read the file: line ${index + 1} is no report of explore. Give the output of explore --json of this version.`,
    )
  })
}
