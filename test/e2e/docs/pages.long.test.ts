/** The how-to pages are run: every block of code in them, and what they say of the worlds of the package. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { transformSync } from 'esbuild'
import { afterAll, describe, expect, test } from 'vitest'
import { createSimulator } from '../../../src/simulator/simulator.ts'
import { startBatch } from '../../setup/batches.ts'
import { type Block, blocksOf, blockWith, ReaderFolder } from './page-blocks.ts'

const withoutTypes = (code: string) => transformSync(code, { loader: 'ts', target: 'node20.19' }).code
const SCRATCH = resolve('.tmp/pages')
const openings = (blocks: readonly Block[]) => blocks.map(({ language, opening }) => `${language} ${opening}`)
const folder = ReaderFolder.ofTests()

afterAll(() => {
  rmSync(SCRATCH, { recursive: true, force: true })
})

describe('docs/clients.md', async () => {
  const blocks = blocksOf('docs/clients.md')

  test('has the blocks that are run below, and no other', () => {
    expect(openings(blocks)).toEqual([
      "ts import { createSimulator } from 'modelhost-sim'",
      // test/service/openai/other-suites.test.ts reads the profile, and sends what such suites send.
      'json {',
      'sh npx modelhost-sim serve --profile suite.json --clock idle',
      "ts import { createSimulator } from 'modelhost-sim'",
      // This one runs in a page, in test/e2e/transports/page.long.test.ts.
      "js import { createSimulator } from 'modelhost-sim'",
      "ts import { expect, test } from 'modelhost-sim/vitest'",
      'sh npx modelhost-sim exec -- npm test',
      'sh npx modelhost-sim serve --clock manual',
      'sh export $(npx modelhost-sim env)',
    ])
  })

  test('connects the openai package, and a client behind MSW', async () => {
    expect(await folder.script(blockWith(blocks, "from 'openai'"))).toBe('true\n')
    expect(await folder.script(blockWith(blocks, 'setupServer'))).toBe('[]\n')
  })

  mkdirSync(SCRATCH, { recursive: true })
  const file = join(SCRATCH, 'clients-vitest.ts')
  writeFileSync(file, blockWith(blocks, 'modelhost-sim/vitest'))
  await import(/* @vite-ignore */ file)

  test('runs the tests of a project with a server, and ends with their exit code', async () => {
    const code =
      "fetch(process.env.MODELHOST_SIM_URL + '/_sim/health').then(({ status }) => process.exit(status - 193))"
    writeFileSync(join(folder.path, 'package.json'), JSON.stringify({ scripts: { test: `node -e "${code}"` } }))
    expect((await folder.command(blockWith(blocks, 'exec').trim())).code).toBe(7)
  })

  test('sets the environment that it names for the server that it starts', async () => {
    const address = await folder.server(blockWith(blocks, '--clock manual').trim().split(' ').slice(2))
    const command = /\((.*)\)/.exec(blockWith(blocks, 'export $'))![1]!
    const { stdout } = await folder.command(`${command} --port ${address.split(':')[1]}`)
    const variables = stdout.trim().split('\n')
    const page = readFileSync('docs/clients.md', 'utf8')
    expect(variables.filter(line => !page.includes(`\`${line.split('=')[0]}\``))).toEqual([])
    const { MODELHOST_SIM_URL: url, MODELHOST_SIM_TOKEN: token } = Object.fromEntries(
      variables.map(line => line.split('=')),
    )
    const answer = await fetch(`${url}/deploy/list`, { headers: { authorization: `Bearer ${token}` } })
    expect(answer.status).toBe(200)
  })
})

describe('docs/configuration.md', () => {
  const blocks = blocksOf('docs/configuration.md')

  test('has the blocks that are run below, and no other', () => {
    expect(openings(blocks)).toEqual([
      // test/e2e/cli/init.long.test.ts runs it in a project of each runner.
      'sh npx modelhost-sim init',
      'yaml # yaml-language-server: $schema=./node_modules/modelhost-sim/dist/schemas/config.schema.json',
      "ts import { defineConfig } from 'modelhost-sim'",
      'sh npx modelhost-sim simulate --seed 8 --print-config',
      'sh npx modelhost-sim --completion bash',
    ])
  })

  test.each([
    ['yaml', 'fixtures: two-nodes'],
    ['ts', 'defineConfig'],
  ])('gives values to flags from a file in %s', async (ending, text) => {
    const file = join(folder.path, `modelhost-sim.config.${ending}`)
    writeFileSync(file, blockWith(blocks, text))
    const { stdout } = await folder.command(blockWith(blocks, '--print-config').trim())
    rmSync(file)
    expect(stdout).toMatch(/^fixtures +two-nodes +fixtures in modelhost-sim\.config\./m)
    expect(stdout).toMatch(/^seed +8 +command line$/m)
  })

  test('prints a script for a shell', async () => {
    const { stdout } = await folder.command(blockWith(blocks, '--completion').trim())
    expect(stdout).toContain('complete -o bashdefault')
  })
})

