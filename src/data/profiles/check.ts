import { describeUnknown } from '../../lib/did-you-mean.ts'
import { deepFreeze } from '../../lib/fields.ts'
import { isRecord } from '../../lib/json-text.ts'
import { formatValue } from '../../lib/zod-problems.ts'
import type { ProfileChain, ProfileLayer } from './chain.ts'
import { ProblemReport } from './problems.ts'
import { ProfileReader } from './reader.ts'
import { PROFILE_SECTIONS, type Profile } from './schema.ts'

/**
 * Reads and checks the settings of all files of a chain.
 *
 * @throws ProfileError naming every problem found
 */
export function checkChain(chain: ProfileChain): Profile {
  const layers = chain.layers
  const report = new ProblemReport(chain.subject)
  const reader = new ProfileReader(report)
  const sections = reader.readSection(PROFILE_SECTIONS, layers, [], layers.at(-1)!.label)
  const name = reader.readText('name', layers) ?? chain.name
  const description = reader.readText('description', layers) ?? ''
  report.throwIfAny()
  const profile = deepFreeze({
    ...(sections as Omit<Profile, 'name' | 'description' | 'sources'>),
    name,
    description,
    sources: reader.sources,
  })
  checkConsistency(profile, layers, report)
  report.throwIfAny()
  return profile
}

/** Checks rules between several settings. */
function checkConsistency(profile: Profile, layers: readonly ProfileLayer[], report: ProblemReport): void {
  const { timings, weather } = profile
  const minLoadTime = timings.loadFixed + (timings.warmUp.sigma === 0 ? timings.warmUp.median : 0)
  if (timings.readyWithin <= minLoadTime) {
    const label = lastLabelNaming(layers, [
      ['timings', 'ready_within'],
      ['timings', 'load_fixed'],
      ['timings', 'warm_up'],
    ])
    const text =
      `expected more than load_fixed + warm_up, ${minLoadTime / 1e6} s, got ${timings.readyWithin / 1e6} s: no instance would ` +
      'be ready in time. Raise it, or lower the others.'
    report.add(label, ['timings', 'ready_within'], text)
  }
  if (timings.imageBytes > timings.imageCacheBytes) {
    const paths = [
      ['timings', 'image_bytes'],
      ['timings', 'image_cache_bytes'],
    ] as const
    const text =
      `expected at most image_cache_bytes, ${timings.imageCacheBytes}, got ${timings.imageBytes}: no image would stay on ` +
      'a node. Lower it, or raise image_cache_bytes.'
    report.add(lastLabelNaming(layers, paths), ['timings', 'image_bytes'], text)
  }
  const names = ['none', ...Object.keys(weather.packs)]
  if (!names.includes(weather.pack)) {
    const text = describeUnknown(`one of ${names.map(formatValue).join(', ')}`, weather.pack, names)
    report.add(lastLabelNaming(layers, [['weather', 'pack']]), ['weather', 'pack'], text)
  }
}

function lastLabelNaming(layers: readonly ProfileLayer[], paths: readonly (readonly [string, string])[]): string {
  const layer = layers.findLast(({ raw }) =>
    paths.some(([section, key]) => {
      const inner = (raw as Readonly<Record<string, unknown>>)[section]
      return isRecord(inner) && inner[key] !== undefined
    }),
  )
  return (layer ?? layers.at(-1)!).label
}
