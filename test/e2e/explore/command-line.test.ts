/** `modelhost-sim explore -- COMMAND` as its user sees it. */
import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { run } from '../cli/process.ts'

const hasPython = spawnSync('python3', ['--version']).status === 0
/** Short waits, because they are real. A limit that a busy machine does not reach. */
const ENV = { POLL_SECONDS: '0.02', TIMEOUT_SECONDS: '4' }
const LEAKY = resolve('test/workbench/explore/clients/leaky.py')

describe.skipIf(!hasPython)('a client in Python', () => {
  test('is explored, and its leak is reported with what to do', { timeout: 120_000 }, async () => {
    const args = ['explore', '--fixtures', 'empty', '--budget', '8', '--', 'python3', LEAKY]
    const { code, stdout, stderr } = await run(args, ENV)
    expect(code, stderr).toBe(1)
    expect(stdout).toMatch(/^leaky: /)
    expect(stdout).toContain('1. noLeak@createLlmDeployment/error')
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain('Without this fault, this finding does not occur. ')
  })

  test('whose budget ends before its single faults ends with 3, and flags after -- are its own', {
    timeout: 120_000,
  }, async () => {
    const script = resolve('clients/python/example/deploy.py')
    const flags = ['--fixtures', 'empty', '--budget', '6', '--processes', '2', '--json']
    const { code, stdout } = await run(['explore', ...flags, '--', 'python3', script, 'acme/chat', '--json'], ENV)
    expect(code).toBe(3)
    expect(JSON.parse(stdout)).toMatchObject({
      flow: 'deploy acme/chat --json',
      findings: [],
      stopped_because: 'budget',
      card: {
        lines: expect.arrayContaining([
          expect.stringMatching(/It is not known whether this client has a problem: \d+ single faults were not run\./),
        ]),
      },
    })
  })
})

test('a flow with parallel requests is repeatable in a new process, which loads code for its first chat', async () => {
  const flow = resolve('test/workbench/explore/clients/parallel.mjs')
  const { code, stderr } = await run(['explore', flow, '--fixtures', 'empty', '--faults', 'singles', '--budget', '1'])
  expect({ code, stderr }).toMatchObject({ code: 3, stderr: expect.not.stringContaining('Failed') })
})

test.each<[string, string[], string]>([
  [
    'no flow and no command',
    ['explore'],
    "Failed to run 'explore': the flows are missing. Give them, as in: modelhost-sim explore client.ts",
  ],
  [
    'an empty command',
    ['explore', '--'],
    "Failed to explore: the command is missing. Give one, as in 'explore -- python3 client.py'.",
  ],
  [
    'an unknown command',
    ['explore', '--', 'nodee', '--version'],
    "Failed to explore: unknown command 'nodee'. Did you mean 'node'?",
  ],
  [
    'a command and a flow',
    ['explore', 'x.ts', '--', 'node'],
    "Failed to explore: 'x.ts' is a flow, and a command is explored alone.",
  ],
  [
    '--out',
    ['explore', '--out', 'o', '--seeds', '1..3', '--', 'node'],
    'Failed to explore: --seeds is not for a command: ',
  ],
  ['--processes of a flow', ['explore', '--processes', '3', 'x.ts'], 'Failed to explore: --processes is for a command'],
  ['a typo before --', ['explore', '--procesess', '3', '--', 'node'], 'Did you mean --processes?'],
  [
    'no time',
    ['explore', '--command-timeout', '0s', '--', 'node'],
    "Failed to read --command-timeout '0s': it must be longer than 0.",
  ],
  [
    'no request',
    ['explore', '--', 'node', '-e', '1'],
    "Failed to explore: 'node -e 1' sent no request to the simulator.",
  ],
])('%s is refused', async (_, args, reason) => {
  const { code, stdout, stderr } = await run(args)
  expect([code, stdout]).toEqual([2, ''])
  expect(stderr).toContain(reason)
})
