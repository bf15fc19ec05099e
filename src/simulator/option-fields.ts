/** Options of a simulator as fields of `POST /_sim/worlds`. */
import { toSnakeCase } from '../lib/text/snake-case.ts'
import { OPTION_DECLARATIONS, OPTIONS, type OptionName, type SimulatorOptions } from './options.ts'

/** Options as JSON, by the names of their HTTP fields. */
export type OptionFields = Readonly<Record<string, unknown>>

/** Returns the fields of an option's value over HTTP. An option that is left out gets the default of createSimulator. */
export function toHttpFields(options: Readonly<Partial<Record<OptionName, unknown>>>): OptionFields {
  return Object.fromEntries(
    OPTIONS.flatMap(([name, { http, remoteDefault }]) => {
      const value = options[name] ?? remoteDefault
      return http === undefined || value === undefined ? [] : [[toSnakeCase(name), value]]
    }),
  )
}

/** Returns the options that fields over HTTP set. `null` sets an option to undefined, which is the default of createSimulator. */
export function fromHttpFields(fields: OptionFields): Partial<SimulatorOptions> {
  return Object.fromEntries(
    OPTIONS.flatMap(([name, { http }]) => {
      const value = fields[toSnakeCase(name)]
      return http === undefined || value === undefined ? [] : [[name, value ?? undefined]]
    }),
  )
}

/** Returns the HTTP fields of the options that a snapshot does not bring, or brings as a default. */
export function httpFieldsBesideSnapshot(): string[] {
  return OPTIONS.flatMap(([name, { http, inSnapshot }]) =>
    http === undefined || inSnapshot === 'always' ? [] : [toSnakeCase(name)],
  )
}

/** Returns the options that no snapshot brings, without those that are undefined. */
export function optionsOutsideSnapshot(options: SimulatorOptions): Partial<SimulatorOptions> {
  return Object.fromEntries(
    Object.entries(options).filter(
      ([name, value]) => value !== undefined && OPTION_DECLARATIONS[name as OptionName].inSnapshot === 'never',
    ),
  )
}