test('docs/own-endpoints.md: each block runs, in the order of the page', async () => {
  const blocks = blocksOf('docs/own-endpoints.md')
  expect(blocks.map(({ language }) => language)).toEqual(['ts', 'ts', 'ts', 'ts'])
  const [pods, use, config, explored] = blocks.map(({ code }) => code)
  folder.write('pods.ts', pods!)
  folder.write('pods.js', withoutTypes(pods!))
  const script = (code: string) => folder.script(withoutTypes(code).replace('./pods.ts', './pods.js'))
  expect(await script(use!)).toBe('RUNNING\n')
  expect(await script(explored!)).toContain('The pod pod_')
  const file = folder.write('modelhost-sim.config.ts', config!)
  const ask = `fetch(process.env.MODELHOST_SIM_URL + '/rest/v1/pods/x').then(({ status }) => process.exit(status - 400))`
  folder.write('ask.mjs', ask)
  expect((await folder.command('npx modelhost-sim exec -- node ask.mjs')).code).toBe(1)
  rmSync(file)
})

describe('docs/clock.md', () => {
  const blocks = blocksOf('docs/clock.md')

  test('has the blocks that are run below, and no other', () => {
    expect(openings(blocks)).toEqual([
      "ts import { createSimulator } from 'modelhost-sim'",
      "ts const isOver = () => sim.journal.entries().some(entry => entry.kind === 'batch.completed')",
      "ts const release = sim.clock.pause('debugger')",
      'ts vi.useFakeTimers()',
    ])
  })

  test('sets, moves and holds the clock', async () => {
    const code = blocks.slice(0, 3).map(block => block.code)
    const printed = await folder.script(`${code.join('')}console.log(isOver(), sim.clock.pausedBy, sim.clock.mode)`)
    expect(printed).toBe("[ 'debugger' ]\ntrue [] manual\n")
  })

  test('runs a client that polls for a day on fake timers', async () => {
    const client = `
      import { createSimulator } from 'modelhost-sim'
      import FakeTimers from '@sinonjs/fake-timers'
      const toFake = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance']
      const vi = { useFakeTimers: () => FakeTimers.install({ toFake }) }
      let polls = 0
      async function pollUntilCompleted(sim) {
        for (;;) {
          polls++
          const headers = { authorization: \`Bearer \${sim.token}\` }
          const { data } = await (await sim.fetch('http://sim/v1/batches', { headers })).json()
          if (data.every(batch => batch.status === 'completed')) return
          await new Promise(resolve => setTimeout(resolve, 5000))
        }
      }`
    const printed = await folder.script(`${client}\n${blocks[3]!.code}\nconsole.log(polls > 1)`)
    expect(printed).toBe('true\n')
  })
})

