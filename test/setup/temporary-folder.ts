import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, onTestFinished } from 'vitest'

/** Creates an empty folder that is removed at the end of the test. Call it in a test or in `beforeEach`. */
export function temporaryFolder(parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, 'modelhost-sim-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Creates an empty folder that is removed after all tests of a file or of a `describe`. Call it outside of tests. */
export function temporaryFolderOfTests(): string {
  const folder = mkdtempSync(join(tmpdir(), 'modelhost-sim-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
