import { describe, expect, test } from 'vitest'
import { type Play, type Result, runScenario, scenario } from '../../../src/workbench/scenario/index.ts'
import type { ScenarioOptions } from '../../../src/workbench/scenario/scenario.ts'

const chat = { model_name: 'acme/chat', gpu: 'H100-80GB', num_gpus: 4, hub: { repo: 'acme/chat-8b' } } as const

function run(play: Play, options: ScenarioOptions = {}): Promise<Result> {
  return runScenario(scenario('a story', { fixtures: 'two-nodes', seed: 7, ...options }, play), { stuckTimeoutMs: 100 })
}

async function failure(play: Play, options: ScenarioOptions = {}): Promise<string> {
  const result = await run(play, options)
  expect(result.passed).toBe(false)
  return result.failure!.message
}

describe('a scenario that holds', () => {
  test('reports its duration and counts', async () => {
    const result = await run(async ({ api, clock, check }) => {
      await api.createLlmDeployment(chat)
      await clock.advance('1h')
      check(1, 1)
    })
    expect(result).toMatchObject({ title: 'a story', passed: true, seed: '7', elapsed: 3_600_000_000, checks: 1 })
    expect(result.digest).toMatch(/^[0-9a-f]{32}$/)
  })

  test('has a trace of writes, events, commands and checks, without reads', async () => {
    const { trace } = await run(async ({ api, clock, cluster, check, expectRefusal }) => {
      await api.listDeployments()
      const { deploy_id } = await api.createLlmDeployment(chat)
      await clock.advance('10s')
      await api.getDeployment({ deploy_id })
      await cluster.nodeOf(deploy_id).cordon()
      check(await cluster.node('h100-0').view(), { state: 'cordoned' })
      check('x', 'x', 'a thing with a name')
      await expectRefusal(api.createLlmDeployment(chat), 409, 'deployed already')
    })
    expect(trace).toMatchInlineSnapshot(`
      [
        "# a story (seed 7)",
        "0.000000 request createLlmDeployment status=200",
        "0.000000 model.versionAdded acme/chat version=e6a72036",
        "0.000000 deployment.created aQyG2ENBHyUv6BnO gpu=H100-80GB model_name=acme/chat num_gpus=4",
        "0.000000 instance.pending aQyG2ENBHyUv6BnO-0 deployment=aQyG2ENBHyUv6BnO",
        "9.202645 instance.placed aQyG2ENBHyUv6BnO-0 gpus=4 node=h100-0",
        "9.982025 instance.pulling aQyG2ENBHyUv6BnO-0 image=fetched",
        "9.982025 deployment.downloading aQyG2ENBHyUv6BnO",
        "10.000000 node.cordoned h100-0",
        "10.000000 check 1 state=cordoned",
        "10.000000 check "a thing with a name" is=x",
        "10.000000 request createLlmDeployment status=409",
        "10.000000 check 3 message="deployed already" refused=409",
      ]
    `)
  })

  test('has no line of a request that is aborted before it begins', async () => {
    const { trace, failure } = await run(async ({ fetch, baseUrl, token, check }) => {
      const sent = (signal: AbortSignal) =>
        fetch(`${baseUrl}/v1/files/file_1`, { method: 'DELETE', headers: { authorization: `Bearer ${token}` }, signal })
      const nameOf = (answer: Promise<Response>) =>
        answer.then(
          ({ status }) => status,
          ({ name }) => name,
        )
      check(await nameOf(sent(AbortSignal.abort())), 'AbortError')
      const leave = new AbortController()
      const answer = sent(leave.signal)
      leave.abort()
      check(await nameOf(answer), 'AbortError')
    })
    const line = '0.000000 check 1 is=AbortError'
    expect([failure, trace]).toEqual([undefined, ['# a story (seed 7)', line, line.replace('1', '2')]])
  })

  test('has no line of a URL whose content is in the process', async () => {
    const { trace, failure } = await run(async ({ fetch, check }) => {
      check(await (await fetch('data:text/plain,hi')).text(), 'hi')
    })
    expect([failure, trace]).toEqual([undefined, ['# a story (seed 7)', '0.000000 check 1 is=hi']])
  })

  test('has no line and no effect of any number of reads', async () => {
    const story =
      (looks: number): Play =>
      async ({ api, clock, ledger }) => {
        const { deploy_id } = await api.createLlmDeployment(chat)
        for (let i = 0; i < looks; i++) {
          await api.getDeployment({ deploy_id })
          await ledger.balance()
        }
        await clock.advance('20m')
      }
    const [once, often] = [await run(story(1)), await run(story(50))]
    expect(often.trace).toEqual(once.trace)
    expect(often.digest).toBe(once.digest)
  })

  test('serves its own clients by fetch', async () => {
    const result = await run(async ({ fetch, baseUrl, token, check }) => {
      const response = await fetch(`${baseUrl}/deploy/list`, { headers: { authorization: `Bearer ${token}` } })
      check(response.status, 200)
      check((await fetch(`${baseUrl}/deploy/list`)).status, 401)
    })
    expect(result.failure).toBeUndefined()
  })

  test('can read and change the funds', async () => {
    const result = await run(
      async ({ clock, ledger, api, check }) => {
        const [deployed] = await api.listDeployments()
        await clock.advance('30m')
        check(await ledger.rentSeconds(deployed!.deploy_id), 1800)
        check(await ledger.cost(deployed!.deploy_id), 110_000_000)
        check(await ledger.cost('nothing'), 0)
        check(await ledger.rentSeconds('nothing'), 0)
        check(await ledger.entries(deployed!.deploy_id), [{ kind: 'rent', open: true, microcents: -110_000_000 }])
      },
      { with: { deployments: [{ model_name: 'acme/chat' }] } },
    )
    expect(result.failure).toBeUndefined()
  })
})

