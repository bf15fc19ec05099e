/** The configuration file of a project: values for the flags of `serve`, by their names in camelCase. */
import * as z from 'zod'
import { once } from '../lib/once.ts'
import { SERVED_CLOCK_MODES } from '../simulator/clock/settings.ts'

const integer = (min: number) => z.int().min(min)

/** The schema of a configuration. The flags check the values further, as they check those of a command line. */
export const configSchema = once(() => {
  const text = z.string().min(1)
  const texts = z.array(text)
  const textOrNumber = z.union([text, z.number()])
  return z
    .strictObject({
      port: integer(0),
      host: text,
      fixtures: text,
      profile: text,
      weather: text,
      faults: text,
      seed: textOrNumber,
      clock: z.enum(SERVED_CLOCK_MODES),
      epoch: text,
      documentedOnly: z.boolean(),
      names: text,
      strictRequests: z.boolean(),
      requestFaults: z.boolean(),
      journalLimit: integer(1),
      maxStorage: textOrNumber,
      allowWebhook: texts,
      check: z.boolean(),
      speed: z.number().positive(),
      pollStep: text,
      idleAfter: integer(0),
      latency: z.enum(['real', 'scaled', 'instant']),
      scenarios: text,
      models: integer(0),
      deployments: integer(0),
      maxWorlds: integer(0),
      worldIdle: text,
      unknownTokens: z.enum(['refuse', 'fork']),
      trustProxy: z.boolean(),
      allowHost: texts,
      cors: text,
      log: z.enum(['text', 'json', 'none']),
      quiet: z.boolean(),
      record: text,
      open: z.boolean(),
      controlToken: text,
    })
    .partial()
})

/** The flags of `serve` by their names in camelCase, for `defineConfig`. `modelhost-sim serve --help` explains each. */
export type Config = z.input<ReturnType<typeof configSchema>>

/** Returns the configuration, with its type checked: `export default defineConfig({ fixtures: 'empty', seed: 7 })`. */
export function defineConfig(config: Config): Config {
  return config
}
