/** The digests of the worlds that the tests of one process use. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { DigestLine } from '../../test/setup/world-digests.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs')

/**
 * Runs tests, given by projects of vitest and filters of files. Returns the digests of each test by `<file> > <test>`,
 * and whether all tests passed.
 */
export function runSuite(
  projects: readonly string[],
  filters: readonly string[] = [],
): { passed: boolean; digests: Map<string, string> } {
  const folder = mkdtempSync(join(tmpdir(), 'modelhost-sim-digests-'))
  try {
    const flags = projects.flatMap(name => ['--project', name])
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [VITEST, 'run', ...flags, '--reporter=dot', ...filters],
      {
        ...{ cwd: ROOT, env: { ...process.env, WORLD_DIGESTS: folder, NO_COLOR: '1' } },
        ...{ encoding: 'utf8', maxBuffer: 1 << 28 },
      },
    )
    const failures = `${stdout}\n${stderr}`.split('\n').filter(line => /^ *FAIL |^\w*Error: /.test(line))
    for (const line of failures) process.stdout.write(`${line.trim()}\n`)
    const digests = new Map<string, string>()
    for (const name of existsSync(folder) ? readdirSync(folder) : []) {
      for (const text of readFileSync(join(folder, name), 'utf8').trimEnd().split('\n')) {
        const { file, test, digests: own } = JSON.parse(text) as DigestLine
        const key = `${file} > ${test}`
        // Equal titles get a number, by their order.
        let unique = key
        for (let nth = 2; digests.has(unique); nth++) unique = `${key} (${nth})`
        digests.set(unique, own.join(' '))
      }
    }
    return { passed: status === 0, digests }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