describe('docs/worlds.md', () => {
  const page = readFileSync('docs/worlds.md', 'utf8')
  const blocks = blocksOf('docs/worlds.md')

  test('has the blocks that are run below, and no other', () => {
    expect(openings(blocks)).toEqual([
      'sh npx modelhost-sim serve --clock manual',
      `sh curl --json '{"fixtures":"two-nodes","seed":7,"clock":"manual"}' 127.0.0.1:4010/_sim/worlds`,
      'json {',
      'sh npx modelhost-sim serve --clock manual --unknown-tokens fork',
      'sh curl -X POST 127.0.0.1:4010/_sim/past',
      `sh curl --json '{"by":"10m"}' 127.0.0.1:4010/_sim/clock/advance`,
      `sh curl --json '{"from":"default","at":"9m"}' 127.0.0.1:4010/_sim/worlds`,
      `sh curl '127.0.0.1:4010/_sim/worlds/w1/_sim/differences?with=default'`,
    ])
  })

  test('goes back to the past of a world', async () => {
    const address = await folder.server(['serve', '--clock', 'manual'])
    const answers: string[] = []
    for (const { code } of blocks.slice(4)) answers.push(await folder.shell(code, address))
    expect(JSON.parse(answers[0]!)).toMatchObject({ kept: true, kept_part: { from_start: true } })
    expect(JSON.parse(answers[3]!)).toMatchObject({
      ...{ world: 'w1', with: 'default', equal: false, same_time: true },
      diverged: { before: { kind: 'node.crashed', subject: 'h100-0' }, after: null },
    })
  })

  test('makes a world on a server, with the answer that it shows', async () => {
    const address = await folder.server(blocks[0]!.code.trim().split(' ').slice(2))
    const answer = JSON.parse(await folder.shell(blocks[1]!.code, address)) as { base_url: string; token: string }
    expect(answer).toEqual(JSON.parse(blocks[2]!.code.replace('127.0.0.1:4010', address)))
    const ask = async (url: string, token: string) =>
      (await fetch(`${url}/deploy/list`, { headers: { authorization: `Bearer ${token}` } })).status
    expect(await ask(`http://${address}`, answer.token)).toBe(200)
    expect(await ask(answer.base_url, 'sim_two_nodes_token')).toBe(200)
    expect(await ask(`http://${address}`, 'sim_two_nodes_token')).toBe(401)
  })

  test('gives each unknown token a world', async () => {
    const address = await folder.server(blocks[3]!.code.trim().split(' ').slice(2))
    for (const worker of ['worker-1', 'worker-2']) {
      const headers = { authorization: `Bearer ${worker}` }
      expect((await fetch(`http://${address}/deploy/list`, { headers })).status).toBe(200)
    }
    expect(await (await fetch(`http://${address}/_sim/worlds`)).json()).toHaveLength(3)
  })

  test('describes each world of the package as it is', async () => {
    const rows = [...page.matchAll(/^\| `([a-z-]+)` \| `(\w+)` \| (.*?) \|$/gm)]
    expect(rows.map(([, fixtures]) => fixtures).sort()).toEqual(readdirSync('fixtures/worlds').sort())
    for (const [, fixtures, token, gpus] of rows) {
      const sim = createSimulator({ fixtures: fixtures! })
      const types = new Map<string, { free: number; gpus: number }>()
      for (const node of sim.cluster.nodes()) {
        const type = node.gpu.split('-')[0]!
        const { free, gpus } = types.get(type) ?? { free: 0, gpus: 0 }
        types.set(type, { free: free + node.free, gpus: gpus + node.gpus })
      }
      const shown = [...types]
        .filter(([, { free }]) => free > 0)
        .map(([type, { free, gpus }]) => `${free} of ${gpus} ${type}`)
      expect([fixtures, sim.token]).toEqual([fixtures, token])
      expect([fixtures, gpus!.split(', ').sort()]).toEqual([fixtures, shown.length === 0 ? ['none'] : shown.sort()])
    }
    const sim = createSimulator()
    const count = async (path: string) => {
      const answer = await sim.fetch(`http://sim${path}`, { headers: { authorization: `Bearer ${sim.token}` } })
      return ((await answer.json()) as unknown[]).length
    }
    expect([await count('/deploy/list'), await count('/models/deployment/list')]).toEqual([9, 53])
    expect(page).toContain('53 models, eight deployments in different states and a deleted one, two batches')
  })

  test('gives the GPU quotas of each world, which are lower than what is free', async () => {
    const quotasOf = async (fixtures: string) => {
      const { fetch, token, world } = createSimulator({ fixtures })
      const headers = { authorization: `Bearer ${token}` }
      const { limits } = (await (await fetch('http://sim/v1/me/gpu_limit', { headers })).json()) as {
        limits: Record<string, number>
      }
      return { limits, held: world.gpuQuotas.held('H100-80GB') }
    }
    const [usual, empty, full, nodes, fleet] = await Promise.all(
      ['default', 'empty', 'full', 'two-nodes', 'fleet'].map(quotasOf),
    )
    for (const { limits } of [empty!, full!]) expect([...new Set(Object.values(limits))]).toEqual([4])
    const eights = Object.keys(usual!.limits).filter(gpu => usual!.limits[gpu] === 8)
    expect(eights.sort()).toEqual(['A100-80GB', 'H200-141GB', 'L4-24GB', 'L40S-48GB'])
    expect([usual!.limits['H100-80GB'], usual!.held]).toEqual([4, 2])
    expect(nodes!.limits['H100-80GB']).toBe(16)
    for (const gpu of ['H100-80GB', 'A100-80GB', 'L40S-48GB']) expect(fleet!.limits).not.toHaveProperty(gpu)
    const quotas = page.slice(page.indexOf('**GPU quotas.**'))
    expect(quotas).toContain('(4 GPUs for each type that is not listed)')
    expect(quotas).toContain('| `default` | 8 L4, 8 L40S, 8 A100 and 8 H200. Of its 4 H100, 2 are in use |')
    expect(quotas).toContain('| `two-nodes` | 16 H100 |')
    expect(quotas).toContain('| `fleet` | no quota for H100, A100 and L40S |')
  })
})