describe('a check that does not hold', () => {
  test('reports the difference, the time and the events of its subjects', async () => {
    const result = await run(async ({ api, clock, check }) => {
      await api.createLlmDeployment({ ...chat, model_name: 'acme/other' })
      const { deploy_id } = await api.createLlmDeployment(chat)
      await clock.advance('1m')
      check(await api.getDeployment({ deploy_id }), { status: 'running', instances: { running: 1, pending: 0 } })
    })
    expect(result.failure!.at).toBe(60_000_000)
    expect(result.failure!.message).toMatchInlineSnapshot(`
      "check 1 does not hold:
        status: expected "running", found "downloading"
        instances.running: expected 1, found 0
        instances.pending: expected 0, found 1"
    `)
    expect(result.failure!.events).toMatchInlineSnapshot(`
      [
        "0.000000 request createLlmDeployment status=200",
        "0.000000 model.versionAdded acme/chat version=e6a72036",
        "0.000000 deployment.created aQyG2ENBHyUv6BnO gpu=H100-80GB model_name=acme/chat num_gpus=4",
        "0.000000 instance.pending aQyG2ENBHyUv6BnO-0 deployment=aQyG2ENBHyUv6BnO",
        "9.202645 instance.placed aQyG2ENBHyUv6BnO-0 gpus=4 node=h100-0",
        "9.982025 instance.pulling aQyG2ENBHyUv6BnO-0 image=fetched",
        "9.982025 deployment.downloading aQyG2ENBHyUv6BnO",
      ]
    `)
  })

  test('reports at most ten events', async () => {
    const result = await run(async ({ api, clock, check }) => {
      for (let i = 0; i < 4; i++) await api.createLlmDeployment({ ...chat, model_name: `acme/m${i}` })
      await clock.advance('1h')
      check(1, 2)
    })
    expect(result.failure!.events).toHaveLength(10)
  })

  test('rejects a promise as a value', async () => {
    const message = await failure(({ api, check }) => check(api.listDeployments() as unknown, []))
    expect(message).toBe('TypeError: Failed to check: check 1 is given a promise. Await it: check(await …, …).')
  })
})

describe('a refusal', () => {
  test('fails the scenario when it is not expected', async () => {
    const message = await failure(async ({ api }) => {
      await api.getDeployment({ deploy_id: 'none' })
    })
    expect(message).toBe('getDeployment: 404 {"error":"no deployment none"}')
  })

  test('is a failure when it is expected and missing', async () => {
    const message = await failure(async ({ api, expectRefusal }) => {
      await expectRefusal(api.listDeployments(), 401)
    })
    expect(message).toBe('check 1 does not hold:\n  expected a refusal 401, found success: []')
  })

  test('is a failure when another refusal is expected, and is reported', async () => {
    const message = await failure(async ({ api, expectRefusal }) => {
      await expectRefusal(api.getDeployment({ deploy_id: 'none' }), 403)
    })
    expect(message).toBe('check 1 does not hold:\n  status: expected 403, found 404 "no deployment none"')
  })

  test('is a failure when its message differs', async () => {
    const message = await failure(async ({ api, expectRefusal }) => {
      await expectRefusal(api.getDeployment({ deploy_id: 'none' }), 404, /no batch/)
    })
    expect(message).toBe('check 1 does not hold:\n  message: expected text like /no batch/, found "no deployment none"')
  })

  test('has a message in every form', async () => {
    const result = await run(async ({ api, expectRefusal }) => {
      await expectRefusal(api.getBatch({ batch_id: 'none' }), 404, 'batch not found')
      await expectRefusal(api.as('wrong').listDeployments(), 401, 'not authorized')
      await expectRefusal(api.as(undefined).listDeployments(), 401, 'not authenticated')
      await expectRefusal(api.addFunds({ amount: 0 }), 422, /^body\.amount: /)
    })
    expect(result.failure).toBeUndefined()
  })

  test('is not another error of the call', async () => {
    const message = await failure(async ({ expectRefusal }) => {
      await expectRefusal(Promise.reject(new Error('the line is dead')), 404)
    })
    expect(message).toBe('the line is dead')
  })
})

