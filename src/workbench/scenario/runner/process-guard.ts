/** Keeps scripts from ending the process that plays them: what they do to it fails the scenario instead. */
import { createStrayFailure } from '../play/failures.ts'
import type { Result } from '../play/run-scenario.ts'

/** The first thing that would have ended the process since it was last asked for. */
let strayError: { readonly error: unknown } | undefined
let guards = 0

/**
 * Replaces the functions that end the process by ones that throw, and keeps errors that nothing catches, until the returned function
 * is called. Guards may overlap.
 */
export function guardProcess(): () => void {
  if (++guards === 1) install()
  let isReleased = false
  return () => {
    if (isReleased) return
    isReleased = true
    if (--guards === 0) uninstall()
  }
}

/** The ways to end the process. Node documents no type of the inner one. */
export type EndProcess = Record<'exit' | 'reallyExit' | 'abort', (code?: number) => never>

const ENDS = ['exit', 'reallyExit', 'abort'] as const
let originals: Partial<EndProcess> = {}

function install(): void {
  strayError = undefined
  const ends = process as unknown as EndProcess
  for (const name of ENDS) {
    originals[name] = ends[name]
    ends[name] = code => {
      const error = new Error(
        `Failed to play: the script called process.${name}(${code ?? ''}). Throw an error, or return from the script.`,
      )
      keepFirst(error)
      throw error
    }
  }
  process.on('uncaughtException', keepFirst)
}

function uninstall(): void {
  Object.assign(process, originals)
  originals = {}
  process.off('uncaughtException', keepFirst)
}

function keepFirst(error: unknown): void {
  strayError ??= { error }
}

/**
 * Returns the result of a play, failed if the process would have ended since the last call.
 *
 * @param file path of the script, to find the line
 */
export function withStrayFailure<Played extends Result>(result: Played, file: string): Played {
  if (strayError === undefined) return result
  const { error } = strayError
  strayError = undefined
  return { ...result, passed: false, failure: createStrayFailure(error, result, file) }
}