describe('docs/snapshots.md', () => {
  const blocks = blocksOf('docs/snapshots.md')

  test('has the blocks that are run below, and no other', () => {
    expect(openings(blocks)).toEqual([
      "ts import { createSimulator } from 'modelhost-sim'",
      "ts import { createSimulator, loadSnapshot, saveSnapshot } from 'modelhost-sim'",
      `sh curl --json '{"name":"before-the-storm"}' 127.0.0.1:4010/_sim/snapshots`,
      'sh curl -X POST 127.0.0.1:4010/_sim/snapshots/before-the-storm/restore',
      `sh curl --json '{"snapshot":"before-the-storm"}' 127.0.0.1:4010/_sim/worlds`,
      'sh curl -o before.snapshot 127.0.0.1:4010/_sim/snapshots/before-the-storm/export',
      'sh npx modelhost-sim fixture save before.snapshot',
    ])
  })

  test('restores a world in which the crash never happened', async () => {
    const printed = await folder.script(`${blocks[0]!.code}console.log(sim.digest === before.digest)`)
    expect(printed).toBe('true\n')
  })

  test('continues from a file', async () => {
    expect(await folder.script(blocks[1]!.code)).toBe('true\n')
  })

  test('saves, restores, moves and serves a world of a server', async () => {
    const address = await folder.server(['serve', '--clock', 'manual'])
    for (const { code } of blocks.slice(2, 6)) await folder.shell(code, address)
    const [save, restore, serve] = blocks[6]!.code.trim().split('\n')
    expect(await folder.command(`${save} --url http://${address}`)).toMatchObject({ code: 0 })
    expect(await folder.command(`${restore} --url http://${address}`)).toMatchObject({ code: 0 })
    expect(folder.read('before.snapshot').split('\n', 3)).toHaveLength(3)
    await folder.server(serve!.split(' ').slice(2))
  })
})

describe('docs/names.md', () => {
  const blocks = blocksOf('docs/names.md')
  const profile = blockWith(blocks, 'acme-ai')

  test('has the blocks that are run below, and no other', () => {
    expect(openings(blocks)).toEqual([
      'json {',
      'sh npx modelhost-sim serve --names names.json',
      'sh curl 127.0.0.1:4010/openapi.json',
      "ts import { createSimulator } from 'modelhost-sim'",
      // Fields in one place, aliases, and lines of batches.
      'json {',
      'json {',
      'json {',
      "text Failed to read the names 'names.json': fields.hbu: unknown word. Did you mean 'hub'?",
    ])
  })

  test('lists the endpoints under their new paths, and answers there', async () => {
    folder.write('names.json', profile)
    const address = await folder.server(blocks[1]!.code.trim().split(' ').slice(2))
    expect(await folder.shell(blocks[2]!.code, address)).toContain('/v1/machines')
    expect(await folder.script(blocks[3]!.code)).toBe('200\n')
  })

  test('shows the message of a typo', async () => {
    folder.write('names.json', profile.replace('"hub":', '"hbu":'))
    const { stderr, code } = await folder.command(blocks[1]!.code)
    expect([stderr.trim(), code]).toEqual([blockWith(blocks, 'Failed to read').trim(), 2])
  })

  test('names the lines of batches', async () => {
    const names = JSON.parse(blockWith(blocks, 'BatchResultLine.response'))
    const sim = createSimulator({ names })
    const client = { headers: { authorization: `Bearer ${sim.token}` } }
    const body = { model: 'aurora-labs/aurora-8b-instruct', messages: [{ role: 'user', content: 'Hello' }], limit: 3 }
    const line = { key: 'a', method: 'POST', url: '/v2/talk', body }
    const batch = await startBatch(sim, [line])
    await sim.clock.advance('24h')
    const { output_file_id } = await (await sim.fetch(`http://sim/v1/batches/${batch.id}`, client)).json()
    const output = await sim.fetch(`http://sim/v1/files/${output_file_id}/content`, client)
    const { key, reply } = await output.json()
    expect([key, reply.endpoint, reply.body.usage.completion_tokens]).toEqual(['a', '/v2/talk', 3])
  })

  test('names fields in one place, and serves aliases', async () => {
    const names = {
      ...JSON.parse(blockWith(blocks, 'createLlmDeployment.gpu')),
      ...JSON.parse(blockWith(blocks, 'catalog')),
    }
    const sim = createSimulator({ names })
    const headers = { authorization: `Bearer ${sim.token}` }
    const create = {
      method: 'POST',
      headers,
      body: JSON.stringify({ model_name: 'acme/chat-8b', machine: 'H100-80GB' }),
    }
    const created = await (await sim.fetch('http://sim/machines', create)).json()
    expect(created).toMatchObject({ id: expect.any(String), status: 'booting', config: { accelerator: 'H100-80GB' } })
    const model = await sim.fetch('http://sim/catalog/aurora-labs/aurora-8b-instruct', { headers })
    expect(await model.json()).toMatchObject({ model_name: 'aurora-labs/aurora-8b-instruct' })
    const schema = await sim.fetch('http://sim/catalog/aurora-labs/aurora-8b-instruct/input', { headers })
    expect(await schema.json()).toMatchObject({ variant: { key: 'default' } })
  })

  test('shows all mistakes of the first stage that fails', () => {
    const problemsOf = (names: object) => {
      try {
        createSimulator({ names })
      } catch (error) {
        return (error as Error).message
      }
      return ''
    }
    const both = problemsOf({ fields: { hbu: 'x' }, paths: { hosted: 'files' } })
    expect(both).toContain('fields.hbu')
    expect(both).not.toContain('paths.hosted')
    const conflicts = problemsOf({ fields: { hub: 'gpu' }, paths: { hosted: 'files' } })
    expect(conflicts).toContain('fields.hub')
    expect(conflicts).toContain('paths.hosted')
  })
})

