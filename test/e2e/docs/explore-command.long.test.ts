/** docs/explore-command.md: its blocks run, and its tables are those of the code. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { createCommandRunner } from '../../../src/workbench/explore/command/command-runner.ts'
import { commandFlow } from '../../../src/workbench/explore/declare-flow.ts'
import { blocksOf, blockWith } from './page-blocks.ts'

const blocks = blocksOf('docs/explore-command.md')
const page = readFileSync('docs/explore-command.md', 'utf8')
const hasPython = spawnSync('python3', ['--version']).status === 0

test('the page has the blocks that are run below, and no other', () => {
  expect(blocks.map(({ language, opening }) => `${language} ${opening}`)).toEqual([
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

test('a command that sleeps in real time has a note after its first run', async () => {
  const get = 'fetch(MODELHOST_URL + "/deploy/list", { headers: { authorization: "Bearer " + MODELHOST_TOKEN } })'
  const script = `const { MODELHOST_URL, MODELHOST_TOKEN } = process.env; ${get}.then(() => setTimeout(() => ${get}.then(() => process.exit()), 2500))`
  const flow = commandFlow([process.execPath, '-e', script], { options: { fixtures: 'empty' } })
  const runner = createCommandRunner(flow)
  onTestFinished(() => runner.dispose())
  await runner.run([])
  expect(runner.notes).toEqual([
    'Each run waits 2 s of real time in the sleeps of the client, and each fault is a run. Replace the sleeps by ' +
      'simulated time: step 2 of docs/explore-command.md.',
  ])
})

test('it names the variables that a command gets', async () => {
  const script =
    'fetch(process.env.MODELHOST_URL + "/deploy/list").then(() => console.error(JSON.stringify(process.env)))'
  const flow = commandFlow([process.execPath, '-e', `${script}.then(() => process.exit(1))`])
  const runner = createCommandRunner(flow, { env: {} })
  onTestFinished(() => runner.dispose())
  await expect(runner.run([])).rejects.toThrow(/has the token of its world/)
  const names = [...page.matchAll(/`((?:MODELHOST|OPENAI)_\w+)`/g)].map(([, name]) => name!)
  const { message } = (await runner.run([]).catch(error => error)) as Error
  const variables = JSON.parse(message.split('\n').at(-1)!) as Record<string, string>
  expect(
    Object.keys(variables)
      .filter(name => /^(?:MODELHOST|OPENAI)_/.test(name))
      .sort(),
  ).toEqual([...new Set(names)].sort())
  expect(variables.NO_PROXY).toBe('127.0.0.1')
})
