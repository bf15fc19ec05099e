/** The problems of a profile, collected while it is read. */
import { jsonPath } from '../../lib/zod-problems.ts'

const MAX_LISTED_PROBLEMS = 10

/** Returns the first problems, each on an indented line, and the number of further ones. */
export function listProblems(problems: readonly string[]): string {
  const first = problems.slice(0, MAX_LISTED_PROBLEMS)
  const more = problems.length > first.length ? `\n  and ${problems.length - first.length} more` : ''
  return `${first.map(each => `  ${each}`).join('\n')}${more}`
}

/** An invalid profile. The message names the file, the JSON path, the expected value, the reason and the correction. */
export class ProfileError extends RangeError {
  override readonly name = 'ProfileError'
  /** Every problem, `lab.json: $.timings.drain: expected …`; the message shows the first ten. */
  readonly problems: readonly string[]

  constructor(subject: string, problems: readonly string[]) {
    const list = problems.length === 1 ? problems[0] : `${problems.length} problems:\n${listProblems(problems)}`
    super(`Failed to load ${subject}: ${list}`)
    this.problems = problems
  }
}

/** Collects problems, each with its file and JSON path. */
export class ProblemReport {
  readonly #subject: string
  readonly #problems: string[] = []

  constructor(subject: string) {
    this.#subject = subject
  }

  add(label: string, path: readonly PropertyKey[], text: string): void {
    this.#problems.push(`${label}: ${jsonPath(path)}: ${text}`)
  }

  throwIfAny(): void {
    if (this.#problems.length > 0) throw new ProfileError(this.#subject, this.#problems)
  }
}
