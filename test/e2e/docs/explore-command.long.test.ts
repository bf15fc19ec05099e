/** docs/explore-command.md: its blocks run, and its tables are those of the code. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createCommandRunner } from '../../../src/workbench/explore/command/command-runner.ts'
import { commandFlow } from '../../../src/workbench/explore/declare-flow.ts'
import { temporaryFolder } from '../../setup/temporary-folder.ts'
import { blocksOf, blockWith } from './page-blocks.ts'

const blocks = blocksOf('docs/explore-command.md')
const page = readFileSync('docs/explore-command.md', 'utf8')
const hasPython = spawnSync('python3', ['--version']).status === 0

test('the page has the blocks that are run below, and no other', () => {
  expect(blocks.map(({ language, opening }) => `${language} ${opening}`)).toEqual([
    'sh python3 -m venv .venv',
    "sh cat > client.sh <<'END'",
    "sh npx modelhost-sim explore -- sh -c 'SERVICE_URL=$MODELHOST_URL SERVICE_TOKEN=$MODELHOST_TOKEN exec python3 client.py'",
    'sh npx modelhost-sim explore -- python3 -m modelhost_sim.run client.py',
    'sh PATH="$PWD/node_modules/modelhost-sim/clients/shell:$PATH" npx modelhost-sim explore -- bash client.sh',
    "sh npx modelhost-sim explore -- sh -c 'SERVICE_URL=$MODELHOST_URL SERVICE_TOKEN=$MODELHOST_TOKEN exec python3 -m modelhost_sim.run client.py'",
    `sh PATH="$PWD/node_modules/modelhost-sim/clients/shell:$PATH" npx modelhost-sim explore -- sh -c 'SERVICE_URL=$MODELHOST_URL SERVICE_TOKEN=$MODELHOST_TOKEN exec bash client.sh'`,
    'python def sleep(seconds):',
    'bash pause() {',
    'sh TIMEOUT_SECONDS=2 npx modelhost-sim explore --fixtures empty -- python3 deploy.py acme/chat',
  ])
  expect(readFileSync('clients/python/example/deploy.py', 'utf8')).toContain(blockWith(blocks, 'def sleep'))
  expect(readFileSync('clients/python/example/README.md', 'utf8')).toContain(blockWith(blocks, 'explore --fixtures'))
})

test.skipIf(!hasPython)('its command deploys a model, and moves the time of its world itself', async () => {
  const [, command = ''] = blockWith(blocks, 'explore --fixtures').trim().split(' -- ')
  const flow = commandFlow(command.split(' '), { options: { fixtures: 'empty' }, cwd: 'clients/python/example' })
  const runner = createCommandRunner(flow, { env: { ...process.env, TIMEOUT_SECONDS: '2' } })
  onTestFinished(() => runner.dispose())
  const rateLimit = { on: 'getDeployment', nth: 1, fault: { kind: 'rateLimit', retryAfter: '20s' } } as const
  const result = await runner.run([{ fault: rateLimit }])
  expect(result).toMatchObject({ end: 'returned', broken: [] })
  const [, , limited, next] = result.requests
  expect([limited!.status, next!.sentAt - limited!.endedAt!]).toEqual([429, 20e6])
})

test('its first client of a shell leaves a deployment behind', async () => {
  const cwd = temporaryFolder()
  const written = blockWith(blocks, 'cat > client.sh').split('PATH=')[0]!
  expect(spawnSync('bash', ['-c', written], { cwd }).status).toBe(0)
  const runner = createCommandRunner(commandFlow(['bash', 'client.sh'], { options: { fixtures: 'empty' }, cwd }))
  onTestFinished(() => runner.dispose())
  const fault = { kind: 'status', status: 503, effect: 'done' } as const
  const { broken } = await runner.run([{ fault: { on: 'createLlmDeployment', nth: 1, fault } }])
  expect(broken.map(({ signature }) => signature)).toContain('noLeak@createLlmDeployment/error')
})

test.skipIf(!hasPython).each([
  ['client.py', 1],
  ['-m modelhost_sim.run client.py', 2],
])('its shell gives a client the variables that it reads: python3 %s', async (words, reads) => {
  const cwd = temporaryFolder()
  const [, script = ''] = /'(.*)'/.exec(blockWith(blocks, `exec python3 ${words}`))!
  const calls = ['read()', 'time.sleep(600)', 'read()'].slice(0, 2 * reads - 1).join('; ')
  writeFileSync(join(cwd, 'client.py'), `${PYTHON.replaceAll('MODELHOST_', 'SERVICE_').split('begin =')[0]}${calls}`)
  const env = { ...process.env, PYTHONPATH: resolve('clients/python/src') }
  const flow = commandFlow(['sh', '-c', script], { options: { fixtures: 'empty' }, cwd })
  const runner = createCommandRunner(flow, { env })
  onTestFinished(() => runner.dispose())
  const { end, requests } = await runner.run([])
  expect([end, requests.map(({ status }) => status)]).toEqual(['returned', Array(reads).fill(200)])
})

test('its wait of a shell moves the time of the world, and prints nothing', async () => {
  const get = 'curl -sS -o /dev/null -H "Authorization: Bearer $MODELHOST_TOKEN" $MODELHOST_URL/deploy/list'
  const flow = commandFlow(['bash', '-c', `${get}\n${blockWith(blocks, 'pause()')}\n${get}`], {
    options: { fixtures: 'empty' },
  })
  const runner = createCommandRunner(flow)
  onTestFinished(() => runner.dispose())
  const { requests, base } = await runner.run([])
  expect(requests[1]!.sentAt - requests[0]!.endedAt!).toBe(5e6)
  expect([base!.end, runner.notes]).toEqual([{ kind: 'returned', result: [''] }, []])
})

/** Clients that sleep as if they were in production: they know nothing of a simulator. */
const PYTHON = `
import asyncio, json, os, time, urllib.request
def read():
    url, token = os.environ["MODELHOST_URL"] + "/deploy/list", os.environ["MODELHOST_TOKEN"]
    return urllib.request.urlopen(urllib.request.Request(url, headers={"Authorization": "Bearer " + token})).read()
begin = time.monotonic()
read(); time.sleep(600); read(); asyncio.run(asyncio.sleep(300)); read()
assert 900 <= time.monotonic() - begin < 920
`
const GET = 'curl -sS -o /dev/null -H "Authorization: Bearer $MODELHOST_TOKEN" $MODELHOST_URL/deploy/list'
const SHELL = `${GET}\nsleep 10m\n${GET}\nsleep .5 1.5 1e2 +.05h 18. && ${GET}`

