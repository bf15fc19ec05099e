/** The first line of a recording: the world at its begin. */

import { loadFixture } from '../../data/fixtures/load.ts'
import { ProfileChain } from '../../data/profiles/chain.ts'
import type { ProfileInput } from '../../data/profiles/load.ts'
import { hash32Pair } from '../../kernel/random.ts'
import { decodeBase64, encodeBase64 } from '../../lib/bytes.ts'
import { attempt } from '../../lib/errors.ts'
import { isRecord } from '../../lib/json-text.ts'
import { hashCredential, hideSecrets } from '../../lib/text/secrets.ts'
import { VERSION } from '../../lib/version.ts'
import { readNames } from '../../service/naming/names-profile.ts'
import { Snapshot } from '../checkpoint/snapshot.ts'
import { assertOptions, findNamedFile } from '../option-fields.ts'
import { isSnapshotFixture, OPTIONS, type SimulatorOptions } from '../options.ts'
import { hideSecretsIn } from '../requests/secrets.ts'
import { createSimulator, type Simulator } from '../simulator.ts'
import type { DeliverWebhook } from '../webhook-options.ts'
import { RecordingError } from './file.ts'
import { type HeaderLine, RECORDING_VERSION } from './lines.ts'

const CONTENTS =
  'every request with its body, prompts and uploads included, and the tokens of a fixture that was given; ' +
  'credentials of requests and answers as a hash'

/**
 * Options that a recording keeps: those that JSON can state. The clock of a replay is its own, and webhooks are lines of
 * the recording.
 */
const KEPT_OPTIONS = OPTIONS.filter(([name, { http }]) => http !== undefined && name !== 'clock')

/** Returns the header for a simulator as it is now. */
export function createHeader(sim: Simulator): HeaderLine {
  const { world } = sim
  const fromOptions = isPristine(sim)
  const options = keptOptions(sim, fromOptions)
  return {
    recording: RECORDING_VERSION,
    version: VERSION,
    contains: CONTENTS,
    ...describeSource(sim),
    ...(fromOptions && { fixtureDigest: digestOfFixture(options) }),
    seed: sim.seed,
    options,
    ...(!fromOptions && { snapshot: encodeRecordedState(sim) }),
    digest: sim.digest,
    journal: world.journal.last,
    at: [world.clock.now, 0],
  }
}

/** Returns the state of a simulator in Base64, with a hash in place of each credential of its faults. */
export function encodeRecordedState(sim: Simulator): string {
  const { state } = sim.snapshot()
  const hide = <Value>(value: Value) => hideSecretsIn(sim, value, hashCredential)
  const rules = state.faults.rules.rules.map(one => ({ ...one, rule: hide(one.rule) }))
  const faults = { ...state.faults, rules: { ...state.faults.rules, rules } }
  const timelines = new Map([...state.timelines].map(([name, one]) => [name, { ...one, plan: hide(one.plan) }]))
  return encodeBase64(new Snapshot({ ...state, faults, timelines }).toBytes())
}

/** Returns what a header says about the fixture and the clock of a simulator. */
export function describeSource({ fixture, clock: { setting } }: Simulator): {
  readonly fixtures: string
  readonly clock: HeaderLine['clock']
} {
  return {
    fixtures: fixture,
    clock: typeof setting === 'object' && setting.mode === 'follow' ? 'follow' : setting,
  }
}

/**
 * Creates the simulator of a recording, with a manual clock.
 *
 * @param changes options that differ; only for a recording that begins at time zero
 * @param deliver sends the results of webhooks after the recording. Default: they are never sent
 * @throws RecordingError if this build makes another world of the header
 */
export function createRecordedSimulator(
  header: HeaderLine,
  what: string,
  changes: Partial<SimulatorOptions> = {},
  // Results of webhooks are not sent again: their outcomes are lines of the recording.
  deliver: DeliverWebhook = () => new Promise(() => {}),
): Simulator {
  const { options, snapshot, journal, digest, fixtureDigest } = header
  assertOptions(options, 'shipped', `Failed to replay ${what}: line 1`, RecordingError)
  const problem = (text: string) =>
    new RecordingError(`Failed to replay ${what}: line 1: ${text}. Use the build that recorded it, or record again.`)
  if (fixtureDigest !== undefined && digestOfFixture(options) !== fixtureDigest) {
    throw problem(`the fixture '${header.fixtures}' of this package has other records`)
  }
  const webhooks = { ...options.webhooks, deliver }
  // A recording may be read without the endpoints of its world: their requests then get 404.
  const begin = snapshot === undefined ? {} : { fixtures: Snapshot.from(decodeBase64(snapshot), what) }
  const start = { endpoints: {}, ...options, ...begin, ...changes }
  const sim = createSimulator({ ...start, clock: 'manual', timers: 'ignore', webhooks })
  if (snapshot !== undefined) sim.world.journal.continueAfter(journal)
  if (Object.keys(changes).length === 0 && sim.digest !== digest) {
    throw problem('this build makes another world of it')
  }
  return sim
}