describe('docs/conform.md', () => {
  const blocks = blocksOf('docs/conform.md')
  const PROVIDER = {
    openapi: '3.0.3',
    info: { title: 'Cloud of another', version: '7' },
    paths: {
      '/v1/voices': {
        get: {
          parameters: [{ name: 'language', in: 'query', schema: { type: 'string' } }],
          responses: {
            200: {
              description: 'The voices',
              content: {
                'application/json': {
                  schema: {
                    type: 'object',
                    properties: { voices: { type: 'array', items: { $ref: '#/components/schemas/Voice' } } },
                  },
                },
              },
            },
          },
        },
      },
    },
    components: { schemas: { Voice: { type: 'object', properties: { created_at: { type: 'string' } } } } },
  }

  test('has the blocks that are run below, and no other', () => {
    expect(openings(blocks)).toEqual([
      'sh npx modelhost-sim conform --openapi provider.yaml --names names.json',
      'text break    GET /v1/voices: answer 200, voices[].created_at (type)',
    ])
  })

  test('shows differences and the summary of a document, and the exit codes', async () => {
    folder.write('provider.yaml', JSON.stringify(PROVIDER))
    folder.write('names.json', '{}')
    const { stdout, code } = await folder.command(blocks[0]!.code)
    const printed = stdout.split('\n')
    expect(
      blocks[1]!.code
        .trim()
        .split('\n')
        .filter(line => !printed.includes(line)),
    ).toEqual([])
    expect(code).toBe(1)
    expect(await folder.command(blocks[0]!.code.replace('provider.yaml', 'missing.yaml'))).toMatchObject({ code: 2 })
    const json = await folder.command(`${blocks[0]!.code.trim()} --json`)
    expect(Object.keys(JSON.parse(json.stdout) as object).sort()).toEqual(
      ['findings', 'operations', 'served', 'requests', 'answers', 'beyond'].sort(),
    )
  })
})

describe('docs/plots.md', () => {
  const blocks = blocksOf('docs/plots.md')

  test('has the blocks that are run below, and no other', () => {
    expect(openings(blocks)).toEqual([
      'sh npx modelhost-sim simulate --for 7d --plot week.svg',
      'json [',
      'sh npx modelhost-sim simulate --for 1d --commands zone-outage.json --plot zone-outage.svg',
    ])
  })

  test('draws its pictures by the commands that it shows', async () => {
    writeFileSync(join(folder.path, 'zone-outage.json'), blocks[1]!.code)
    for (const block of [blocks[0]!, blocks[2]!]) {
      await folder.command(block.code)
      const name = block.code.trim().split(' ').at(-1)!
      const drawn = readFileSync(join(folder.path, name), 'utf8')
      expect(drawn === readFileSync(`docs/figures/${name}`, 'utf8'), name).toBe(true)
    }
  })
})
