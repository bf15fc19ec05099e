/** The README is run: every block of code in it, as printed. */
import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createSimulator } from '../../src/simulator/simulator.ts'

const run = promisify(execFile)
const ROOT = resolve('.')
const SCRATCH = join(ROOT, '.tmp/readme')
const BIN = join(ROOT, 'bin/modelhost-sim.js')
const readme = readFileSync('README.md', 'utf8')
const blocks = [...readme.matchAll(/```(ts|sh)\n([\s\S]*?)```/g)].map(([, language, code]) => ({
  language: language!,
  code: code!,
}))

beforeAll(() => mkdirSync(SCRATCH, { recursive: true }))
afterAll(() => rmSync(SCRATCH, { recursive: true, force: true }))

describe('the README', () => {
  test('has the blocks that are run below, and no other', () => {
    expect(blocks.map(({ language, code }) => `${language} ${code.split('\n')[0]}`)).toEqual([
      'sh npm ci && npm start',
      'sh npm ci && npm test',
      "ts import { createSimulator } from 'modelhost-sim'",
      'sh npx modelhost-sim serve --clock manual',
      'sh TOKEN="Authorization: Bearer sim_default_token"',
      "ts import { scenario } from 'modelhost-sim/scenario'",
      'sh npx modelhost-sim simulate --fixtures fleet --for 7d --series week.csv --step 1h',
    ])
    for (const { code } of blocks)
      expect(
        code
          .trim()
          .split('\n')
          .filter(line => line !== '').length,
      ).toBeLessThan(10)
  })

  test('two lines do everything on a fresh machine', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> }
    expect([scripts.start, scripts.test]).toEqual(['node bin/modelhost-sim.js serve', 'vitest run'])
    expect(readFileSync('.ci/run', 'utf8')).toContain('npm ci')
    expect(readFileSync('.ci/run', 'utf8')).toContain('npm test')
  })

  test('in a test process, the deployment that was arranged runs after ten minutes', async () => {
    const file = join(SCRATCH, 'in-process.mts')
    writeFileSync(file, blocks[2]!.code)
    const { stdout } = await run(process.execPath, ['--conditions=modelhost-sim-source', '--import', 'tsx', file])
    expect(stdout).toContain("model_name: 'acme/chat'")
    expect(stdout).toContain("status: 'running'")
    expect(stdout.match(/deploy_id/g)).toHaveLength(1)
  })

  test('as a server, the deployment that was created runs, and is billed for two hours and its start', async () => {
    const server = spawn(process.execPath, [BIN, ...blocks[3]!.code.trim().split(' ').slice(2), '--port', '0'])
    try {
      const address = await new Promise<string>((found, failed) => {
        let banner = ''
        server.stdout.on('data', chunk => {
          banner += String(chunk)
          const url = /http:\/\/(127\.0\.0\.1:\d+)/.exec(banner)
          if (url && banner.includes('curl')) found(url[1]!)
        })
        server.once('exit', () => failed(new Error(`the server ended: ${banner}`)))
      })
      const script = blocks[4]!.code.replaceAll('127.0.0.1:4010', address).replaceAll('curl ', 'curl -sS --fail ')
      const { stdout } = await run('sh', ['-ec', script])
      const deploy_id = /"deploy_id":"(\w+)"/.exec(stdout)![1]!
      const rent = JSON.parse(/\{"id_to_duration".*\}/.exec(stdout)![0]) as { id_to_duration: Record<string, number> }
      expect(stdout).toContain(`"deploy_id":"${deploy_id}","model_name":"acme/chat"`)
      expect(rent.id_to_duration[deploy_id]).toBeGreaterThanOrEqual(7200)
      expect(rent.id_to_duration[deploy_id]).toBeLessThan(7200 + 1800)
      expect(stdout).toContain('"reached":true')
    } finally {
      server.kill('SIGKILL')
    }
  })

  test('as a scenario, no GPU comes and the deployment waits', async () => {
    const file = join(SCRATCH, 'no-gpu.ts')
    writeFileSync(file, blocks[5]!.code)
    const command = /`npx modelhost-sim (run no-gpu\.ts --update)`/.exec(readme)![1]!
    const { stdout } = await run(process.execPath, [BIN, ...command.split(' ')], { cwd: SCRATCH })
    expect(stdout).toContain('no GPU comes')
    expect(readFileSync(join(SCRATCH, 'no-gpu.trace'), 'utf8')).toContain('pool.stockedOut')
  })

  test('as a fleet without clients, a week is told, with a row an hour and deployment', async () => {
    const args = blocks[6]!.code.trim().split(' ').slice(2)
    const { stdout } = await run(process.execPath, [BIN, ...args], { cwd: SCRATCH })
    expect(stdout).toContain('to 2026-01-08T00:00:00Z (7d)')
    expect(readFileSync(join(SCRATCH, 'week.csv'), 'utf8').trimEnd().split('\n')).toHaveLength(1 + 7 * 24 * 13)
  }, 120_000)

  test('says of each world what it is', async () => {
    const rows = [...readme.matchAll(/^\| `([a-z-]+)` \| `(\w+)` \| (.*?) \| (.*) \|$/gm)]
    expect(rows.map(([, fixtures]) => fixtures).sort()).toEqual(readdirSync('fixtures').sort())
    for (const [, fixtures, token, gpus] of rows) {
      const sim = createSimulator({ fixtures: fixtures! })
      const types = new Map<string, { free: number; gpus: number }>()
      for (const node of sim.cluster.nodes()) {
        const type = node.gpu.split('-')[0]!
        const { free, gpus } = types.get(type) ?? { free: 0, gpus: 0 }
        types.set(type, { free: free + node.free, gpus: gpus + node.gpus })
      }
      const told = [...types]
        .filter(([, { free }]) => free > 0)
        .map(([type, one]) => `${one.free} of ${one.gpus} ${type}`)
      expect([fixtures, sim.token]).toEqual([fixtures, token])
      expect([fixtures, gpus!.split(', ').sort()]).toEqual([fixtures, told.length === 0 ? ['none'] : told.sort()])
    }
    const sim = createSimulator()
    const count = async (path: string) => {
      const answer = await sim.fetch(`http://sim${path}`, { headers: { authorization: `Bearer ${sim.token}` } })
      return ((await answer.json()) as unknown[]).length
    }
    expect([await count('/deploy/list'), await count('/models/deployment/list')]).toEqual([8, 53])
    expect(readme).toContain('eight deployments in different states and a deleted one, two batches, three hosted')
    expect(readme).toContain('53 models')
  })

  test('says what an account may hold, which is less than what is free', async () => {
    const of = async (fixtures: string) => {
      const { fetch, token, world } = createSimulator({ fixtures })
      const headers = { authorization: `Bearer ${token}` }
      const { limits } = (await (await fetch('http://sim/v1/me/gpu_limit', { headers })).json()) as {
        limits: Record<string, number>
      }
      return { limits, held: world.gpuQuotas.held('H100-80GB') }
    }
    const [usual, empty, nodes, fleet] = await Promise.all(['default', 'empty', 'two-nodes', 'fleet'].map(of))
    expect([...new Set(Object.values(empty!.limits))]).toEqual([4])
    const eights = Object.keys(usual!.limits).filter(gpu => usual!.limits[gpu] === 8)
    expect(eights).toEqual(['L4-24GB', 'L40S-48GB', 'A100-80GB', 'H200-141GB'])
    expect([usual!.limits['H100-80GB'], usual!.held]).toEqual([4, 2])
    expect(nodes!.limits['H100-80GB']).toBe(16)
    for (const gpu of ['H100-80GB', 'A100-80GB', 'L40S-48GB']) expect(fleet!.limits).not.toHaveProperty(gpu)
    expect(readme).toContain('The account may hold 4 GPUs of a type')
    expect(readme).toContain(
      'allows 8 L4, L40S, A100\nand H200, and has 2 of its 4 H100 in use; `two-nodes` allows 16 H100',
    )
  })

  test('names no page that the package would not hold', () => {
    const { files } = JSON.parse(readFileSync('package.json', 'utf8')) as { files: string[] }
    const linked = [...readme.matchAll(/\]\(([\w./-]+)\)/g)].map(found => found[1]!)
    expect(linked.filter(path => !existsSync(path))).toEqual([])
    expect(linked.filter(path => !files.includes(path.split('/')[0]!))).toEqual([])
  })
})