describe('a move of the clock without an await', () => {
  test('is named by a check that comes too early', async () => {
    const message = await failure(async ({ api, clock, check }) => {
      const { deploy_id } = await api.createLlmDeployment(chat)
      clock.advance('20m')
      check(await api.getDeployment({ deploy_id }), { status: 'running' })
    })
    expect(message).toMatch(/status: expected "running", found "initializing"/)
    expect(message).toContain('clock.advance is not awaited, so the script goes on before time has moved.')
  })

  test('is an error at the end, also when every check holds', async () => {
    const message = await failure(async ({ clock, check }) => {
      clock.advanceTo('2026-01-01T01:00:00Z')
      check(1, 1)
    })
    expect(message).toMatch(/^Failed to move time: clock\.advanceTo is not awaited, .* Write await clock\.advanceTo/)
  })

  test('is accepted when it is awaited later or returned', async () => {
    const result = await run(async ({ api, clock, check }) => {
      const { deploy_id } = await api.createLlmDeployment(chat)
      const moved = clock.advance('20m')
      await clock.sleep('10m')
      await moved
      check(await api.getDeployment({ deploy_id }), { status: 'running' })
      await Promise.all([clock.advance('1m'), clock.sleep('1m')])
      return clock.advance('1m') as unknown as Promise<void>
    })
    expect(result.failure).toBeUndefined()
  })
})

describe('a command', () => {
  test('runs before the next awaited call when it is not awaited', async () => {
    const result = await run(async ({ api, clock, cluster, check }) => {
      const { deploy_id } = await api.createLlmDeployment(chat)
      await clock.advance('1m')
      cluster.nodeOf(deploy_id).crash()
      check(await api.getDeployment({ deploy_id }), { status: 'initializing' })
      cluster.node('h100-0').repair()
      cluster.node('h100-0').cordon()
      check(await cluster.node('h100-0').view(), { state: 'cordoned' })
      cluster.card.decline()
      cluster.price.set('H100-80GB', 100)
      cluster.limit.set('H100-80GB', null)
      cluster.stockOut('H100-80GB')
      check(await cluster.nodes(), [{ name: 'h100-0' }, { name: 'h100-1' }])
    })
    expect(result.failure).toBeUndefined()
    expect(
      result.trace.filter(line => /(node|card|price|limit|pool)\./.test(line)).map(line => line.split(' ')[1]),
    ).toEqual([
      'node.crashed',
      'node.repaired',
      'node.cordoned',
      'card.declined',
      'price.set',
      'limit.set',
      'pool.stockedOut',
    ])
  })

  test('fails the scenario when it fails without an await', async () => {
    const message = await failure(async ({ api, cluster }) => {
      cluster.node('h100-7').crash()
      await api.listDeployments()
    })
    expect(message).toBe("Failed to find the node 'h100-7': the fleet has none of that name. Did you mean 'h100-0'?")
  })

  test('fails the scenario when it fails as the last call', async () => {
    const message = await failure(({ cluster }) => void cluster.nodeOf('none').crash())
    expect(message).toMatch(/^Failed to find a node of 'none'/)
  })

  test('is reported before a later error when it failed without an await', async () => {
    const message = await failure(async ({ api, cluster, check }) => {
      cluster.node('h100-7').crash()
      check(await api.listDeployments(), [{ status: 'failed' }])
    })
    expect(message).toMatch(/h100-7/)
  })

  test('does not fail the scenario when its error is caught', async () => {
    const result = await run(async ({ cluster }) => {
      await expect(cluster.node('h100-7').crash()).rejects.toThrow('none of that name')
      const outcomes = await Promise.allSettled([cluster.node('h100-8').crash(), cluster.node('h100-0').crash()])
      expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
    })
    expect(result.failure).toBeUndefined()
  })

  test('is rejected with the nearest name when it is unknown', async () => {
    const message = await failure(async ({ cluster }) => {
      await (cluster.node('h100-0') as unknown as { crsh(): Promise<void> }).crsh()
    })
    expect(message).toBe("Failed to do cluster.node.crsh: unknown command 'crsh'. Did you mean 'crash'?")
  })

  test('the cluster can be returned from an async function', async () => {
    const result = await run(async ({ cluster, check }) => {
      const same = await Promise.resolve(cluster)
      check(await same.node('h100-0').view(), { name: 'h100-0' })
    })
    expect(result.failure).toBeUndefined()
  })
})

