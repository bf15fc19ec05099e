/** A setting of a fixture or a profile with the values that `simulate --compare` gives it. */

import { loadFixture } from '../../data/fixtures/load.ts'
import { FIXTURE_KEYS, FixtureError, type FixtureKey, LIST_FIELDS } from '../../data/fixtures/problem-report.ts'
import { loadProfile, type ProfileInput } from '../../data/profiles/load.ts'
import { ProfileError } from '../../data/profiles/problems.ts'
import { PROFILE_SECTIONS } from '../../data/profiles/schema.ts'
import type { FixtureInput } from '../../data/records/fixture.ts'
import { formatSuggestion } from '../../lib/did-you-mean.ts'
import { UsageError } from '../command.ts'

/** Values that one comparison has at most: so many series a picture can tell apart. */
const MOST_VALUES = 7
/** The fields that name an element of a list. */
const NAMES = ['deploy_id', 'model_name', 'name', 'prefix', 'repo', 'id'] as const
const SECTIONS = Object.keys(PROFILE_SECTIONS)

export interface ComparedSetting {
  /** As the user wrote it: `nodes`, `deployments.acme/chat.settings.max_instances`, `policies.placement`. */
  readonly name: string
  readonly values: readonly string[]
}

/** The world and the profile of one simulation. */
export interface ComparedWorld {
  readonly fixtures: string | FixtureInput
  readonly profile: string | ProfileInput
}

/**
 * Reads `SETTING=VALUE,VALUE`.
 *
 * @throws UsageError for another form, for a value that is there twice, and for less than two values or more than seven
 */
export function parseSetting(text: string): ComparedSetting {
  const [, name, list] = /^([^=]+)=(.+)$/.exec(text) ?? []
  const values = list?.split(',').map(value => value.trim()) ?? []
  const isUsable =
    name !== undefined && values.every(value => value !== '') && new Set(values.map(parseValue)).size === values.length
  if (isUsable && values.length >= 2 && values.length <= MOST_VALUES) return { name: name.trim(), values }
  throw new UsageError(
    `Failed to read --compare '${text}': expected a setting with two to ${MOST_VALUES} different values. Give it as in --compare nodes=3,4.`,
  )
}

/**
 * Returns a world in which a setting has a value. `nodes` is the count of nodes of each group, `nodes.PREFIX` of one group.
 * Other names are paths: `FILE.ELEMENT.FIELD` of a fixture, or `SECTION.SETTING` of a profile.
 *
 * @param start starts the world, as a check
 * @throws UsageError for an unknown name, with the nearest known one
 * @throws FixtureError and ProfileError for an invalid value
 */
export function withSetting(
  world: ComparedWorld,
  name: string,
  text: string,
  start?: (world: ComparedWorld) => unknown,
): ComparedWorld {
  const path = name.split('.')
  const known = [...FIXTURE_KEYS, ...SECTIONS]
  if (!known.includes(path[0]!)) throw unknown(path[0]!, known)
  const change = SECTIONS.includes(path[0]!) ? withProfileSetting : withFixtureSetting
  try {
    const changed = change(world, path, parseValue(text))
    start?.(changed)
    return changed
  } catch (error) {
    if (!(error instanceof FixtureError || error instanceof ProfileError)) throw error
    const reason = error.message.replace(/^Failed to (?:load|start) the \w+: ?/, '').trim()
    throw new UsageError(`Failed to compare ${name}=${text}: ${reason}`)
  }
}

type Change = (world: ComparedWorld, path: readonly string[], value: unknown) => ComparedWorld

const withProfileSetting: Change = ({ fixtures, profile }, path, value) => {
  const changed: ProfileInput =
    typeof profile === 'string' ? { extends: profile, name: loadProfile(profile).name } : structuredClone(profile)
  setField(changed, path, value)
  loadProfile(changed)
  return { fixtures, profile: changed }
}

const withFixtureSetting: Change = ({ fixtures, profile }, path, value) => {
  const changed = structuredClone(loadFixture(fixtures))
  const [file, ...rest] = path as [FixtureKey, ...string[]]
  const list = LIST_FIELDS[file]
  if (file === 'nodes' && rest.length <= 1) setCounts(changed, rest[0], value)
  else setElement(changed, list === undefined ? path : [file, list, ...rest], value)
  return { fixtures: loadFixture(changed), profile }
}

/** Numbers, true, false and null are JSON. All else is text, as in `policies.placement=spread`. */
function parseValue(text: string): unknown {
  return /^(-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?|true|false|null)$/.test(text) ? JSON.parse(text) : text
}

function setField(target: object, path: readonly string[], value: unknown): void {
  const inherited = path.find(field => field in Object.prototype)
  if (inherited !== undefined) throw unknown(inherited, Object.keys(target))
  let at = target as Record<string, unknown>
  for (const field of path.slice(0, -1)) {
    at[field] ??= {}
    at = at[field] as Record<string, unknown>
  }
  at[path.at(-1)!] = value
}

function setCounts(fixture: FixtureInput, prefix: string | undefined, value: unknown): void {
  const groups = fixture.nodes!.pools.flatMap(({ nodes }) => nodes)
  const chosen = prefix === undefined ? groups : groups.filter(group => group.prefix === prefix)
  const prefixes = groups.map(group => group.prefix)
  if (chosen.length === 0) throw unknown(prefix ?? 'nodes', prefixes)
  for (const group of chosen) group.count = value as number
}

/** Sets a field that a path leads to. An element of a list has its name or its index in the path; a name may have dots. */
function setElement(fixture: object, path: readonly string[], value: unknown): void {
  let at: object = fixture
  let rest = path
  while (rest.length > 1) {
    const names = Array.isArray(at) ? namesOf(at) : new Map(Object.entries(at))
    const length = rest.findLastIndex((_, i) => i < rest.length - 1 && names.has(rest.slice(0, i + 1).join('.'))) + 1
    const next = names.get(rest.slice(0, length).join('.'))
    if (length === 0 || typeof next !== 'object' || next === null) throw unknown(rest[0]!, names.keys())
    at = next
    rest = rest.slice(length)
  }
  setField(at, rest, value)
}

function namesOf(list: readonly object[]): Map<string, unknown> {
  return new Map(
    list.flatMap((element, i) => {
      const fields = element as Record<string, unknown>
      const names = NAMES.flatMap(name => (typeof fields[name] === 'string' ? [fields[name] as string] : []))
      return [String(i), ...names].map(name => [name, element] as const)
    }),
  )
}

function unknown(part: string, names: Iterable<string>): UsageError {
  const known = [...names]
  const fallback = known.length === 0 ? 'The world has none of that kind.' : `Give one of ${known.join(', ')}.`
  return new UsageError(`Failed to read --compare: unknown name '${part}'. ${formatSuggestion(part, known, fallback)}`)
}
