/** A received request as code of other tools: each form sends the same request. */
import { execFile, execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { run } from '../../../src/cli/commands/run.ts'
import { createSimulator } from '../../../src/index.ts'
import { commandOutput } from '../../cli/command-output.ts'
import { running } from '../../server/http/running-server.ts'
import { batchFile } from '../../setup/batches.ts'
import { temporaryFolder } from '../../setup/temporary-folder.ts'

const json = { 'content-type': 'application/json' }
const AsyncFunction = (async () => {}).constructor as new (
  ...names: string[]
) => (...values: unknown[]) => Promise<unknown>

const REQUESTS = [
  {
    method: 'POST',
    path: '/deploy/llm',
    body: { model_name: "acme/it's", gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } },
  },
  { method: 'GET', path: '/deploy/unknown?x=$HOME' },
  { method: 'POST', path: '/unknown/path', body: [1, 'two'] },
  { method: 'PUT', path: '/deploy/other', body: JSON.parse('{"__proto__":{"a":1},"b":2}') },
  { method: 'PUT', path: '/deploy/unknown', body: { quote: `"\`\${x}\`` }, headers: { 'x-note': "it's" } },
]

test.each(REQUESTS)(
  '$method $path is sent again by its curl, fetch, vitest and scenario step',
  async ({ method, path, body, headers }) => {
    const server = await running({ fixtures: 'two-nodes' })
    const { sim, ask, command } = server
    await command('/_sim/past')
    const first = await ask(path, {
      method,
      headers: { ...json, ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const { seq } = sim.requests.at(-1)!
    const { code } = (await command(`/_sim/requests/${seq}`, undefined, 'GET')).body
    expect(Object.keys(code)).toEqual(['curl', 'fetch', 'vitest', 'pytest', 'scenario step'])
    const sent = () => {
      const { operation, body, path, method } = sim.requests.at(-1)!
      return { operation, body: JSON.stringify(body), path, method }
    }
    const original = sent()

    await promisify(execFile)('sh', ['-c', code.curl], { env: { ...process.env, TOKEN: sim.token } })
    expect([sim.requests.length, sent()]).toEqual([2, original])
    process.env.TOKEN = sim.token
    onTestFinished(() => {
      delete process.env.TOKEN
    })
    await new AsyncFunction(code.fetch)()
    expect([sim.requests.length, sent()]).toEqual([3, original])

    const own = createSimulator({ fixtures: 'two-nodes' })
    const tests: { title: string; run: () => Promise<void> }[] = []
    const declare = (title: string, run: () => Promise<void>) => tests.push({ title, run })
    await new AsyncFunction('createSimulator', 'expect', 'test', code.vitest.replaceAll(/^import .*$/gm, ''))(
      () => own,
      expect,
      declare,
    )
    await tests[0]!.run()
    expect(own.requests.map(({ operation, body }) => [operation, JSON.stringify(body)])).toEqual([
      [original.operation, original.body],
    ])

    const folder = temporaryFolder()
    writeFileSync(
      join(folder, 'one.yaml'),
      `title: one request\ngiven: { fixtures: two-nodes }\nsteps:\n${code['scenario step'].replaceAll(/^/gm, '  ')}\n`,
    )
    const { written, output } = commandOutput()
    const result = await run({ scenarios: ['one.yaml'], update: true }, { ...output, folder })
    expect([result, written.error, first.status]).toEqual([0, '', first.status])
    execFileSync('python3', ['-c', 'import ast, sys; ast.parse(sys.stdin.read())'], { input: code.pytest })
  },
)

test('a request without a token is sent again without one', async () => {
  const { sim, server, command } = await running({ fixtures: 'two-nodes' })
  await command('/_sim/past')
  await fetch(`${server.url}/deploy/list`)
  const { status, seq } = sim.requests.at(-1)!
  expect([status, sim.requests.at(-1)!.client]).toEqual([401, ''])
  const { code } = (await command(`/_sim/requests/${seq}`, undefined, 'GET')).body
  await promisify(execFile)('sh', ['-c', code.curl])
  await new AsyncFunction(code.fetch)()
  expect(sim.requests.map(each => each.status)).toEqual([status, status, status])
  expect(`${code.vitest}${code.pytest}`).not.toMatch(/authorization|sim\.call/i)
  expect(code['scenario step']).toContain('headers: {"authorization":null}')
})

test('copied fetch says that TOKEN is missing, and sends nothing', async () => {
  const { sim, ask, command } = await running({ fixtures: 'two-nodes' })
  await ask('/deploy/list')
  const { code } = (await command(`/_sim/requests/${sim.requests.at(-1)!.seq}`, undefined, 'GET')).body
  await expect(new AsyncFunction(code.fetch)()).rejects.toThrow(
    'Failed to send the request: the variable TOKEN is not set. Set it to the API token of the client.',
  )
  expect(sim.requests).toHaveLength(1)
})

test('copied tests begin with the fixture and the seed of the world', async () => {
  const { sim, ask, command } = await running({ fixtures: 'two-nodes', seed: 7 })
  await ask('/deploy/unknown')
  const { code } = (await command(`/_sim/requests/${sim.requests.at(-1)!.seq}`, undefined, 'GET')).body
  expect(code.vitest).toContain('createSimulator({ fixtures: "two-nodes", seed: "7" })')
  expect(code.pytest).toContain('@pytest.mark.sim(fixtures="two-nodes", seed="7")')
  expect(code.pytest).toContain('assert refusal.value.status == 404')
})

test('a request without a past has code too, and one whose body is not whole has none', async () => {
  const { sim, ask, command } = await running({ fixtures: 'two-nodes' })
  const codeOf = async () => (await command(`/_sim/requests/${sim.requests.at(-1)!.seq}`, undefined, 'GET')).body.code
  await ask('/deploy/list')
  expect((await codeOf()).curl).toContain('/deploy/list')
  await ask('/deploy/llm', { method: 'POST', headers: json, body: JSON.stringify({ model_name: 'x'.repeat(70_000) }) })
  expect(await codeOf()).toEqual({})
  await command('/_sim/past')
  await ask('/v1/files', { method: 'POST', body: batchFile(new Uint8Array([255, 254])) })
  expect(await codeOf()).toEqual({})
})
