/** The flags of `serve` that set options of the simulator, as the options declare them. */
import { type FlagValue, OPTIONS, type OptionName, type SimulatorOptions } from '../simulator/options.ts'
import { type Flags, flag, toggle } from './flags.ts'
import { byteCount, filledText, integer, type Read, seed, texts, word } from './values.ts'

/** Returns the flags; those of some names if there are any. */
export function optionFlags(names?: readonly string[]): object {
  const declared = OPTIONS.flatMap(([, { flag: one }]) => (one && names?.includes(one.name) !== false ? one : []))
  return Object.fromEntries(
    declared.map(({ name, value, describe, default: fallback }) => [
      name,
      value === 'switch' ? toggle(describe) : flag(describe, readerOf(value), fallback!),
    ]),
  ) satisfies Flags
}

/**
 * Returns the options that the flags set, each as the flag's own value: of `--names` and `--faults` the path, of
 * `--clock` the mode.
 */
export function optionsFromFlags(argv: object): Pick<SimulatorOptions, Exclude<OptionName, 'names' | 'faults'>> {
  const values = argv as Readonly<Record<string, unknown>>
  return Object.fromEntries(
    OPTIONS.flatMap(([name, { flag: declaration }]) => {
      const value = declaration && values[declaration.name]
      if (declaration === undefined || value === undefined) return []
      return [[name, declaration.toOption?.(value) ?? value]]
    }),
  )
}

function readerOf(value: Exclude<FlagValue, 'switch'>): Read<unknown> {
  if (typeof value !== 'string') return 'min' in value ? integer(value, value.example) : word(value)
  return { text: filledText, texts, seed, bytes: byteCount }[value]
}
