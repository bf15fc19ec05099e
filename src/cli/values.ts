/** Reading the values of flags, from the command line and from the environment alike. */
import { nearest } from '../kernel/nearest.ts'
import { UsageError } from './command.ts'

/** An integer between two bounds. */
export function integer(flag: string, bounds: { min: number; max: number }, example: number) {
  return (given: unknown): number | undefined => {
    const text = single(flag, given)
    if (text === undefined) return undefined
    const value = /^[+-]?\d+$/.test(text) ? Number(text) : Number.NaN
    if (value >= bounds.min && value <= bounds.max) return value
    const reason = Number.isNaN(value) ? 'no integer' : value < bounds.min ? 'too small' : 'too large'
    throw new UsageError(
      `Failed to read --${flag} '${text}': ${reason}. Give an integer from ${bounds.min} to ${bounds.max}, as in --${flag} ${example}.`,
    )
  }
}

/** A number above 0. */
export function positive(flag: string, max: number, example: number) {
  return (given: unknown): number | undefined => {
    const text = single(flag, given)
    if (text === undefined) return undefined
    const value = text.trim() === '' ? Number.NaN : Number(text)
    if (value > 0 && value <= max) return value
    throw new UsageError(
      `Failed to read --${flag} '${text}': give a number above 0 and up to ${max}, as in --${flag} ${example}.`,
    )
  }
}

/** One of some words. */
export function word<Word extends string>(flag: string, words: readonly Word[]) {
  return (given: unknown): Word | undefined => {
    const text = single(flag, given)
    if (text === undefined) return undefined
    const found = words.find(one => one === text)
    if (found !== undefined) return found
    const meant = nearest(text, words)
    throw new UsageError(
      `Failed to read --${flag} '${text}': ${meant ? `did you mean '${meant}'?` : 'no such word.'} Words are ${words.join(', ')}.`,
    )
  }
}

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  k: 1024,
  m: 1024 ** 2,
  g: 1024 ** 3,
}

/** A number of bytes: `1048576`, `512MiB`, `1g`; units are powers of 1,024. */
export function byteCount(flag: string) {
  return (given: unknown): number | undefined => {
    const text = single(flag, given)
    if (text === undefined) return undefined
    const [, digits, unit] = /^(\d+(?:\.\d+)?)\s*([kmg]?)(?:i?b)?$/i.exec(text.trim()) ?? []
    const value = Math.floor(Number(digits) * (UNITS[unit?.toLowerCase() ?? ''] ?? Number.NaN))
    if (value >= 1 && value <= 2 ** 40) return value
    throw new UsageError(`Failed to read --${flag} '${text}': no size. Give bytes, as in --${flag} 512MiB.`)
  }
}

/** Any text. */
export function text(flag: string) {
  return (given: unknown): string | undefined => single(flag, given)
}

/** Texts: the flag may be given more than once, and hold several with commas. */
export function texts(given: unknown): string[] {
  const all = Array.isArray(given) ? given : given === undefined ? [] : [given]
  return all
    .flatMap(one => String(one).split(','))
    .map(one => one.trim())
    .filter(one => one !== '')
}

function single(flag: string, given: unknown): string | undefined {
  if (given === undefined) return undefined
  if (Array.isArray(given)) {
    throw new UsageError(`Failed to read --${flag}: it is given ${given.length} times. Give it once.`)
  }
  return String(given)
}

/**
 * The default of a flag from the environment: MODELHOST_SIM_MAX_STORAGE for --max-storage. Only flags that a command
 * has are looked up, so MODELHOST_SIM_URL and MODELHOST_SIM_TOKEN, which `env` prints, disturb nothing.
 */
export function fromEnvironment(flag: string): string | undefined {
  const value = process.env[`MODELHOST_SIM_${flag.toUpperCase().replaceAll('-', '_')}`]
  return value === undefined || value === '' ? undefined : value
}

/** A switch: on the command line by its name alone, in the environment as 1, 0, true or false. */
export function switched(flag: string): boolean {
  const value = fromEnvironment(flag)?.toLowerCase()
  if (value === undefined || value === '0' || value === 'false' || value === 'no') return false
  if (value === '1' || value === 'true' || value === 'yes') return true
  throw new UsageError(
    `Failed to read MODELHOST_SIM_${flag.toUpperCase().replaceAll('-', '_')} '${value}': give 1 or 0.`,
  )
}
