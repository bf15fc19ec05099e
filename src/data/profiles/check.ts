import { deepFreeze } from '../../lib/deep-freeze.ts'
import type { ProfileChain } from './chain.ts'
import { checkConsistency } from './consistency.ts'
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
