/** Faults in scenarios, on the control plane and on the command line. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Play, runScenario, type ScenarioOptions, scenario } from '../../../src/workbench/scenario/index.ts'
import { commanded } from '../../cli/commanded.ts'
import { running } from '../../server/http/running-server.ts'
import { temporaryFolder } from '../../setup/temporary-folder.ts'

const CHAT = { model_name: 'acme/chat', gpu: 'H100-80GB', hub: { repo: 'acme/chat-8b' } } as const

async function played(play: Play, options: ScenarioOptions = { fixtures: 'empty' }) {
  const result = await runScenario(scenario('it goes wrong', options, play), { stuckTimeoutMs: 1_000 })
  expect(result.failure).toBeUndefined()
  return result
}

describe('in a scenario', () => {
  test('a client moves time to a delayed answer, but not beyond its timeout', async () => {
    const { elapsed } = await played(
      async ({ api, check, clock, faults }) => {
        await api.listDeployments()
        check(clock.elapsed, 5_000_000)
        await faults.clear()
        await faults.add({ on: 'list*', fault: { kind: 'latency', delay: '10m' } })
        const late: unknown = await api.listDeployments().catch((error: unknown) => error)
        check(late, { broken: true, message: /no answer to GET \/deploy\/list within 1m/ })
      },
      { fixtures: 'empty', faults: [{ on: 'list*', fault: { kind: 'latency', delay: '5s' } }] },
    )
    expect(elapsed).toBe(65_000_000)
  })

  test('a hang ends at the timeout of the client', async () => {
    const { elapsed } = await played(async ({ api, faults, check }) => {
      await faults.add({ on: '*', fault: { kind: 'hang' } })
      check((await api.listDeployments().catch((error: unknown) => error)) as object, { broken: true })
    })
    expect(elapsed).toBe(60_000_000)
  })

  test('until continues while its answers are late', async () => {
    await played(
      async ({ api, clock, check }) => {
        const { deploy_id } = await api.createLlmDeployment(CHAT)
        await clock.until(async () => (await api.getDeployment({ deploy_id })).status === 'running', { within: '30m' })
        check((await api.getDeployment({ deploy_id })).status, 'running')
      },
      { fixtures: 'empty', faults: [{ on: 'getDeployment', fault: { kind: 'latency', delay: '2s' } }] },
    )
  })

  test('an invalid rule fails the scenario', async () => {
    const wrong = scenario('wrong', { fixtures: 'empty' }, async ({ faults }) => {
      await faults.add({ on: 'nothing', fault: { kind: 'hang' } })
    })
    expect((await runScenario(wrong)).failure?.message).toContain("unknown operation 'nothing'")
  })
})

test('on the control plane a rule is added, seen, and removed', async () => {
  const { command: send, ask } = await running({ fixtures: 'empty' })
  const rule = { on: 'listDeployments', times: 1, fault: { kind: 'status', status: 503 } }
  const added = await send('/_sim/faults', rule)
  const shown = { ...rule, fault: { ...rule.fault, effect: 'none' } }
  expect(added).toEqual({ status: 200, body: { id: 'fault-1', rule: shown, matches: 0, hits: 0 } })
  expect([(await ask('/deploy/list')).status, (await ask('/deploy/list')).status]).toEqual([503, 200])
  const counted = { id: 'fault-1', rule: shown, matches: 2, hits: 1 }
  expect((await send('/_sim/faults', undefined, 'GET')).body).toEqual([counted])
  expect((await send('/_sim/faults/fault-1', undefined, 'GET')).body).toEqual(counted)
  expect((await send('/_sim/faults/fault-1', undefined, 'DELETE')).body).toEqual(counted)
  expect((await send('/_sim/faults/fault-1', undefined, 'DELETE')).status).toBe(404)
  await send('/_sim/faults', rule)
  expect((await send('/_sim/faults', undefined, 'DELETE')).body).toEqual({ removed: 1 })
  expect((await send('/_sim/faults', undefined, 'GET')).body).toEqual([])
})

describe('on the command line', () => {
  const file = (text: string) => {
    const folder = temporaryFolder()
    const path = join(folder, 'faults.json')
    writeFileSync(path, text)
    return path
  }

  test.each([
    ['{', 'Fix the JSON there'],
    ['{}', 'it does not hold an array'],
    [
      '[{"on":"nothing","fault":{"kind":"hang"}}]',
      "Failed to add faults[0] of 'FILE': $.on: unknown operation 'nothing'",
    ],
  ])('serve --faults with %s', async (text, reason) => {
    const path = file(text)
    const { code, stderr } = await commanded(['serve', '--port', '0', '--faults', path])
    expect([code, stderr]).toEqual([2, expect.stringContaining(reason.replace('FILE', path))])
  })

  test('serve --faults names the file when it is missing', async () => {
    const { code, stderr } = await commanded(['serve', '--port', '0', '--faults', 'missing.json'])
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining("Failed to read --faults 'missing.json': the file or folder is missing. Give a file"),
    ])
  })

  test('a scaled latency needs a scaled clock', async () => {
    const { code, stderr } = await commanded(['serve', '--port', '0', '--clock', 'manual', '--latency', 'scaled'])
    expect([code, stderr]).toEqual([2, expect.stringContaining('--latency scaled is for a scaled clock')])
  })
})
