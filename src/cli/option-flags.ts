/** The flags of `serve` that set options of the simulator, as the options declare them. */
import { type FlagValue, OPTIONS, type OptionName, type SimulatorOptions } from '../simulator/options.ts'
import { byteCount, flag, integer, seed, text, texts, toggle, word } from './values.ts'

/** Returns the flags in the form that yargs takes. */
export function optionFlags() {
  return Object.fromEntries(
    OPTIONS.flatMap(([, { flag: declaration }]) => {
      if (declaration === undefined) return []
      const { name, value, describe, default: fallback } = declaration
      const yargsOption =
        value === 'switch' ? toggle(name, describe) : { ...flag(name, describe, fallback), coerce: reader(name, value) }
      return [[name, yargsOption]]
    }),
  )
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

function reader(name: string, value: Exclude<FlagValue, 'switch'>): (input: unknown) => unknown {
  switch (value) {
    case 'text':
      return text(name)
    case 'texts':
      return texts
    case 'seed':
      return seed(name)
    case 'bytes':
      return byteCount(name)
    default:
      return 'min' in value ? integer(name, value, value.example) : word(name, value)
  }
}