/** Whether the options alone make the simulator as it is now. */
export function isPristine(sim: Simulator): boolean {
  const { options, world } = sim
  if (world.clock.now > 0) return false
  const start = withProfile(options)
  if (isSnapshotFixture(options.fixtures) || findNamedFile(start, 'profile') !== undefined) return false
  const twin = attempt(() => createSimulator({ ...start, clock: 'manual', timers: 'ignore' }))
  // A file may have changed since.
  const stateOf = ({ digest, world, journal, faults, inference }: Simulator) => [
    ...[world.steps, digest, world.profile, journal.entries(), faults.list(), inference.list()],
  ]
  return twin !== undefined && JSON.stringify(stateOf(sim)) === JSON.stringify(stateOf(twin))
}

/** Returns options with the contents of the files that the profile is or extends, if they are there. */
function withProfile(options: SimulatorOptions): SimulatorOptions {
  const isFile = findNamedFile(options, 'profile') !== undefined
  const chain = isFile ? attempt(() => new ProfileChain(options.profile!)) : undefined
  if (chain === undefined) return options
  const layers = chain.layers.map(({ raw }) => raw as ProfileInput)
  const own = layers.slice(layers.findLastIndex(profile => findNamedFile({ profile }, 'profile') === undefined))
  const [{ extends: base }, { name = chain.name, description }] = [own[0]!, own.at(-1)!]
  const merged = own.reduce<unknown>(mergeLayers, {}) as ProfileInput
  return { ...options, profile: { ...merged, extends: base, name, description } as ProfileInput }
}

/** Merges a part of a profile into that of the profile that it extends. */
function mergeLayers(base: unknown, raw: unknown): unknown {
  if (!isRecord(base) || !isRecord(raw)) return raw
  // A setting can be a plain value, or have a source beside it.
  if ('value' in base && !('value' in raw)) return mergeLayers(base.value, raw)
  if ('value' in raw && !('value' in base)) return { ...raw, value: mergeLayers(base, raw.value) }
  const merged = Object.entries(raw).map(([key, part]) => [key, mergeLayers(base[key], part)])
  return { ...base, ...Object.fromEntries(merged) }
}

function keptOptions({ options: given, world }: Simulator, fromOptions: boolean): SimulatorOptions {
  const options = fromOptions ? withProfile(given) : given
  const kept = Object.fromEntries(
    KEPT_OPTIONS.flatMap(([name, { inSnapshot }]) =>
      options[name] === undefined || (inSnapshot === 'always' && !fromOptions)
        ? []
        : [[name, withHubHashes(options[name])]],
    ),
  )
  const folder = findNamedFile(options, 'fixtures')
  return {
    ...kept,
    ...(kept.faults !== undefined && { faults: hideSecretsIn({ world }, kept.faults, hashCredential) }),
    ...(fromOptions && folder !== undefined && { fixtures: loadFixture(folder, epochOf(options)) }),
    ...(typeof kept.names === 'string' && { names: readNames(kept.names).profile }),
    ...(options.webhooks?.allow !== undefined && { webhooks: { allow: options.webhooks.allow } }),
  } as SimulatorOptions
}

/** Returns a fixture with a hash in place of each token of the hub. Any other option is returned as it is. */
function withHubHashes(option: unknown): unknown {
  if (typeof option !== 'object' || option === null || !('hub' in option)) return option
  return { ...option, hub: JSON.parse(hideSecrets(JSON.stringify(option.hub), hashCredential)) }
}

function epochOf({ epoch }: SimulatorOptions): { readonly epochMs?: number } {
  return epoch === undefined ? {} : { epochMs: Date.parse(epoch) }
}

function digestOfFixture(options: SimulatorOptions): string {
  const { fixtures = 'default', with: patch } = options
  const source = fixtures as string
  const fixture = loadFixture(source, { ...epochOf(options), ...(patch !== undefined && { patch }) })
  const { hi, lo } = hash32Pair(JSON.stringify(fixture), 1, 0)
  return [hi, lo].map(word => (word >>> 0).toString(16).padStart(8, '0')).join('')
}
