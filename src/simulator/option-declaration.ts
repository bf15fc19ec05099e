/** What a row of the table of options says. */
import type * as z from 'zod'

/** How the text of a flag is read: as text, as a list of texts, a seed, a switch, a number of bytes, one of some words, or a bounded integer. */
export type FlagValue =
  | 'text'
  | 'texts'
  | 'seed'
  | 'switch'
  | 'bytes'
  | readonly string[]
  | { readonly min: number; readonly max: number; readonly example: number }

/** A flag of `serve`. Its environment variable is `MODELHOST_SIM_` and the name in upper case. */
export interface OptionFlag {
  readonly name: string
  readonly value: FlagValue
  readonly describe: string
  readonly default?: string
  /** Returns the option for the value of the flag. Default: the value itself. */
  toOption?(value: unknown): unknown
}

/** Where an option can be set. A missing property means that the option cannot be set there. */
export interface OptionDeclaration {
  /** What `createSimulator` checks itself; the error text completes "Give …". The parts of the simulator check the rest. */
  readonly check?: z.ZodType
  /** The names that the package ships, of an option whose other texts are paths: `OptionRights` says who may give those. */
  readonly shipped?: readonly string[]
  readonly flag?: OptionFlag
  /** The field of `POST /_sim/worlds`; its name is the option's in snake_case. `null` means the default of createSimulator. */
  readonly http?: z.ZodType
  /** The key of a scenario's `given`; it has the option's name. */
  readonly scenario?: z.ZodType
  /** The value that a scenario sends to a server if it leaves the option out. */
  readonly remoteDefault?: unknown
  /** Whether a snapshot brings the option: always, unless the option is given (`default`), or never. */
  readonly inSnapshot: 'always' | 'default' | 'never'
}
