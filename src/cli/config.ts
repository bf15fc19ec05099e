/** The configuration file of a project: values for the flags of `serve`, by their names in camelCase. */

import * as z from 'zod'
import { fieldsOf } from '../lib/fields.ts'
import { once } from '../lib/once.ts'
import type { OwnEndpoints } from '../service/own-endpoints.ts'
import { SERVED_CLOCK_MODES } from '../simulator/clock/settings.ts'
import { Seed } from '../simulator/option-checks.ts'

/** The names of the file. The first that exists counts. */
export const CONFIG_FILES = ['ts', 'mts', 'js', 'mjs', 'cjs', 'json', 'yaml', 'yml'].map(
  ending => `modelhost-sim.config.${ending}`,
)

/** The file of known findings that is read if no other is given. */
export const KNOWN_FILE = 'explore.known.yaml'

/** The schema of a configuration. The flags check the values further, as they check those of a command line. */
export const configSchema = once(() => {
  const text = z.string().min(1)
  return z
    .strictObject({
      ...fieldsOf(text, 'host', 'fixtures', 'profile', 'weather', 'faults', 'epoch', 'names', 'pollStep', 'scenarios'),
      ...fieldsOf(text, 'worldIdle', 'cors', 'record', 'controlToken'),
      seed: Seed,
      maxStorage: z.union([text, z.number()]),
      ...fieldsOf(z.array(text), 'allowWebhook', 'allowHost'),
      ...fieldsOf(z.int().min(0), 'port', 'journalLimit', 'idleAfter', 'models', 'deployments', 'maxWorlds'),
      ...fieldsOf(z.boolean(), 'documentedOnly', 'strictRequests', 'requestFaults', 'check', 'trustProxy', 'open'),
      clock: z.enum(SERVED_CLOCK_MODES),
      speed: z.number().positive(),
      latency: z.enum(['real', 'scaled', 'instant']),
      unknownTokens: z.enum(['refuse', 'fork']),
      log: z.enum(['text', 'json', 'none']),
    })
    .partial()
})

/** The flags of `serve` by their names in camelCase, for `defineConfig`. `modelhost-sim serve --help` explains each. */
export type Config = z.input<ReturnType<typeof configSchema>> & {
  /** Your own endpoints by operation id, in a file of TypeScript or JavaScript. */
  readonly endpoints?: OwnEndpoints
}

/** Returns the configuration, with its type checked: `export default defineConfig({ fixtures: 'empty', seed: 7 })`. */
export function defineConfig(config: Config): Config {
  return config
}