test.for([
  [
    `a script in Python${hasPython ? '' : ' (skipped: there is no python3 here)'}`,
    hasPython,
    ['python3', '-m', 'modelhost_sim.run', 'client.py'],
    PYTHON,
  ],
  ['a script in a shell', true, ['bash', 'client.sh'], SHELL],
  [
    'a script in a shell with variables of its own',
    true,
    ['sh', '-c', /'(.*)'/.exec(blockWith(blocks, 'exec bash client.sh'))![1]!],
    SHELL.replaceAll('MODELHOST_', 'SERVICE_'),
  ],
] as const)('%s that sleeps moves the time of its world, unchanged', async ([, canRun, command, script], { skip }) => {
  if (!canRun) skip()
  const cwd = temporaryFolder()
  writeFileSync(join(cwd, command.at(-1)!.split(' ').at(-1)!), script)
  const env = {
    ...process.env,
    PYTHONPATH: resolve('clients/python/src'),
    PATH: `${resolve('clients/shell')}:${process.env.PATH}`,
  }
  const runner = createCommandRunner(commandFlow(command, { options: { fixtures: 'empty' }, cwd }), { env })
  onTestFinished(() => runner.dispose())
  const { requests, end } = await runner.run([])
  const waits = requests.slice(1).map(({ sentAt }, i) => sentAt - requests[i]!.endedAt!)
  expect([end, waits, runner.notes]).toEqual(['returned', [600e6, 300e6], []])
  // Without a world, the shell has the program of the system.
  if (command[0] !== 'bash') return
  const { status, stdout } = spawnSync(resolve('clients/shell/sleep'), ['0.01'], { encoding: 'utf8', env: process.env })
  expect([status, stdout]).toEqual([0, ''])
})

