import quick from '../../profiles/quick.json' with { type: 'json' }
import realistic from '../../profiles/realistic.json' with { type: 'json' }
import rough from '../../profiles/rough.json' with { type: 'json' }
import { nearestWord } from '../kernel/nearest.ts'
import type {
  FixtureFiles,
  openFixture as openFixtureOnDisk,
  openNames as openNamesOnDisk,
  openProfile as openProfileOnDisk,
} from './fixture-files.ts'

/** A browser has no folders: a fixture is given as an object there. */
export const openFixture: typeof openFixtureOnDisk = (source: string): FixtureFiles => {
  throw new Error(`Failed to read fixture '${source}': names and folders need Node. Give the fixture as an object.`)
}

/** Every world has a profile, so those of the package are part of a browser's bundle. */
const PROFILES: Readonly<Record<string, unknown>> = { quick, realistic, rough }

export const openProfile: typeof openProfileOnDisk = source => {
  if (Object.hasOwn(PROFILES, source)) {
    const text = JSON.stringify(PROFILES[source])
    return { path: source, label: `${source}.json`, name: source, stamp: '', read: () => text }
  }
  const known = Object.keys(PROFILES)
  const suggestion = nearestWord(source, known)
  return {
    problem:
      `expected one of ${known.map(each => `'${each}'`).join(', ')}, got '${source}': other files need Node.` +
      `${suggestion === undefined ? '' : ` Did you mean '${suggestion}'?`} Give one of these, or the profile as an object.`,
  }
}

export const openNames: typeof openNamesOnDisk = () => ({
  problem: 'files need Node. Give the names themselves, as an object.',
})
