import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../setup/temporary-folder.ts'
import { BROKEN } from '../../workbench/scenario/stories.ts'
import { BIN, PROJECT } from '../cli/process.ts'

describe('npx modelhost-sim run', () => {
  const spawn = (...args: string[]) =>
    spawnSync(process.execPath, [BIN, 'run', ...args], { encoding: 'utf8', cwd: PROJECT })

  test('runs scenarios, prints the result and exits with its code', () => {
    const passed = spawn('scenarios/deploy/cold-start.ts', '--reporter', 'json')
    expect({ status: passed.status, stderr: passed.stderr }).toEqual({ status: 0, stderr: '' })
    expect(JSON.parse(passed.stdout)).toMatchObject({ passed: 1, failed: 0, scenarios: [{ trace: 'equal' }] })
    const missing = spawn('scenarios/deploy/cold-strat.ts')
    expect(missing).toMatchObject({ status: 2, stdout: '' })
    expect(missing.stderr).toContain("Did you mean 'scenarios/deploy/cold-start.ts'?")
  })

  test('prints the place of a failure and of a syntax error, and ends scripts that hang', () => {
    // In a project that has the package, so that its name leads to it.
    const home = temporaryFolder(PROJECT)
    const file = (name: string, text: string) => {
      writeFileSync(join(home, name), text)
      return join(home, name)
    }
    const failed = spawn(file('broken.ts', BROKEN))
    expect(failed.status).toBe(1)
    expect(failed.stdout).toMatch(/broken\.ts:6:3 at 20s \(20\.000000\), seed 7\n {4}> check\(await api\.getDeployment/)
    const ts = spawn(file('syntax.ts', 'const a = 1\nconst b = = 2\n'))
    expect(ts).toMatchObject({ status: 2 })
    expect(ts.stderr).toMatch(/syntax\.ts:2:10: syntax error: Unexpected "="\. Fix that line\.\n$/)
    const js = spawn(file('syntax.js', 'const a = 1\nexport const b = = 2\n'))
    expect(js).toMatchObject({ status: 2 })
    expect(js.stderr).toMatch(/syntax\.js:2:18: syntax error: Unexpected .*=.*\. Fix that line\.\n$/)
    mkdirSync(join(home, 'old'))
    file('old/package.json', '{ "type": "commonjs" }')
    file('old/client.js', 'export async function run() {}\n')
    const old = spawn(file('old/imports.ts', "import { run } from './client.js'\nrun()\n"))
    expect(old).toMatchObject({ status: 2 })
    expect(old.stderr).toContain(
      `'./client.js' is CommonJS, because its package.json has no "type": "module". Rename it to .mjs, or add`,
    )
    // Without "type": "module" beside it, Node 20 reads the file as CommonJS.
    file('old/boom.ts', "throw new Error('boom')\n")
    const thrown = spawn(file('old/throws.ts', "import './boom.ts'\n"))
    expect(thrown).toMatchObject({ status: 2 })
    expect(thrown.stderr).toMatch(/^Failed to load \S+throws\.ts: \S+old\/boom\.ts\S*: boom\. Fix it there\.\n$/)
    file('syntax-of.mjs', "import './syntax.ts'\n")
    const inner = spawn(join(home, 'syntax-of.mjs'))
    expect(inner).toMatchObject({ status: 2 })
    expect(inner.stderr).toMatch(/syntax-of\.mjs: \S+syntax\.ts:2:10: syntax error: Unexpected "="\. Fix it there\.\n$/)
    const astray = (title: string, play: string) =>
      `import { scenario } from 'modelhost-sim/scenario'\nexport default scenario('${title}', {}, ${play})\n`
    const hanging = spawn(
      file('a.ts', astray('hangs', '() => new Promise(() => {})')),
      file('b.ts', astray('floats', "() => { Promise.reject(new Error('unheard')) }")),
      file('c.ts', astray('sleeps', "({ clock }) => clock.sleep('1h')")),
    )
    expect(hanging.status).toBe(1)
    expect(hanging.stdout).toContain('no work is left, and the script has not ended')
    expect(hanging.stdout).toContain('a promise that is not awaited failed: unheard')
    expect(hanging.stdout).toContain('clock.sleep("1h") ends in 1h')
    expect(hanging.stdout).toContain('3 of 3 scenarios failed')
  })

  test('a script and its runner load the package once each, and know the errors of the other', () => {
    const home = temporaryFolder(PROJECT)
    const text = `
import { endpoint, FaultError, refuse, UntilError } from 'modelhost-sim'
import { scenario } from 'modelhost-sim/scenario'
import * as z from 'zod'

const handle = () => refuse(404, 'no pod')
const getPod = endpoint({ route: 'GET /pod', summary: 'Get a pod', auth: 'none', returns: z.object({}), handle })
export default scenario('errors', { endpoints: { getPod } }, async ({ check, clock, eventually, faults, fetch, baseUrl }) => {
  const answer = await fetch(baseUrl + '/pod')
  check([answer.status, await answer.json()], [404, { error: 'no pod' }])
  const unknown = await faults.add({ on: 'nope', fault: { kind: 'status', status: 503 } }).catch(error => error)
  const late = await clock.until(() => false, { within: '1s' }).catch(error => error)
  check([unknown, late].map(error => [error instanceof FaultError, error instanceof UntilError]), [[true, false], [false, true]])
})
`
    writeFileSync(join(home, 'errors.ts'), text)
    const { status, stdout } = spawn(home, '--update')
    expect(status, stdout).toBe(0)
  })

  test.each([
    ['1', { signal: 'SIGKILL' }],
    ['2', { status: 2 }],
  ])('ends and names the scenario when a script loops without end, workers: %s', (workers, ended) => {
    const home = temporaryFolder(PROJECT)
    const script = (name: string, loop: string) =>
      `import { scenario } from 'modelhost-sim/scenario'\nexport default scenario('${name}', {}, async () => { ${loop} })\n`
    writeFileSync(join(home, 'fine.ts'), script('fine', ''))
    writeFileSync(join(home, 'spins.ts'), script('spins', 'for (;;);'))
    const options = { encoding: 'utf8', cwd: PROJECT, timeout: 150_000, killSignal: 'SIGTERM' } as const
    const args = [BIN, 'run', home, '--update', '--workers', workers, '--loop-limit', '5s']
    const run = spawnSync(process.execPath, args, options)
    expect(run).toMatchObject(ended)
    expect(run.stderr).toMatch(/^Failed to play 'spins'.*: the script blocked the process for 5 s/)
    expect(run.stderr).not.toContain('IPC')
  })

  test.each([['1'], ['2']])(
    'plays every scenario to its report when scripts try to end the process, workers: %s',
    workers => {
      const home = temporaryFolder(PROJECT)
      const script = (name: string, play: string) => {
        const text = `import { scenario } from 'modelhost-sim/scenario'\nexport default scenario('${name}', {},\n${play})\n`
        writeFileSync(join(home, `${name}.ts`), text)
      }
      script('a-exits', '() => process.exit(0)')
      script('b-exits-and-goes-on', '() => { try { process.reallyExit(0) } catch {} }')
      script(
        'c-throws-late',
        "() => new Promise(resolve => setTimeout(() => { resolve(); throw new Error('too late') }))",
      )
      script('d-leaves-a-timer', "() => { setInterval(() => {}, 1000); throw new Error('left a timer') }")
      script('e-fails-plainly', "() => { throw new Error('plain') }")
      // Ended only if the process does not end by itself.
      const options = { encoding: 'utf8', cwd: PROJECT, timeout: 150_000, killSignal: 'SIGKILL' } as const
      const args = [BIN, 'run', home, '--reporter', 'json', '--workers', workers]
      const { status, stdout, stderr } = spawnSync(process.execPath, args, options)
      expect({ status, stderr }).toEqual({ status: 1, stderr: '' })
      const { scenarios } = JSON.parse(stdout) as { scenarios: { title: string; failure: unknown }[] }
      const exit = 'Throw an error, or return from the script.'
      expect(scenarios.map(({ title, failure }) => [title, failure])).toMatchObject([
        ['a-exits', { message: `Failed to play: the script called process.exit(0). ${exit}`, where: { line: 3 } }],
        ['b-exits-and-goes-on', { message: `Failed to play: the script called process.reallyExit(0). ${exit}` }],
        ['c-throws-late', { message: 'an error that nothing caught: too late.', where: { line: 3 } }],
        ['d-leaves-a-timer', { message: 'left a timer' }],
        ['e-fails-plainly', { message: 'plain' }],
      ])
    },
  )
})