test.each([
  [[], 'sleep: missing operand\n'],
  [['1', '-1', '1x'], "sleep: invalid time interval '-1'\nsleep: invalid time interval '1x'\n"],
  [['1'], /^sleep: \{.*no such control endpoint.*\}\n$/],
] as const)('the sleep of a shell with %j exits with 1 and says why', async (args, message) => {
  const server = createServer((_, answer) => answer.writeHead(404).end('{"error":"no such control endpoint"}'))
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const env = { ...process.env, MODELHOST_SIM_CONTROL: `http://127.0.0.1:${port}/_sim`, LC_ALL: 'C' }
  const child = spawn(resolve('clients/shell/sleep'), args, { env, stdio: ['ignore', 'ignore', 'pipe'] })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', text => {
    stderr += text
  })
  const [code] = await once(child, 'close')
  expect(code).toBe(1)
  expect(stderr).toMatch(message)
})

test('a command that sleeps in real time has a note after its first run', async () => {
  const get = 'fetch(MODELHOST_URL + "/deploy/list", { headers: { authorization: "Bearer " + MODELHOST_TOKEN } })'
  const script = `const { MODELHOST_URL, MODELHOST_TOKEN } = process.env; ${get}.then(() => setTimeout(() => ${get}.then(() => process.exit()), 2500))`
  const flow = commandFlow([process.execPath, '-e', script], { options: { fixtures: 'empty' } })
  const runner = createCommandRunner(flow)
  onTestFinished(() => runner.dispose())
  await runner.run([])
  expect(runner.notes).toEqual([
    'Each run waits 2 s of real time in the sleeps of the client, and each fault is a run. To let a script in ' +
      `Python sleep in simulated time, run: pip install ${resolve('clients/python')}, ` +
      'then: npx modelhost-sim explore -- python3 -m modelhost_sim.run client.py. ' +
      `For a script in a shell, run: PATH="${resolve('clients/shell')}:$PATH" npx modelhost-sim explore -- bash client.sh. ` +
      'Others replace their sleeps: step 2 of docs/explore-command.md.',
  ])
})

test('a wait for an answer that never comes is in a note', async () => {
  const get = 'MODELHOST_URL + "/deploy/list", { headers: { authorization: "Bearer " + MODELHOST_TOKEN }'
  const script = `const { MODELHOST_URL, MODELHOST_TOKEN } = process.env; fetch(${get}, signal: AbortSignal.timeout(5300) })`
  const runner = createCommandRunner(commandFlow([process.execPath, '-e', script], { options: { fixtures: 'empty' } }))
  onTestFinished(() => runner.dispose())
  await runner.run([])
  expect(runner.notes).toEqual([])
  await runner.run([{ fault: { on: 'listDeployments', nth: 1, fault: { kind: 'hang' } } }])
  expect(runner.notes).toEqual([
    'Runs that waited for answers that never came: 1, 5 s of real time in all. Make the limit on the time for one answer ' +
      'a setting of the client, and give a shorter one: step 3 of docs/explore-command.md.',
  ])
})

test('it names the variables that a command gets', async () => {
  // The message cuts a line at 200 characters, so the names come without their values.
  const print = 'console.error(JSON.stringify([process.env.NO_PROXY, ...Object.keys(process.env)]))'
  const script = `fetch(process.env.MODELHOST_URL + "/deploy/list").then(() => ${print})`
  const flow = commandFlow([process.execPath, '-e', `${script}.then(() => process.exit(1))`])
  const runner = createCommandRunner(flow, { env: {} })
  onTestFinished(() => runner.dispose())
  await expect(runner.run([])).rejects.toThrow(/has the token of its world/)
  const names = [...page.matchAll(/`((?:MODELHOST|OPENAI)_\w+)`/g)].map(([, name]) => name!)
  const { message } = (await runner.run([]).catch(error => error)) as Error
  const [noProxy, ...variables] = JSON.parse(message.split('\n').at(-1)!) as string[]
  expect(variables.filter(name => /^(?:MODELHOST|OPENAI)_/.test(name)).sort()).toEqual([...new Set(names)].sort())
  expect(noProxy).toBe('127.0.0.1')
})
