/** The options of a simulator: one table for `createSimulator`, the flags of `serve`, `POST /_sim/worlds` and scenarios. */
import * as z from 'zod'
import type { BulkCounts } from '../data/bulk-records.ts'
import type { ProfileInput } from '../data/profiles/load.ts'
import type { FixtureInput, FixturePatch } from '../data/records/fixture.ts'
import type { OpenName } from '../lib/fields.ts'
import type { NamesProfile } from '../service/naming/names-profile.ts'
import * as namesSections from '../service/naming/sections.ts'
import { ScriptRule } from '../service/openai/scripted-answers.ts'
import type { OwnEndpoints } from '../service/own-endpoints.ts'
import { SNAPSHOT_ENDING } from './checkpoint/file-ending.ts'
import { Snapshot } from './checkpoint/snapshot.ts'
import type { InferencePace } from './clock/answer-waiter.ts'
import { type ClockSetting, SERVED_CLOCK_MODES } from './clock/settings.ts'
import type { FaultRule } from './faults/rules.ts'
import * as faultRules from './faults/rules.ts'
import { Callback, Fill, List, NamedOrObject, PlainObject, Seed, Webhooks } from './option-checks.ts'
import type { WebhookOptions } from './webhook-options.ts'

// The names that come with the package. Editors complete them.

/** The worlds of the package. */
export const FIXTURE_NAMES = ['default', 'empty', 'fleet', 'full', 'two-nodes'] as const
export type FixtureName = (typeof FIXTURE_NAMES)[number]

/** The provider profiles of the package. */
export const PROFILE_NAMES = ['realistic', 'quick', 'rough'] as const
export type ProfileName = (typeof PROFILE_NAMES)[number]

/** The weather packs of the profiles of the package, and `none`. */
export const WEATHER_NAMES = [
  ...['none', 'calm', 'realistic', 'spot-2023', 'rough', 'office-day', 'launch-day'],
  ...['bad-week', 'provider-incident', 'payment-trouble'],
] as const
export type WeatherName = (typeof WEATHER_NAMES)[number]

export interface SimulatorOptions {
  /**
   * The world at the start: a name (`default`, `empty`, `fleet`, `full`, `two-nodes`), a folder, the fixture itself, a
   * snapshot, or the path of a `.snapshot` file. A snapshot brings its seed, profile, epoch, fault rules and scripted
   * answers. It brings its clock too, if `clock` is missing. Default: `default`.
   */
  readonly fixtures?: OpenName<FixtureName> | FixtureInput | Snapshot
  /** Records in addition to those of the fixture: `{ deployments: [{ model_name: 'acme/chat', status: 'running' }] }`. */
  readonly with?: FixturePatch
  /** Fills the world with bulk records up to these numbers, as in `{ models: 1000, deployments: 200 }`. Needs Node. */
  readonly fill?: BulkCounts
  /** Timings, prices, limits and policies of the provider: `realistic`, `quick`, `rough`, a path, or the profile itself. Default: `realistic`. */
  readonly profile?: OpenName<ProfileName> | ProfileInput
  /**
   * Ambient failure injection in the world and on the wire: a pack of the profile, such as `office-day`, `launch-day`,
   * `bad-week`, `provider-incident` or `payment-trouble`, or `none`. Default: the pack that the profile names.
   */
  readonly weather?: OpenName<WeatherName>
  /** Fault rules at the start. */
  readonly faults?: readonly FaultRule[]
  /** Equal seeds and equal requests give equal worlds. Default: 1. */
  readonly seed?: string | number
  /** How time moves. Default: `manual`. */
  readonly clock?: ClockSetting
  /** Fake timers of the test runner: `drive` moves them together with the world, `ignore` does not touch them. Default: `drive`. */
  readonly timers?: 'drive' | 'ignore'
  /** Time zero of the world, ISO 8601. Default: 2026-01-01T00:00:00Z. */
  readonly epoch?: string
  /**
   * Your own endpoints, by operation id: the results of `endpoint({ … })`. They are served beside those of the provider, in
   * the same world and on the same clock.
   */
  readonly endpoints?: OwnEndpoints
  /** Serves only the operations of the interface document. Default: false. */
  readonly documentedOnly?: boolean
  /** The names of your provider for the neutral names of the interface: the path of a file, or the names themselves. */
  readonly names?: string | NamesProfile
  /** Answers 422 to a body with unknown fields, and counts the fields of requests that nothing reads. Default: false. */
  readonly strictRequests?: boolean
  /** Applies the fault that the header `x-sim-fault` of a request states, as in `status=503;effect=done`. Default: false. */
  readonly requestFaults?: boolean
  /**
   * When models answer: `clock` after the time that the answer takes, `instant` as soon as an instance works on it.
   * Default: `clock` on a scaled clock, `instant` on any other.
   */
  readonly inferencePace?: InferencePace
  /** Scripted answers of models at the start. */
  readonly answers?: readonly ScriptRule[]
  /** The maximum number of journal entries; the oldest are dropped. Default: 20,000. */
  readonly journalLimit?: number
  /** The maximum size of all files in bytes. Default: the limit of the profile, 1 GiB. */
  readonly maxStorageBytes?: number
  /** Where results of native inference may be posted, and by what. Default: to loopback addresses, by `fetch`. */
  readonly webhooks?: WebhookOptions
  /**
   * Checks the invariants after every event, request and command. If one is violated, the call throws `InvariantError`
   * and a request answers 500. It about doubles the cost of what it checks. Default: false.
   */
  readonly check?: boolean
  /**
   * Called with an exception that is a bug of the simulator in an operation or an event. A request gets a 500 with
   * `x-sim-error`; the subject of an event fails. If it throws, `sim.fetch` or the move of the clock rejects at its end.
   */
  readonly onBug?: (error: unknown, operation: string) => void
}

