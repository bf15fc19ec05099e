/** The README is run: every block of code in it, as printed. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { blocksOf, blockWith, ReaderFolder } from './page-blocks.ts'

const SCRATCH = resolve('.tmp/readme')
const readme = readFileSync('README.md', 'utf8')
const blocks = blocksOf('README.md')
const world = blockWith(blocks, 'const get = ')
const folder = ReaderFolder.ofTests()

afterAll(() => {
  rmSync(SCRATCH, { recursive: true, force: true })
})

describe('the README', () => {
  test('has the blocks that are run below, and no other', () => {
    expect(blocks.map(({ language, opening }) => `${language} ${opening}`)).toEqual([
      'sh npm ci && npm start -- --clock manual',
      'sh SIM=127.0.0.1:4010 AUTH="Authorization: Bearer sim_default_token"',
      "ts import { createSimulator } from 'modelhost-sim'",
      "ts sim.faults.add({ on: 'createLlmDeployment', times: 1, fault: { kind: 'reset', effect: 'done' } })",
      "ts sim.faults.add({ on: 'listDeployments', nth: 3, fault: { kind: 'status', status: 503 } })",
      "ts import { expect, test } from 'modelhost-sim/vitest'",
      "ts for (const step of ['10s', '10s', '30s']) {",
      "ts import { createSimulator } from 'modelhost-sim'",
      "ts import { scenario } from 'modelhost-sim/scenario'",
      "ts import type { FlowContext } from 'modelhost-sim/explore'",
    ])
    for (const { code } of blocks) expect(code.trim().split('\n').length).toBeLessThanOrEqual(10)
  })

  test('has at most 130 lines', () => {
    expect(readme.trimEnd().split('\n').length).toBeLessThanOrEqual(130)
  })

  test('starts and tests a fresh clone with scripts that the package has', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> }
    expect(scripts.start).toBe('node bin/modelhost-sim.js serve')
    // The bundle of the first start.
    expect(scripts.prepare).toBe('node bin/modelhost-sim.js --version')
    expect(scripts.test).toBe('vitest run --project in-process --tags-filter !slow')
    expect(readFileSync('.ci/install', 'utf8')).toContain('npm ci')
    expect(readFileSync('.ci/run', 'utf8')).toMatch(/npm run check\n\.ci\/suites test test:slow test:e2e\n$/)
    expect(readFileSync('.ci/nightly', 'utf8')).toMatch(/\.ci\/suites test test:slow test:e2e test:long\n$/)
    for (const name of ['check', 'test', 'test:slow', 'test:e2e', 'test:long', 'test:twice'])
      expect(scripts).toHaveProperty(name)
  })

  test('bills the deployment that was created for two hours and its start, and moves the clock of a server', async () => {
    const address = await folder.server(['serve', ...blocks[0]!.code.trim().split(' ').slice(6)])
    const lines = blockWith(blocks, 'AUTH=')
    const printed = await folder.shell(lines, address)
    const deploy_id = /"deploy_id":"(\w+)"/.exec(printed)![1]!
    const rent = JSON.parse(/\{"id_to_duration".*\}/.exec(printed)![0]) as { id_to_duration: Record<string, number> }
    expect(printed).toContain(`"deploy_id":"${deploy_id}","model_name":"acme/chat"`)
    expect(rent.id_to_duration[deploy_id]).toBeGreaterThanOrEqual(7200)
    expect(rent.id_to_duration[deploy_id]).toBeLessThan(7200 + 1800)
    expect(printed).toContain('"reached":true')
    const day = /`(curl \$SIM[^`]*24h[^`]*)`/.exec(readme)![1]!
    const moved = JSON.parse(await folder.shell(`${lines.split('\n')[0]}\n${day}`, address)) as {
      from: string
      to: string
    }
    expect(Date.parse(moved.to) - Date.parse(moved.from)).toBe(24 * 3_600_000)
  })

  test('loses the answer of a request that did its work, and crashes a node', async () => {
    const printed = await folder.script(`${world}${blockWith(blocks, "kind: 'reset'")}
      const headers = { authorization: \`Bearer \${sim.token}\`, 'content-type': 'application/json' }
      const body = JSON.stringify({ model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
      const create = () => sim.fetch('http://sim/deploy/llm', { method: 'POST', headers, body })
      console.log(await create().catch(error => error.cause.code), (await create()).status)
      console.log(sim.journal.entries().some(entry => entry.kind === 'node.crashed'))`)
    expect(printed).toBe('ECONNRESET 409\ntrue\n')
  })

  test('fails exactly the third call', async () => {
    const printed = await folder.script(world + blockWith(blocks, 'nth: 3'))
    expect(printed.trim().split('\n').join(', ')).toBe(/\/\/ (.*)/.exec(blockWith(blocks, 'nth: 3'))![1])
  })

  test('shows a batch that progresses', async () => {
    const batch = blockWith(blocks, "['10s'")
    const printed = await folder.script(world + batch)
    expect(printed.trim().split('\n').join(', ')).toBe(/\/\/ (.*)/.exec(batch)![1])
  })

  describe('gives each test a world', async () => {
    mkdirSync(SCRATCH, { recursive: true })
    const file = join(SCRATCH, 'world-per-test.ts')
    writeFileSync(file, blockWith(blocks, 'modelhost-sim/vitest'))
    await import(/* @vite-ignore */ file)
  })

  test('runs the deployment that was arranged after ten minutes, behind MSW', async () => {
    const printed = await folder.script(blockWith(blocks, 'modelhost-sim/msw'))
    expect(printed).toContain("model_name: 'acme/chat'")
    expect(printed).toContain("status: 'running'")
    expect(printed.match(/deploy_id/g)).toHaveLength(1)
  })

  test('plays a scenario in which no GPU comes and the deployment waits', async () => {
    folder.write('no-gpu.ts', blockWith(blocks, 'modelhost-sim/scenario'))
    const command = /`(npx modelhost-sim run no-gpu\.ts --update)`/.exec(readme)![1]!
    const { stdout, code } = await folder.command(command)
    expect([stdout, code]).toEqual([expect.stringContaining('no GPU comes'), 0])
    expect(folder.read('no-gpu.trace')).toContain('pool.stockedOut')
  })

  test('finds what breaks a client that deploys', async () => {
    folder.write('client.ts', blockWith(blocks, 'FlowContext'))
    folder.write(
      'deploy.ts',
      `export async function deploy({ fetch, url, token }) {
         const body = JSON.stringify({ model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
         const init = { method: 'POST', headers: { authorization: \`Bearer \${token}\` }, body }
         const answer = await fetch(\`\${url}/deploy/llm\`, init)
         if (!answer.ok) throw new Error(\`\${answer.status}\`)
         return answer.json()
       }`,
    )
    const command = /`(npx modelhost-sim explore client\.ts)`/.exec(readme)![1]!
    const { stdout, code } = await folder.command(`${command} --faults singles --fixtures empty`)
    expect([stdout, code]).toEqual([expect.stringContaining('noLeak@createLlmDeployment/error'), 1])
  })

  test('reports a week of a fleet without clients, with a row an hour and deployment, and draws it', async () => {
    const command = /`(npx modelhost-sim simulate [^`]*)`/.exec(readme)![1]!
    const { stdout } = await folder.command(`${command} --step 1h --series week.csv`)
    expect(stdout).toContain('to 2026-01-08T00:00:00Z (7d)')
    expect(folder.read('week.csv').trimEnd().split('\n')).toHaveLength(1 + 7 * 24 * 13)
    expect(folder.read('week.svg')).toBe(readFileSync('docs/figures/week.svg', 'utf8'))
  })

  test('names no page that the package would not hold', () => {
    const { files } = JSON.parse(readFileSync('package.json', 'utf8')) as { files: string[] }
    const linked = [...readme.matchAll(/\]\(([\w./-]+)\)/g)].map(found => found[1]!)
    expect(linked.filter(path => !existsSync(path))).toEqual([])
    expect(linked.filter(path => !files.includes(path.split('/')[0]!))).toEqual([])
  })
})
