/** Processes of clients end: those that leave a child, and those that hang when their command is stopped or killed. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../setup/temporary-folder.ts'
import { isAlive, run, start } from '../cli/process.ts'

let folder: string
beforeEach(() => {
  folder = temporaryFolder()
})
afterEach(() => {
  for (const pid of pids().filter(isAlive)) process.kill(pid, 'SIGKILL')
})

const pathOf = (name: string) => join(folder, name)

/** The processes that clients have named, the oldest first. */
function pids(): number[] {
  return existsSync(pathOf('pids')) ? readFileSync(pathOf('pids'), 'utf8').trim().split('\n').map(Number) : []
}

/** Resolves when clients have named so many processes. */
const named = (count: number) => expect.poll(pids, { timeout: 60_000, interval: 50 }).toHaveLength(count)
const ended = () => expect.poll(() => pids().filter(isAlive)).toEqual([])

/** Writes a client that names its process and sends a request. */
function clientOf(then: string): string {
  const file = pathOf('client.mjs')
  writeFileSync(
    file,
    `import { spawn } from 'node:child_process'
import { appendFileSync } from 'node:fs'
const name = pid => appendFileSync(new URL('pids', import.meta.url), pid + '\\n')
const { MODELHOST_URL, MODELHOST_TOKEN } = process.env
const start = options => name(spawn(process.execPath, ['-e', 'setTimeout(() => {}, 120_000)'], options).pid)
const stray = () => start({ detached: true, stdio: 'inherit' })
const hang = () => new Promise(() => setTimeout(() => {}, 120_000))
await fetch(MODELHOST_URL + '/deploy/list', { headers: { authorization: 'Bearer ' + MODELHOST_TOKEN } })
${then}
`,
  )
  return file
}

const explored = (file: string, ...flags: readonly string[]) => [
  'explore',
  ...(flags.includes('--budget') ? [] : ['--budget', '3']),
  ...['--processes', '1', ...flags],
  ...['--', process.execPath, file],
]
const NOTE =
  'the command left a process in a session of its own, which held its output open. It was not waited for, and may still run.'

describe('a client that leaves a child in a session of its own', { timeout: 60_000 }, () => {
  test('is explored to its end, and the report names the child', async () => {
    const file = clientOf('stray(); console.log("done"); process.exit()')
    const { code, stdout } = await run(explored(file))
    expect(code).toBe(3)
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(`In 3 runs, ${NOTE}`)
  })

  test('and then hangs is ended after its time', async () => {
    const file = clientOf('stray(); name(process.pid); await hang()')
    const { code, stdout } = await run(explored(file, '--command-timeout', '5s', '--json'))
    expect(code).toBe(1)
    const { findings, notes } = JSON.parse(stdout)
    expect(findings).toMatchObject([{ invariant: 'settles' }])
    expect(notes).toEqual([expect.stringContaining(`In 2 runs, ${NOTE}`)])
    // Each run names its child, then itself.
    expect(pids().map(isAlive)).toEqual([true, false, true, false])
  })
})

describe('a client that hangs', { timeout: 60_000 }, () => {
  const HANGS = 'start({ stdio: "ignore" }); name(process.pid); await hang()'

  test.each(['SIGINT', 'SIGTERM'] as const)('is ended at once when explore gets %s', async signal => {
    const { child, end } = start(explored(clientOf(HANGS)))
    await named(2)
    child.kill(signal)
    const { code, stdout } = await end
    expect(code).toBe(3)
    expect(stdout).toContain(': 0 runs, 0 single faults, stopped\n')
    await ended()
  })

  test.each([
    ['behind a fault', []],
    ['for a page', ['--budget', '2', '--html']],
  ])(
    '%s is ended when explore is stopped, and what was found before is reported',
    {
      timeout: 60_000,
    },
    async (_, flags) => {
      // Two runs without faults, and then one with a fault or for the page.
      const file = clientOf(`name(process.pid)
      if ((await import('node:fs')).readFileSync(new URL('pids', import.meta.url), 'utf8').split('\\n').length === 4) await hang()
      const body = JSON.stringify({ model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } })
      const headers = { authorization: 'Bearer ' + MODELHOST_TOKEN, 'content-type': 'application/json' }
      await fetch(MODELHOST_URL + '/deploy/llm', { method: 'POST', headers, body })`)
      const given = flags.flatMap(flag => (flag === '--html' ? [flag, pathOf('page.html')] : flag))
      const { child, end } = start(explored(file, '--fixtures', 'empty', '--json', ...given))
      await named(3)
      child.kill('SIGINT')
      const { code, stdout, stderr } = await end
      expect(code).toBe(3)
      if (given.length > 0) expect(stderr).toContain(`No page: ${pathOf('page.html')} needs runs of the command`)
      expect(JSON.parse(stdout)).toMatchObject({
        ...{ runs: 2, stopped_because: given.length > 0 ? 'budget' : 'aborted' },
        findings: [
          { signature: expect.stringMatching(/^noLeak@/), why: expect.stringContaining('Requests: 2 in all') },
        ],
      })
      await ended()
    },
  )

  test('is ended when explore is killed', async () => {
    const { child, end } = start(explored(clientOf(HANGS)))
    await named(2)
    child.kill('SIGKILL')
    await end
    await ended()
  })

  test.each([
    ['run', ['run'], 'SIGKILL', null],
    ['run --out', ['run', '--seeds', '1..1', '--out', 'out'], 'SIGTERM', 3],
  ] as const)('in a scenario is ended when %s gets a signal', async (_, [command, ...flags], signal, code) => {
    const file = clientOf(HANGS)
    writeFileSync(pathOf('story.yaml'), `title: story\nexplore: 1\ncommand: [node, ${file}]\nplan: []\n`)
    const given = flags.map(flag => (flag === 'out' ? pathOf(flag) : flag))
    const { child, end } = start([command, pathOf('story.yaml'), ...given])
    await named(2)
    child.kill(signal)
    expect((await end).code).toBe(code)
    await ended()
  })
})
