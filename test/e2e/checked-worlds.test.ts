/** The worlds and profiles that the build checks: the installed package trusts them, and checks a file that has changed. */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { digestOfTexts } from '../../src/data/checked-file.ts'
import { ProfileChain } from '../../src/data/profiles/chain.ts'
import { loadProfile } from '../../src/data/profiles/load.ts'
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

/** Returns what a script of a project prints, as a value. */
function printedValue(project: string, script: string): unknown {
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd: project,
    encoding: 'utf8',
  })
  expect(stderr).toBe('')
  return JSON.parse(stdout)
}

test.each(['realistic', 'quick', 'rough'])('the profile %s of the package is the profile of the source', name => {
  const file = join(packageIn(installed()), `dist/profiles/${name}.json`)
  const [digest, profile] = readFileSync(file, 'utf8').split('\n') as [string, string]
  expect(digest).toBe(digestOfTexts(new ProfileChain(name).texts))
  expect(JSON.parse(profile)).toStrictEqual(loadProfile(name))
})

test('a completed batch of the package has the invalid lines of the source', async () => {
  const script = (options: string) => `
    import { createSimulator } from 'modelhost-sim'
    const sim = createSimulator(${options})
    const answer = await sim.fetch('http://sim/v1/batches', { headers: { authorization: 'Bearer ' + sim.token } })
    console.log(await answer.text())`
  for (const options of [{}, { strictRequests: true }]) {
    const sim = createSimulator(options)
    const answer = await sim.fetch('http://sim/v1/batches', { headers: { authorization: `Bearer ${sim.token}` } })
    expect(answer.status).toBe(200)
    expect(printedValue(installed(), script(JSON.stringify(options)))).toEqual(await answer.json())
  }
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
    const file = join(packageIn(project), 'fixtures/worlds/empty/account.json')
    const text = readFileSync(file, 'utf8')
    writeFileSync(file, text.replace(/"funds_cents": *\d+/, '"funds_cents": "many"'))
    expect(digestOf(project, 'empty').stderr).toContain("Failed to load fixture 'empty': account.json: $.funds_cents")
    writeFileSync(file, text)
    expect(digestOf(project, 'empty').stderr).toBe('')
  })

  test('checks a profile again after a change of the profile or of the one that it extends', () => {
    const script = `
      import { createSimulator } from 'modelhost-sim'
      const sim = createSimulator({ fixtures: 'empty', profile: 'quick' })
      console.log(sim.token.length)`
    const print = () =>
      spawnSync(process.execPath, ['--input-type=module', '-e', script], { cwd: project, encoding: 'utf8' })
    for (const name of ['quick', 'realistic']) {
      const file = join(packageIn(project), `fixtures/profiles/${name}.json`)
      const text = readFileSync(file, 'utf8')
      writeFileSync(file, text.replace(/"timings": *\{/, '"timings": { "image_pul": "5s",'))
      expect(print().stderr, name).toContain(`Failed to load profile 'quick': ${name}.json: $.timings.image_pul`)
      writeFileSync(file, text)
      expect(print().stderr, name).toBe('')
    }
  })

  test('reads the checked form of a profile when no file has changed', () => {
    const file = join(packageIn(project), 'dist/profiles/realistic.json')
    const text = readFileSync(file, 'utf8')
    writeFileSync(file, text.replace(/"storageBytes":\d+/, '"storageBytes":5'))
    const script = `
      import { createSimulator } from 'modelhost-sim'
      const sim = createSimulator({ fixtures: 'empty' })
      const body = new FormData()
      body.set('purpose', 'batch')
      body.set('file', new Blob(['{}{}{}']), 'input.jsonl')
      const headers = { authorization: 'Bearer ' + sim.token }
      console.log((await sim.fetch('http://sim/v1/files', { method: 'POST', headers, body })).status)`
    const args = ['--input-type=module', '-e', script]
    expect(spawnSync(process.execPath, args, { cwd: project, encoding: 'utf8' }).stdout).toBe('413\n')
    writeFileSync(file, text)
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
