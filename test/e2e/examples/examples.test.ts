/** The examples are run as they are copied: each in a folder of its own, with the built package, by its own command. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import manifest from '../../../package.json' with { type: 'json' }
import { temporaryFolder } from '../../setup/temporary-folder.ts'
import { freePort, Installed, runIn, start } from './installed.ts'

const installed = new Installed()
beforeAll(() => installed.build(), 120_000)
afterAll(() => installed.remove())

const NPM_TEST = ['npm', 'test', '--silent'] as const

test('examples/vitest: a client behind MSW, and one on fake timers', async () => {
  const { code, said } = await runIn(installed.copy('vitest'), NPM_TEST)
  expect(said).toMatch(/Test Files {2}2 passed \(2\)\n\s+Tests {2}9 passed \(9\)/)
  expect(code).toBe(0)
})

test('a failed test prints what its client did and how to run it again, and a passed test prints nothing', async () => {
  const folder = installed.copy('vitest', 'failing')
  writeFileSync(
    join(folder, 'failing.test.ts'),
    `import { expect, test } from 'modelhost-sim/vitest'
     import { describe } from 'vitest'
     const ask = (sim, path) => sim.fetch('http://sim' + path, { headers: { authorization: 'Bearer ' + sim.token } })
     describe('a suite', () => {
       test('fails (for $5)', async ({ sim }) => {
         await ask(sim, '/deploy/list?status=failed')
         expect(sim).toHaveReceived('stopDeployment')
       })
       test('passes', async ({ sim }) => {
         await ask(sim, '/deploy/list?status=running')
         expect(sim).toHaveReceived('listDeployments')
       })
     })`,
  )
  const { code, said } = await runIn(folder, ['npx', 'vitest', 'run', 'failing.test.ts'])
  expect(code).toBe(1)
  expect(said).toContain('The simulator of \'a suite fails (for $5)\' at 2026-01-01T00:00:00.000000+00:00, seed "1":')
  expect(said).toContain('GET /deploy/list?status=failed → 200')
  expect(said).not.toContain('status=running')
  const again = /^ {2}run it again: (.*)$/m.exec(said)![1]!
  expect(again).toBe("npx vitest run failing.test.ts -t 'a suite fails \\(for \\$5\\)'")
  const rerun = await runIn(folder, ['sh', '-c', again])
  expect(rerun.said).toMatch(/Tests {2}1 failed \| 1 skipped \(2\)/)
})

test('examples/node-test: a client with sim.fetch, and one on timers of sinon', async () => {
  const { code, said } = await runIn(installed.copy('node-test'), NPM_TEST)
  expect(said).toMatch(/[#ℹ] tests 5\n[\s\S]*[#ℹ] pass 5\n[#ℹ] fail 0/)
  expect(code).toBe(0)
})

test('examples/own-endpoints: a second host in the same world', async () => {
  const { code, said } = await runIn(installed.copy('own-endpoints'), NPM_TEST)
  expect(said).toMatch(/Tests {2}4 passed \(4\)/)
  expect(code).toBe(0)
})

test('examples/jest: a client on timers of Jest', async () => {
  const { code, said } = await runIn(installed.copy('jest'), NPM_TEST)
  expect(said).toMatch(/Tests: +4 passed, 4 total/)
  expect(code).toBe(0)
})

test('toSurvive in Jest prints what breaks a flow, and the line that repeats it; fake timers are refused', async () => {
  const folder = installed.copy('jest', 'careless')
  const careless = (options: string) => `
    test('careless', async () => {
      await expect(careless).toSurvive(${options})
    }, 60_000)`
  const file = (...tests: readonly string[]) =>
    writeFileSync(
      join(folder, 'survive.test.js'),
      `import { expect, jest, test } from '@jest/globals'
       import { matchers } from 'modelhost-sim/matchers'
       expect.extend(matchers)
       const body = JSON.stringify({ model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
       async function careless({ url, token }) {
         const headers = { authorization: 'Bearer ' + token, 'content-type': 'application/json' }
         const response = await fetch(url + '/deploy/llm', { method: 'POST', headers, body })
         return (await response.json()).deploy_id
       }
       ${tests.join('\n')}`,
    )
  const run = () => runIn(folder, [...NPM_TEST, '--', 'survive'])
  const faked = `jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] })`
  const refused = `test('fake', async () => {
    ${faked}
    await expect(expect(careless).toSurvive()).rejects.toThrow('Call vi.useRealTimers() or jest.useRealTimers() first.')
    jest.useRealTimers()
  })`
  file(refused, careless("{ fixtures: 'empty', classes: ['resetDone'] }"))
  const { code, said } = await run()
  expect(code).toBe(1)
  expect(said).toMatch(/Tests: +1 failed, 1 passed, 2 total/)
  expect(said).toMatch(/expected 'careless' to survive, and \d things? breaks? it/)
  expect(said).toMatch(/noLeak@createLlmDeployment\/error\n +What happened: The deployment \w+ \(running\) goes on/)
  const [, repeat] = /noLeak@[\s\S]*?Repeat: await expect\(flow\)\.toSurvive\((.*)\)/.exec(said)!
  expect(JSON.parse(repeat!)).toMatchObject({ fixtures: 'empty', plan: [{ fault: { on: 'createLlmDeployment' } }] })
  file(careless(repeat!))
  expect((await run()).said).toContain('noLeak@createLlmDeployment/error')
})

test('examples/playwright: a web application beside the server', async () => {
  const [SIM_PORT, APP_PORT] = [await freePort(), await freePort()]
  const { code, said } = await runIn(installed.copy('playwright'), NPM_TEST, { SIM_PORT, APP_PORT })
  expect(said).toMatch(/Running 4 tests using \d workers?[\s\S]*4 passed/)
  expect(code).toBe(0)
})

describe('examples/curl', () => {
  test('uploads, batches, advances and downloads', async () => {
    const folder = installed.copy('curl')
    const url = await serving(folder, ['modelhost-sim', 'serve', '--clock', 'manual'])
    const { code, said } = await runIn(folder, ['sh', 'run.sh'], { PORT: new URL(url).port })
    expect(said).toMatch(/^uploaded file_\w+$/m)
    expect(said).toMatch(/^created batch_\w+$/m)
    expect(said).toMatch(/^it is completed$/m)
    const rows = said.split('\n').filter(line => line.startsWith('{'))
    expect(rows.map(row => JSON.parse(row))).toMatchObject([
      { custom_id: 'tea', error: null, response: { status_code: 200 } },
      { custom_id: 'rain', error: null, response: { status_code: 200 } },
    ])
    expect(code).toBe(0)

    // Where nothing listens it says so.
    const alone = await runIn(folder, ['sh', 'run.sh'], { PORT: '1' })
    expect(alone.code).not.toBe(0)
    expect(alone.said).toContain('curl: (7)')
  })
})

interface Workflow {
  readonly jobs: { readonly test: { readonly env: Record<string, unknown>; readonly steps: readonly Step[] } }
}

interface Step {
  readonly name?: string
  readonly uses?: string
  readonly run?: string
}

test('examples/github-actions: the steps of its workflow, as a runner runs them', async () => {
  const folder = installed.copy('github-actions')
  const { env, steps } = (parse(readFileSync(join(folder, '.github/workflows/test.yml'), 'utf8')) as Workflow).jobs.test
  // A variable that the job does not set would be read from nowhere.
  expect(env).toEqual({ MODELHOST_SIM_PORT: 4010 })
  const environment: Record<string, string> = { MODELHOST_SIM_PORT: await freePort() }
  const scratch = temporaryFolder()

  const said: Record<string, string> = {}
  for (const { name = '', run } of steps) {
    // What is installed is installed. What would be run after a failure must not fail when it is.
    if (run === undefined || run === 'npm ci') continue
    const file = join(scratch, 'environment')
    writeFileSync(file, '')
    const child = start(folder, ['bash', '-e', '-o', 'pipefail', '-c', run], { ...environment, GITHUB_ENV: file })
    onTestFinished(() => end(child.pid))
    said[name] = ''
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.on('data', data => {
        said[name] += data
      })
    }
    const code = await new Promise(resolve => child.on('exit', resolve))
    expect([name, said[name], code]).toEqual([name, expect.any(String), 0])
    for (const line of readFileSync(file, 'utf8').split('\n').filter(Boolean)) {
      environment[line.slice(0, line.indexOf('='))] = line.slice(line.indexOf('=') + 1)
    }
  }
  expect(Object.keys(said)).toEqual([
    'Start the simulator',
    'Test',
    'What happened in the world',
    'What the simulator printed',
  ])
  expect(environment.MODELHOST_SIM_URL).toBe(`http://127.0.0.1:${environment.MODELHOST_SIM_PORT}`)
  expect(said.Test).toMatch(/[#ℹ] pass 1\n[#ℹ] fail 0/)
  const { entries } = JSON.parse(said['What happened in the world']!) as { entries: { kind: string }[] }
  expect(entries.map(({ kind }) => kind)).toContain('deployment.running')
  expect(said['What the simulator printed']).toContain(environment.MODELHOST_SIM_URL)
})

test('each example is run here, says how it is run, and asks for versions that this package is tested with', () => {
  const names = readdirSync('examples').sort()
  expect(names).toEqual([
    'curl',
    'github-actions',
    'init',
    'jest',
    'node-test',
    'own-endpoints',
    'playwright',
    'recipes',
    'shards',
    'vitest',
  ])
  const ours: Readonly<Record<string, string>> = {
    ...manifest.dependencies,
    ...manifest.devDependencies,
    'modelhost-sim': `^${manifest.version}`,
  }
  const bare = (range: string) => range.replace(/^[~^]/, '')
  for (const name of names) {
    expect([name, existsSync(`examples/${name}/README.md`)]).toEqual([name, true])
    const path = `examples/${name}/package.json`
    if (!existsSync(path)) continue
    const { devDependencies } = JSON.parse(readFileSync(path, 'utf8')) as { devDependencies: Record<string, string> }
    for (const [asked, range] of Object.entries(devDependencies)) {
      expect([name, asked, bare(range)]).toEqual([name, asked, bare(ours[asked] ?? 'nothing')])
    }
  }
})

/** Starts the server of an example on a free port; resolves with its address once it listens. */
async function serving(folder: string, [command, ...args]: readonly string[]): Promise<string> {
  const child = start(folder, [join(folder, 'node_modules/.bin', command!), ...args, '--port', '0'], {})
  onTestFinished(() => end(child.pid))
  let banner = ''
  return new Promise((resolve, reject) => {
    child.stdout!.on('data', data => {
      banner += data
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(banner)?.[0]
      if (url !== undefined) resolve(url)
    })
    child.stderr!.on('data', data => {
      banner += data
    })
    child.once('exit', code => reject(new Error(`the server ended with ${code}: ${banner}`)))
  })
}

/** Ends a process and all that it started. */
function end(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}
