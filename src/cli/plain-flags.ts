/** Reads the plain form of flags: `--name value`, `--name=value`, `--switch`. */
import type { Command } from './command.ts'
import { requireKnownVariables } from './values.ts'

/**
 * Returns the values by flag, as yargs would: by the name of the flag and in camel case. Returns undefined if any
 * argument is not plain, or if the command has more than flags.
 *
 * @throws UsageError for an invalid value
 */
export function readPlainFlags(
  args: readonly string[],
  command: Command,
): Readonly<Record<string, unknown>> | undefined {
  const flags = command.flags?.()
  if (flags === undefined) return undefined
  const given = new Map<string, unknown>()
  for (let i = 0; i < args.length; i++) {
    const [, name = '', inline] = /^--([a-z][a-z-]*)(?:=(.*))?$/s.exec(args[i]!) ?? []
    if (!Object.hasOwn(flags, name) || given.has(name)) return undefined
    if (flags[name]!.type === 'boolean') {
      if (inline !== undefined) return undefined
      given.set(name, true)
    } else {
      const value = inline ?? args[++i]
      // A dash starts a flag, and yargs removes quotes.
      if (value === undefined || /^(?:$|[-'"])/.test(value)) return undefined
      given.set(name, value)
    }
  }
  const values: Record<string, unknown> = {}
  for (const [name, { default: fallback, coerce }] of Object.entries(flags)) {
    const value = given.has(name) ? given.get(name) : fallback
    if (value === undefined) continue
    values[name] = coerce === undefined ? value : coerce(value)
    values[name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())] = values[name]
  }
  requireKnownVariables(Object.keys(flags))
  return values
}
