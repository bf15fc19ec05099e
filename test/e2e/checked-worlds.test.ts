/** The bundled worlds that the build checks: the installed package trusts them, and checks a file that has changed. */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { installed, packageIn } from './installed-package.ts'

const WORLDS = ['default', 'empty', 'fleet', 'full', 'two-nodes'] as const

/** Prints the digest of a world a day later, as the package of a project makes it. */
function digestOf(project: string, world: string): { stdout: string; stderr: string } {
  const script = `
    import { createSimulator } from 'modelhost-sim'
    const sim = createSimulator({ fixtures: ${JSON.stringify(world)} })
    await sim.clock.advance('1d')
    console.log(sim.digest)`
  return spawnSync(process.execPath, ['--input-type=module', '-e', script], { cwd: project, encoding: 'utf8' })
}

test.each(WORLDS)('the world %s of the package is the world of the source', async world => {
  const sim = createSimulator({ fixtures: world })
  await sim.clock.advance('1d')
  expect(digestOf(installed(), world)).toMatchObject({ stdout: `${sim.digest}\n`, stderr: '' })
})

describe('a changed package', () => {
  let project: string
  beforeAll(() => {
    // Beside the original, so that its dependencies are found.
    project = mkdtempSync(`${installed()}-changed-`)
    cpSync(installed(), project, { recursive: true })
  })
  afterAll(() => rmSync(project, { recursive: true }))

  test('is checked, and a mistake in a changed file of a world is named', () => {
    const file = join(packageIn(project), 'fixtures/empty/account.json')
    const text = readFileSync(file, 'utf8')
    writeFileSync(file, text.replace(/"funds_cents": *\d+/, '"funds_cents": "many"'))
    expect(digestOf(project, 'empty').stderr).toContain("Failed to load fixture 'empty': account.json: $.funds_cents")
    writeFileSync(file, text)
    expect(digestOf(project, 'empty').stderr).toBe('')
  })

  test('reads the checked form when no file has changed', () => {
    const file = join(packageIn(project), 'dist/worlds/empty.json')
    const [digest, world] = readFileSync(file, 'utf8').split('\n') as [string, string]
    writeFileSync(file, `${digest}\n${world.replace(/"funds_cents":\d+/, '"funds_cents":7')}`)
    const script = "console.log((await import('modelhost-sim')).createSimulator({ fixtures: 'empty' }).ledger.balance)"
    const args = ['--input-type=module', '-e', script]
    expect(spawnSync(process.execPath, args, { cwd: project, encoding: 'utf8' }).stdout).toBe('7000000\n')
  })
})
