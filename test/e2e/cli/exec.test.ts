/** `exec`: a server for one command. Each program is small, so the starts are the cost. */
import type { ChildProcess } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../../setup/temporary-folder.ts'
import { isAlive, run, start } from './process.ts'

/** Sends one request with the token, and ends with a code. Prints the address first. */
const CLIENT = `
console.log(process.env.MODELHOST_SIM_URL, process.env.OPENAI_BASE_URL)
const { MODELHOST_URL, MODELHOST_TOKEN, MODELHOST_SIM_CONTROL } = process.env
if (MODELHOST_TOKEN === undefined || MODELHOST_SIM_CONTROL !== MODELHOST_URL + '/_sim') process.exit(9)
const response = await fetch(MODELHOST_URL + '/deploy/list', {
  headers: { authorization: 'Bearer ' + process.env.MODELHOST_SIM_TOKEN },
})
process.exitCode = response.status === 200 ? Number(process.argv[1]) : 99
`

/** Resolves with the number that the command prints first. */
function printed(child: ChildProcess): Promise<number> {
  return new Promise(found => child.stdout!.once('data', chunk => found(Number(chunk))))
}

test('a command that succeeds leaves nothing, and one that fails leaves a recording that replays', async () => {
  const client = (code: string) => run(['exec', '--', process.execPath, '--input-type=module', '-e', CLIENT, code])
  const [success, failure] = await Promise.all([client('0'), client('7')])
  expect(success).toMatchObject({ code: 0, stderr: '' })
  const [url, compatible] = success.stdout.trim().split(' ')
  expect(compatible).toBe(`${url}/v1`)
  expect(failure.code).toBe(7)
  const [, file] =
    /^The command failed with exit code 7\. To replay its requests:\n {2}npx modelhost-sim replay (.*)\n$/.exec(
      failure.stderr,
    )!
  onTestFinished(() => rmSync(resolve(file!, '..'), { recursive: true }))
  const replayed = await run(['replay', file!])
  expect(replayed).toMatchObject({ code: 0, stdout: expect.stringContaining('1 request replayed') })
})

test('a command of the package works below exec, which sets variables of its own', async () => {
  const inner = [process.execPath, resolve('bin/modelhost-sim.js'), 'env']
  expect(await run(['exec', '--', ...inner])).toMatchObject({ code: 0, stderr: '' })
})

test('a signal reaches the command, and what the command leaves behind is killed', async () => {
  const folder = temporaryFolder()
  const record = join(folder, "it's.ndjson")
  const left = start(['exec', '--record', record, '--', 'sh', '-c', 'trap "exit 9" TERM; sleep 600 & echo $!; wait'])
  // Its server answers, so exec has gone on since it started the command.
  const asked = `"${process.execPath}" -e 'fetch(process.env.MODELHOST_SIM_URL + "/_sim/health")'`
  const killed = start(['exec', '--', 'sh', '-c', `${asked} && { sleep 600 & echo $!; wait; }`])
  const pids = await Promise.all([printed(left.child), printed(killed.child)])
  left.child.kill('SIGTERM')
  killed.child.kill('SIGKILL')
  const replay = `modelhost-sim replay '${record.replace("'", "'\\''")}'\n`
  expect(await left.end).toMatchObject({ code: 9, stderr: expect.stringContaining(replay) })
  await killed.end
  await expect.poll(() => pids.filter(isAlive), { timeout: 10_000 }).toEqual([])
  expect(existsSync(record)).toBe(true)
})

test('a port in use, an unknown program and a missing command end before anything runs', async () => {
  const taken = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void taken.close())
  await new Promise(listening => taken.once('listening', listening))
  const { port } = taken.address() as { port: number }
  const ends = await Promise.all([
    run(['exec', '--port', String(port), '--', 'echo', 'never']),
    run(['exec', '--', 'no-such-program']),
    run(['exec']),
  ])
  expect(ends.map(({ code, stdout }) => [code, stdout])).toEqual([
    [2, ''],
    [2, ''],
    [2, ''],
  ])
  expect(ends[0]!.stderr).toContain('the port is taken.')
  expect(ends[1]!.stderr).toContain("Failed to run 'no-such-program': no such program.")
  expect(ends[2]!.stderr).toContain('Failed to run a command: it is missing. Give it after --, as in exec -- npm test.')
})
