/**
 * Provider profiles: the settings and policies of a service, as data. A file is read and checked once, and shared
 * frozen.
 */

import { nearestWord } from '../../lib/did-you-mean.ts'
import { deepFreeze } from '../../lib/fields.ts'
import { DEFAULT_PROFILE, ProfileChain } from './chain.ts'
import * as check from './check.ts'
import type { Profile, ProfileInput } from './schema.ts'

export type {
  Profile,
  ProfileInput,
  WeatherPack,
} from './schema.ts'

/** Profiles by the path of their file. */
const loadedProfiles = new Map<string, { readonly stamp: string; readonly profile: Profile }>()

/**
 * Loads a provider profile. The result is complete and deeply frozen, with times in microseconds, rates in bytes/s and
 * prices in cents.
 *
 * A profile extends another one, by name or path, and names only the settings that differ. Sections merge setting by
 * setting. The fields of one distribution merge too. Lists are replaced. A setting is a plain value or
 * `{ "value": …, "source": "…" }`.
 *
 * @param source a name (`realistic`, `quick`, `rough`), the path of a JSON file, or the profile itself.
 * @throws ProfileError naming every problem found
 * @example
 * loadProfile({ extends: 'quick', timings: { image_pull: { median: '60s' } }, policies: { idle_to_zero: 'stopped' } })
 */
export function loadProfile(source: string | ProfileInput = DEFAULT_PROFILE): Profile {
  const chain = new ProfileChain(source)
  const { stamp } = chain
  const cached = stamp === undefined ? undefined : loadedProfiles.get(chain.cacheKey)
  if (cached !== undefined && cached.stamp === stamp) return cached.profile

  const checked = chain.readChecked()
  const profile = checked === undefined ? check.checkChain(chain) : deepFreeze(JSON.parse(checked) as Profile)
  if (stamp !== undefined) loadedProfiles.set(chain.cacheKey, { stamp, profile })
  return profile
}

/**
 * Returns a profile with another weather.
 *
 * @param weather `none`, or the name of a pack of the profile; undefined: that of the profile
 * @throws RangeError that names the nearest pack if the profile has no pack of that name
 * @example loadProfile(withWeather('quick', 'launch-day'))
 */
export function withWeather(source: string | ProfileInput = DEFAULT_PROFILE, weather?: string): string | ProfileInput {
  if (weather === undefined) return source
  const { name, description, weather: profileWeather } = loadProfile(source)
  const packs = ['none', ...Object.keys(profileWeather.packs)]
  if (!packs.includes(weather)) {
    const suggestion = nearestWord(String(weather), packs)
    throw new RangeError(
      `Failed to find the weather '${weather}': ${suggestion ? `did you mean '${suggestion}'?` : 'the profile has no such pack.'} ` +
        `Packs are ${packs.join(', ')}.`,
    )
  }
  if (typeof source !== 'string') return { ...source, weather: { ...source.weather, pack: weather } }
  return { extends: source, name, description, weather: { pack: weather } }
}
