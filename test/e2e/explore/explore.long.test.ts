/** `modelhost-sim explore` as a process: a finding becomes a scenario, and what ends the command early. */
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { temporaryFolder } from '../../setup/temporary-folder.ts'
import { PROJECT, run } from '../cli/process.ts'

let folder: string
beforeEach(() => {
  // In a project that has the package, so that its name leads to it.
  folder = temporaryFolder(PROJECT)
})
const write = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

/** Stops every deployment; `finally` in place of `then` also does so after an error. */
const CLIENT = (when: string) => `
import { flow } from 'modelhost-sim/explore'
export default flow('stops', { fixtures: 'two-nodes', invariants: { settles: false } }, async ({ fetch, url, token, sleep }) => {
  const headers = { authorization: 'Bearer ' + token, 'content-type': 'application/json' }
  const call = (method: string, path: string, body?: object) =>
    fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  const stopAll = async () => {
    for (let attempt = 0; attempt < 5; attempt++) {
      const list: { deploy_id: string; status: string }[] = await call('GET', '/deploy/list').then(answer => answer.json()).catch(() => undefined)
      if (Array.isArray(list)) {
        for (const { deploy_id } of list) await call('DELETE', '/deploy/' + deploy_id).catch(() => {})
        return
      }
      await sleep(20_000)
    }
  }
  const model = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } }
  await call('POST', '/deploy/llm', model).${when}(stopAll)
})
`

test('a finding is written as a scenario that fails until the client is corrected', async () => {
  const client = write('client.ts', CLIENT('then'))
  const found = join(folder, 'found')
  const { code, stdout } = await run(['explore', client, '--faults', 'singles', '--write', found, '--json'])
  expect(code).toBe(1)
  const { findings } = JSON.parse(stdout) as { findings: { signature: string; file: string }[] }
  const { file } = findings.find(({ signature }) => signature.startsWith('noLeak@createLlmDeployment'))!
  const failed = await run(['run', file])
  expect([failed.code, failed.stdout]).toEqual([1, expect.stringContaining('noLeak does not hold: ')])

  write('client.ts', CLIENT('finally'))
  expect(await run(['run', file])).toMatchObject({ code: 0, stdout: expect.stringContaining('1 scenario passed') })
}, 120_000)

test('Ctrl-C gives what was found so far', async () => {
  const client = write(
    'client.mjs',
    `let runs = 0
     export default async ({ fetch, url, token }) => {
       if (++runs === 10) process.kill(process.pid, 'SIGINT')
       await fetch(url + '/deploy/list', { headers: { authorization: 'Bearer ' + token } })
     }`,
  )
  const { code, stdout } = await run(['explore', client, '--json'])
  expect(code).toBe(3)
  const { runs, stopped_because: reason } = JSON.parse(stdout)
  expect(reason).toBe('aborted')
  expect(runs).toBeGreaterThanOrEqual(9)
}, 60_000)

/** What a flow does in its 10th run, after a signal. */
const interrupted = (then: string) => `
  const later = setTimeout
  let runs = 0
  export default async ({ fetch, url, token }) => {
    await fetch(url + '/deploy/list', { headers: { authorization: 'Bearer ' + token } })
    if (++runs < 10) return
    process.kill(process.pid, 'SIGINT')
    ${then}
    await new Promise(() => {})
  }`

test('Ctrl-C gives what was found so far, also if the present run never ends', async () => {
  const { code, stdout } = await run(['explore', write('client.mjs', interrupted('')), '--json'])
  expect(code).toBe(3)
  const { stopped_because: reason, findings } = JSON.parse(stdout)
  expect(reason).toBe('aborted')
  expect(findings).toMatchObject([{ invariant: 'settles' }])
}, 60_000)

test('a second Ctrl-C ends the process at once', async () => {
  const again = "later(() => process.kill(process.pid, 'SIGINT'), 300)"
  const { code, stdout } = await run(['explore', write('client.mjs', interrupted(again)), '--json'])
  expect([code, stdout]).toEqual([130, ''])
}, 60_000)

test('a flow that never yields ends the command with its name', async () => {
  const client = write('client.mjs', 'export default () => { for (;;); }')
  const { code, stderr } = await run(['explore', client, '--loop-limit', '1s'])
  expect(code).toBe(null)
  expect(stderr).toContain("Failed to play the flow 'client': the script blocked the process for 1 s")
})

test.each([
  [['explore'], "Failed to run 'explore': the flows are missing. Give them, as in: modelhost-sim explore client.ts"],
  [['explore', 'none.ts'], "Failed to find the flow 'none.ts': the file is missing."],
  [['explore', 'a.ts', '--fault', 'pairs'], 'Failed to read --fault: unknown flag. Did you mean --faults?'],
  [['explore', 'a.ts', '--faults', 'pair'], "Failed to read --faults 'pair': did you mean 'pairs'?"],
])('%j prints one line and exits with 2', async (args, message) => {
  const { code, stdout, stderr } = await run(args)
  expect([code, stdout]).toEqual([2, ''])
  expect(stderr).toContain(message)
  expect(stderr.trimEnd().split('\n')).toHaveLength(1)
})

test('the signal of an upload that hangs ends it, also after its garbage was collected', async () => {
  const client = resolve('test/workbench/explore/clients/hanging-upload.mjs')
  const args = ['explore', client, '--fixtures', 'empty', '--faults', 'singles']
  const { code, stdout } = await run(args, {}, ['--expose-gc', '--always-turbofan'])
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('0 findings') })
})