/** Options of a fork. */
export interface ForkOptions {
  /** How the time of the fork moves. Default: as the time of the origin moves now. */
  readonly clock?: ClockSetting
  /** If true, the fork begins at the start of the origin, not at its present state. Default: false. */
  readonly fresh?: boolean
}

export type OptionName = keyof SimulatorOptions

const JsonObject = z.record(z.string(), z.unknown())
const TextOrObject = z.union([z.string(), JsonObject])
const PaceSchema = z.enum(['clock', 'instant'], { error: "'clock' or 'instant'" })
const Flag = z.boolean({ error: 'true or false' })
const PositiveInteger = z.int({ error: 'an integer above 0' }).min(1, { error: 'an integer above 0' })

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

/** Returns a flag of `serve`. */
function flag(
  name: string,
  value: FlagValue,
  describe: string,
  more?: Pick<OptionFlag, 'default' | 'toOption'>,
): OptionFlag {
  return { name, value, describe, ...more }
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
  /** Whether a snapshot brings the option: always, unless the option is given (`default`), or never. */
  readonly inSnapshot: 'always' | 'default' | 'never'
}

/** Every option, in the order of `SimulatorOptions`. A further option is a property there, a row here, and the code that reads it. */
export const OPTION_DECLARATIONS = {
  fixtures: {
    check: NamedOrObject,
    shipped: FIXTURE_NAMES,
    flag: flag(
      'fixtures',
      'text',
      'World at the start: default, empty, fleet, full, two-nodes, a folder, or a .snapshot file',
      { default: 'default' },
    ),
    http: TextOrObject,
    scenario: TextOrObject,
    inSnapshot: 'always',
  },
  with: { check: PlainObject, http: JsonObject, scenario: JsonObject, inSnapshot: 'always' },
  fill: {
    check: Fill,
    http: Fill,
    scenario: Fill.describe('Fills the world with bulk records up to these numbers'),
    inSnapshot: 'always',
  },
  profile: {
    check: NamedOrObject,
    shipped: PROFILE_NAMES,
    flag: flag('profile', 'text', 'Provider profile: realistic, quick, rough, or a file. Default: realistic'),
    http: TextOrObject,
    scenario: TextOrObject,
    inSnapshot: 'always',
  },
  weather: {
    flag: flag(
      'weather',
      'text',
      `Ambient failures in the world and on the wire: ${WEATHER_NAMES.join(', ')}. Default: the pack of the profile`,
    ),
    http: z.string().nullable(),
    scenario: z.string(),
    inSnapshot: 'always',
  },
  faults: {
    check: List,
    flag: flag('faults', 'text', 'File with fault rules, a JSON array'),
    // The simulator checks the rules, with errors that name the rule.
    http: z.array(JsonObject),
    get scenario() {
      const rule = faultRules.RuleSchema.describe('A fault rule: docs/faults.md lists the fault kinds')
      return z.array(rule).describe('Fault rules at the start')
    },
    inSnapshot: 'always',
  },
  seed: {
    flag: flag('seed', 'seed', 'Equal seeds and requests give equal worlds. Default: 1'),
    http: Seed,
    scenario: Seed,
    inSnapshot: 'always',
  },
  clock: {
    flag: flag(
      'clock',
      SERVED_CLOCK_MODES,
      'How time moves: scaled (with real time, times the speed), manual, on-poll (with each look at something in progress) or idle (to the next piece of work when there are no requests). Default: scaled',
    ),
    http: z.union([z.string(), z.strictObject({ mode: z.string(), speed: z.number().optional() })]),
    inSnapshot: 'default',
  },
  timers: { check: z.enum(['drive', 'ignore'], { error: "'drive' or 'ignore'" }), inSnapshot: 'never' },
  epoch: {
    flag: flag('epoch', 'text', 'Time zero of the world: ISO 8601 with offset, or now. Default: 2026-01-01T00:00:00Z'),
    http: z.string(),
    scenario: z.string(),
    inSnapshot: 'always',
  },
  documentedOnly: {
    check: Flag,
    flag: flag('documented-only', 'switch', 'Serve only the operations of the interface document'),
    http: z.boolean(),
    scenario: z.boolean(),
    inSnapshot: 'never',
  },
  endpoints: { check: PlainObject, inSnapshot: 'never' },
  names: {
    shipped: [],
    flag: flag(
      'names',
      'text',
      "File with the names of your provider for the interface's neutral names, a JSON object",
    ),
    http: JsonObject,
    get scenario() {
      const names = z.union([z.string(), JsonObject.meta(namesSections.namesJsonSchema())])
      return names.describe(
        'The names of a provider that clients of the world use; a path that begins with a dot is relative to the file',
      )
    },
    inSnapshot: 'never',
  },
  strictRequests: {
    check: Flag,
    flag: flag(
      'strict-requests',
      'switch',
      'Answer 422 to unknown fields of a body; GET /_sim/unread lists the fields of requests that nothing reads',
    ),
    http: z.boolean(),
    scenario: z.boolean().describe('Answer 422 to unknown fields of a body'),
    inSnapshot: 'never',
  },
  requestFaults: {
    check: Flag,
    flag: flag(
      'request-faults',
      'switch',
      'Apply the fault that the header x-sim-fault of a request states, as in status=503;effect=done',
    ),
    http: z.boolean(),
    scenario: z.boolean().describe('Apply the fault that the header x-sim-fault of a request states'),
    inSnapshot: 'never',
  },
  inferencePace: {
    check: PaceSchema,
    http: z.enum(['clock', 'instant']).nullable(),
    scenario: z
      .enum(['clock', 'instant'])
      .describe('When models answer: after the time that the answer takes, or as soon as an instance works on it'),
    inSnapshot: 'never',
  },
  answers: {
    check: List,
    // The simulator checks the rules, with errors that name the rule.
    http: z.array(JsonObject),
    get scenario() {
      return z.array(ScriptRule).describe('Scripted answers of models at the start')
    },
    inSnapshot: 'always',
  },
  journalLimit: {
    check: PositiveInteger,
    flag: flag(
      'journal-limit',
      { min: 1, max: 10_000_000, example: 20_000 },
      'Maximum number of journal entries. Default: 20000',
    ),
    http: z.number(),
    inSnapshot: 'default',
  },
  maxStorageBytes: {
    check: PositiveInteger,
    flag: flag(
      'max-storage',
      'bytes',
      'Maximum size of all files, as in 512MiB. Default: the limit of the profile, 1GiB',
    ),
    http: z.number(),
    scenario: z.int(),
    inSnapshot: 'default',
  },
  webhooks: {
    check: Webhooks,
    flag: flag(
      'allow-webhook',
      'texts',
      'Host, or host:port, that webhooks may be sent to beside loopback addresses; repeatable',
      { toOption: allow => ({ allow }) },
    ),
    inSnapshot: 'never',
  },
  check: {
    check: Flag,
    flag: flag(
      'check',
      'switch',
      'Check the invariants after every event; a violation answers 500 and is printed to stderr',
    ),
    inSnapshot: 'never',
  },
  onBug: { check: Callback, inSnapshot: 'never' },
} as const satisfies Readonly<Record<OptionName, OptionDeclaration>>

export type OptionDeclarations = typeof OPTION_DECLARATIONS

/** The table with its rows as what they have in common, for code that goes through all of them. */
export const OPTIONS: readonly (readonly [name: OptionName, declaration: OptionDeclaration])[] = Object.entries(
  OPTION_DECLARATIONS,
) as [OptionName, OptionDeclaration][]

/** Returns the words that a flag takes; undefined if it takes other values, or no option has it. */
export function wordsOfFlag(name: string): readonly string[] | undefined {
  const value = OPTIONS.find(([, { flag }]) => flag?.name === name)?.[1].flag?.value
  return Array.isArray(value) ? value : undefined
}

/** Returns whether a fixture is a snapshot or the path of one. A snapshot brings its seed and most other options. */
export function isSnapshotFixture(fixtures: SimulatorOptions['fixtures']): fixtures is string | Snapshot {
  return typeof fixtures === 'string' ? fixtures.endsWith(SNAPSHOT_ENDING) : Snapshot.isSnapshot(fixtures)
}

/** Returns the name of the fixture, `given` for one without a name. */
export function fixtureName({ fixtures = 'default' }: SimulatorOptions): string {
  return typeof fixtures === 'string' ? fixtures : 'given'
}