describe('an incorrect script ends in an error', () => {
  test('when it sleeps and time does not move', async () => {
    expect(await failure(({ clock }) => clock.sleep('10m'))).toBe(
      'Failed to go on: nothing has happened for 100ms of real time, and the script has not ended: ' +
        'clock.sleep("10m") ends in 10m, and nothing moves the clock while the script awaits it.',
    )
  })

  test('when it waits for a promise that never resolves', async () => {
    expect(await failure(() => new Promise<void>(() => {}))).toMatch(/it awaits something that never comes\.$/)
  })

  test('when it moves the clock inside a move of the clock', async () => {
    const message = await failure(async ({ clock }) => {
      await clock.until(async () => {
        await clock.advance('1m')
        return false
      })
    })
    expect(message).toMatch(/clock\.advance waits for clock\.until to end, and was called by what that waits for\.$/)
  })

  test('when its condition never holds', async () => {
    const result = await run(async ({ api, clock }) => {
      const { deploy_id } = await api.createLlmDeployment(chat)
      await clock.until(async () => (await api.getDeployment({ deploy_id })).status === 'running', { within: '1m' })
    })
    expect(result.failure).toMatchObject({
      message: 'Failed to reach the condition within 1m: it does not hold at 2026-01-01T00:01:00.000000+00:00.',
      at: 60_000_000,
    })
    expect(result.failure!.events.at(-1)).toMatch(/deployment\.downloading/)
  })

  test('when it throws a value that is not an Error', async () => {
    expect(
      await failure(() => {
        throw 'a word'
      }),
    ).toBe('the script threw "a word"')
  })

  test('when its world is invalid', async () => {
    expect(await failure(() => {}, { fixtures: 'two-nods' })).toMatch(/Did you mean 'two-nodes'\?/)
    expect(await failure(() => {}, { sead: 3 } as ScenarioOptions)).toMatch(/Did you mean 'seed'\?/)
  })
})

test('a bug of the simulator fails the scenario, also when the script ignores the 500', async () => {
  const message = await failure(async ({ api }) => {
    const { deploy_id } = await api.createLlmDeployment(chat)
    await api.deleteDeployment({ deploy_id }).catch(() => {})
    const broken = new Request('http://sim/v1/files', { method: 'POST', body: 'x' })
    Object.defineProperty(broken, 'headers', {
      get: () => {
        throw new Error('headers are on fire')
      },
    })
    await api
      .as(undefined)
      .raw(broken)
      .catch(() => {})
  })
  expect(message).toMatch(/^The simulator has a bug, please report it with this scenario: Error: headers are on fire/)
})

test('clients that sleep on the clock wake during a move', async () => {
  const result = await run(async ({ api, clock, check }) => {
    const { deploy_id } = await api.createLlmDeployment(chat)
    const seen: string[] = []
    const client = (async () => {
      for (let status = ''; status !== 'running'; await clock.sleep('10s')) {
        status = (await api.getDeployment({ deploy_id })).status
        if (seen.at(-1) !== status) seen.push(status)
      }
    })()
    await clock.advance('20m')
    await client
    check(seen.join(), 'initializing,downloading,deploying,running')
  })
  expect(result.failure).toBeUndefined()
})

test('a scenario needs a title of one line, options and a play function', () => {
  expect(() => scenario('', {}, () => {})).toThrow(/^Failed to declare a scenario: it has no title\./)
  expect(() => scenario('a\nb', {}, () => {})).toThrow(/Give a sentence of one line/)
  expect(() => scenario('a', {}, undefined as unknown as Play)).toThrow(/options or play are missing/)
  expect(() => scenario('a', (() => {}) as unknown as ScenarioOptions, undefined as unknown as Play)).toThrow(TypeError)
})

test('an unknown operation is reported with the nearest one', async () => {
  const typed = (api: object) => api as Record<string, () => Promise<void>>
  expect(await failure(({ api }) => typed(api).lstDeployments!())).toBe(
    "Failed to call api.lstDeployments: unknown operation. Did you mean 'listDeployments'?",
  )
  expect(await failure(({ api }) => typed(api.as('another')).getDeploymnt!())).toContain(
    "Did you mean 'getDeployment'?",
  )
  // What asks of it whether it is a promise gets an answer.
  expect(await run(async ({ api }) => void (await (api as unknown)))).toMatchObject({ passed: true })
})
