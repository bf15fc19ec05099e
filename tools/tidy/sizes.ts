import type { Finding, TextFile } from './files.ts'

const MAX_LINES = 500

/**
 * The most lines of code that `src` may have. A change that lowers the count lowers this number too. To raise it, name
 * in a decision record what was removed for it.
 */
export const CODE_BUDGET = 90_850

/** Counts lines that are neither blank nor a comment. */
export function countCode(files: readonly TextFile[]): number {
  return files.reduce(
    (sum, { text }) => sum + text.split('\n').filter(line => !/^\s*($|\/\/|\/?\*)/.test(line)).length,
    0,
  )
}

/** Finds that the files have more lines of code than the budget. */
export function findOverBudget(files: readonly TextFile[], budget = CODE_BUDGET): Finding[] {
  const lines = countCode(files)
  if (lines <= budget) return []
  return [
    `src has ${lines} lines of code, and the budget in tools/tidy/sizes.ts is ${budget}. Remove ${lines - budget} lines.`,
  ]
}

/** Finds source files that are too long. */
export function findLongFiles(files: readonly TextFile[]): Finding[] {
  return files
    .map(({ path, text }) => ({ path, lines: text.replace(/\n$/, '').split('\n').length }))
    .filter(({ lines }) => lines > MAX_LINES)
    .map(({ path, lines }) => `${path}: ${lines} lines`)
}
