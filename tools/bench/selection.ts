/** Which figures a command line asks for. */
import { nearestWord } from '../../src/lib/did-you-mean.ts'
import type { Figure, Group } from './figure.ts'

/** `--no-build` is the business of run.js. */
export const OPTIONS = ['--json', '--quick', '--profile', '--no-build', '--help'] as const

export interface Selection {
  /** In the order of the groups, each once: those that were named, else all but the heavy ones. */
  readonly figures: readonly Figure[]
  readonly options: ReadonlySet<(typeof OPTIONS)[number]>
}

/** @throws RangeError for a name or an option that there is not, with the nearest */
export function select(groups: readonly Group[], args: readonly string[]): Selection {
  const options = args.filter(arg => arg.startsWith('-'))
  const names = args.filter(arg => !arg.startsWith('-'))
  for (const option of options) if (!isOption(option)) throw unknown('option', option, OPTIONS)
  const known = [...groups, ...groups.flatMap(group => group.figures)].map(({ name }) => name)
  for (const name of names) if (!known.includes(name)) throw unknown('figure or group', name, known)
  const isWanted = (group: Group, { name }: Figure) =>
    names.length === 0 ? !group.heavy : names.includes(name) || names.includes(group.name)
  return {
    figures: groups.flatMap(group => group.figures.filter(figure => isWanted(group, figure))),
    options: new Set(options.filter(isOption)),
  }
}

function isOption(word: string): word is (typeof OPTIONS)[number] {
  return (OPTIONS as readonly string[]).includes(word)
}

function unknown(what: string, word: string, known: readonly string[]): RangeError {
  const meant = nearestWord(word, known)
  const rest = meant === undefined ? `There are ${[...new Set(known)].join(', ')}.` : `Did you mean '${meant}'?`
  return new RangeError(`Failed to run the bench: there is no ${what} '${word}'. ${rest}`)
}
