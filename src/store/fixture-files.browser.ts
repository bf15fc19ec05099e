import type { FixtureFiles, openFixture as openFixtureOnDisk } from './fixture-files.ts'

/** A browser has no folders: a fixture is given as an object there. */
export const openFixture: typeof openFixtureOnDisk = (source: string): FixtureFiles => {
  throw new Error(`Failed to read fixture '${source}': names and folders need Node. Give the fixture as an object.`)
}
