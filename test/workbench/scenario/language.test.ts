/** Assertions over time and timelines: when they fail, when they do not, and what they say. */
import { describe, expect, test } from 'vitest'
import { type Play, type Result, runScenario, scenario } from '../../../src/workbench/scenario/index.ts'
import type { ScenarioOptions } from '../../../src/workbench/scenario/scenario.ts'

const chat = { model_name: 'acme/chat', gpu: 'H100-80GB', num_gpus: 4, hub: { repo: 'acme/chat-8b' } } as const

function run(play: Play, options: ScenarioOptions = {}): Promise<Result> {
  return runScenario(scenario('a story', { fixtures: 'two-nodes', seed: 7, ...options }, play), { stuckTimeoutMs: 200 })
}

async function failure(play: Play): Promise<{ message: string; at: number }> {
  const result = await run(play)
  expect(result.passed).toBe(false)
  return { message: result.failure!.message, at: result.failure!.at / 1e6 }
}

async function passes(play: Play): Promise<Result> {
  const result = await run(play)
  expect(result.failure).toBeUndefined()
  return result
}

describe('always and never', () => {
  test('fail at the time of the violation, for every awaited call', async () => {
    const { message, at } = await failure(async ({ api, clock, always }) => {
      const it = await api.createLlmDeployment(chat)
      always(async () => (await api.getDeployment(it)).status !== 'deploying', 'it is never deploying')
      await clock.advance('1d')
    })
    const result = await run(async ({ api, clock }) => {
      const it = await api.createLlmDeployment(chat)
      await clock.until(async () => (await api.getDeployment(it)).status === 'deploying')
    })
    expect(at).toBe(result.elapsed / 1e6)
    expect(message).toMatch(
      /^check 1 \(always: it is never deploying\) does not hold:\n {2}expected true at every moment, found false at 2026-01-01T00:0/,
    )
  })

  test('accept a check, and report the difference', async () => {
    const { message } = await failure(async ({ api, clock, always, check }) => {
      const it = await api.createLlmDeployment(chat)
      always(async () => check(await api.getDeployment(it), { status: 'initializing' }))
      await clock.until(async () => (await api.getDeployment(it)).status === 'running')
    })
    expect(message).toBe('check 1 (always) does not hold:\n  status: expected "initializing", found "downloading"')
  })

  test('evaluate the effects of the script itself', async () => {
    const { message, at } = await failure(async ({ api, cluster, never, check }) => {
      never(async () => (await cluster.node('h100-0').view()).state === 'down', 'a node is down')
      await cluster.node('h100-0').crash()
      check(await api.listDeployments(), [{ model_name: 'this is not looked at any more' }])
    })
    expect(at).toBe(0)
    expect(message).toMatch(/^check 1 \(never: a node is down\) does not hold:\n {2}expected false at every moment/)
  })

  test('fail also when the script catches the error', async () => {
    const { message } = await failure(async ({ cluster, never }) => {
      never(async () => (await cluster.node('h100-0').view()).state === 'down')
      await cluster
        .node('h100-0')
        .crash()
        .catch(() => {})
    })
    expect(message).toMatch(/^check 1 \(never\)/)
  })

  test('add one line at the end when they hold, and have no other effect', async () => {
    const story =
      (watched: boolean): Play =>
      async ({ api, clock, always }) => {
        const it = await api.createLlmDeployment(chat)
        if (watched) always(async () => (await api.getDeployment(it)).status !== 'failed', 'it does not fail')
        await clock.advance('1h')
      }
    const [plain, watched] = [await passes(story(false)), await passes(story(true))]
    expect(watched.trace).toEqual([...plain.trace, '3600.000000 check "always: it does not fail" held=true'])
    expect(watched.digest).toBe(plain.digest)
  })

  test('end with stop()', async () => {
    await passes(async ({ api, clock, never }) => {
      const it = await api.createLlmDeployment(chat)
      const watch = never(async () => (await api.getDeployment(it)).status === 'deploying')
      await clock.advance('1m')
      watch.stop()
      await clock.advance('1h')
    })
  })

  test('reject a condition without a result, and a condition that moves time', async () => {
    const said = await failure(async ({ api, always }) => {
      always(() => {}, 'nothing')
      await api.listDeployments()
    })
    expect(said.message).toBe(
      'TypeError: Failed to look: check 1 (always: nothing) is given nothing. Return true or false, or check(…) in it.',
    )
    const moved = await failure(async ({ clock, always }) => {
      always(async () => (await clock.advance('1m')).events >= 0)
      await clock.advance('1m')
    })
    expect(moved.message).toMatch(/^Failed to move time in 'check 1 \(always\)': a condition must not change/)
  })

  test('are declared before time moves', async () => {
    const { message } = await failure(async ({ clock, always }) => {
      const moved = clock.advance('1h')
      always(() => true)
      await moved
    })
    expect(message).toMatch(/^Failed to put up always\(…\): time is being moved\./)
  })
})

describe('eventually', () => {
  test('moves time until it holds', async () => {
    const result = await passes(async ({ api, eventually, check }) => {
      const it = await api.createLlmDeployment(chat)
      await eventually(async () => check(await api.getDeployment(it), { status: 'running' }), { within: '15m' })
      await eventually(() => true, {}, 'at once')
    })
    expect(result.trace.slice(-3)).toEqual([
      expect.stringContaining(' deployment.running '),
      expect.stringMatching(/ check 1 eventually=true$/),
      expect.stringMatching(/ check "at once" eventually=true$/),
    ])
  })

  test('reports the missing part at the end', async () => {
    const { message, at } = await failure(async ({ api, eventually, check }) => {
      const it = await api.createLlmDeployment(chat)
      await eventually(async () => check(await api.getDeployment(it), { status: 'running' }), { within: '1m' }, 'up')
    })
    expect(at).toBe(60)
    expect(message).toBe(
      'check 1 (eventually: up) does not hold:\n  status: expected "running" within 1m, found "downloading"',
    )
    const other = await failure(({ eventually }) => eventually(() => false, { within: '5s' }))
    expect(other.message).toBe(
      'check 1 (eventually) does not hold:\n  expected true within 5s, found false until 2026-01-01T00:00:05.000000+00:00',
    )
  })

  test('has to be awaited', async () => {
    const { message } = await failure(async ({ eventually, check }) => {
      eventually(() => true)
      check(1, 1)
    })
    expect(message).toBe(
      'Failed to move time: eventually is not awaited, so the script goes on before time has moved. Write await eventually(…).',
    )
  })
})

describe('leadsTo', () => {
  const rule = { within: '5m', sameSubject: true } as const

  test('holds when the second event follows the first in time', async () => {
    const { trace } = await passes(async ({ api, clock, leadsTo }) => {
      leadsTo('deployment.created', 'deployment.running', { ...rule, within: '30m' })
      leadsTo(
        { kind: 'instance.placed', fields: { node: 'h100-0' } },
        ({ subject }) => ({ kind: 'instance.ready', subject }),
        {
          within: '20m',
        },
      )
      await api.createLlmDeployment(chat)
      await clock.advance('1h')
    })
    expect(trace.at(-2)).toMatch(/check "deployment.created leads to deployment.running within 30m" held=true$/)
  })

  test('fails at its deadline', async () => {
    const { message, at } = await failure(async ({ api, clock, cluster, leadsTo }) => {
      leadsTo('deployment.created', 'deployment.running', rule)
      await clock.advance('1h')
      await cluster.hub.down()
      await api.createLlmDeployment(chat)
      await clock.advance('1d')
    })
    expect(at).toBe(3900)
    expect(message).toMatch(
      /^check 1 \(deployment\.created leads to deployment\.running within 5m\) does not hold:\n {2}expected deployment\.running within 5m, found none since 3600\.000000 deployment\.created \S+ gpu=/,
    )
  })

  test('distinguishes subjects', async () => {
    const { message } = await failure(async ({ api, clock, leadsTo }) => {
      leadsTo('deployment.created', 'deployment.running', { within: '30m', sameSubject: true })
      const other = await api.createLlmDeployment({ ...chat, model_name: 'acme/other' })
      await api.createLlmDeployment(chat)
      await api.deleteDeployment(other)
      await clock.advance('1h')
    })
    expect(message).toMatch(/model_name=acme\/other/)
  })

  test('is open when its deadline is after the end of the scenario', async () => {
    await passes(async ({ api, clock, leadsTo }) => {
      leadsTo('deployment.created', 'deployment.running', rule)
      await clock.advance('1m')
      await api.createLlmDeployment(chat)
      await clock.advance('4m')
    })
  })

  test('rejects an unknown journal kind with the nearest one', async () => {
    const { message } = await failure(({ leadsTo }) => {
      leadsTo('node.crash', 'deployment.running', { within: '5m' })
    })
    expect(message).toBe(
      "Failed to name an event: nothing is called 'node.crash' in the journal. Did you mean 'node.crashed'?",
    )
  })
})

describe('countOf', () => {
  test.each([1, '1', '1..3', '1..', '..1', { min: 1 }, { max: 2 }])('takes %j', async range => {
    await passes(async ({ cluster, check, countOf }) => {
      await cluster.node('h100-0').crash()
      check(await countOf({ kind: 'node.crashed', subject: 'h100-0' }, range), 1)
      await countOf({ kind: 'node.crashed', subject: /1$/ }, 0)
    })
  })

  test('reports the count and the last time', async () => {
    const { message } = await failure(async ({ clock, cluster, countOf }) => {
      await clock.advance('1m')
      await cluster.node('h100-0').crash()
      await countOf('node.crashed', '2..3', 'crashes')
    })
    expect(message).toBe(
      'check 1 (crashes) does not hold:\n  expected 2 to 3, found 1, the last at 1m (60.000000) of h100-0',
    )
    expect((await failure(({ countOf }) => countOf('node.crashed', '3') as unknown as Promise<void>)).message).toBe(
      'check 1 (count of node.crashed) does not hold:\n  expected 3, found none',
    )
    expect((await failure(async ({ countOf }) => void (await countOf('node.crashed', '3..1')))).message).toMatch(
      /^Failed to read the range "3\.\.1"|^RangeError/,
    )
  })
})

describe('unchanged', () => {
  test('holds for reads and refusals, and returns the result', async () => {
    await passes(async ({ api, unchanged, check, expectRefusal }) => {
      const refusal = await unchanged(() => expectRefusal(api.startDeployment({ deploy_id: 'none' }), 404))
      check(refusal.status, 404)
      await unchanged(() => api.listDeployments())
    })
  })

  test('reports the changes', async () => {
    const { message } = await failure(async ({ cluster, unchanged }) => {
      await unchanged(() => {
        cluster.node('h100-0').crash()
      })
    })
    expect(message).toBe(
      'check 1 (unchanged) does not hold:\n  expected a world that stays as it is, found 1 change:\n    0.000000 node.crashed h100-0',
    )
  })
})

describe('a timeline', () => {
  test('runs beside a client, in the order of times', async () => {
    await passes(async ({ api, clock, cluster, at, every, check }) => {
      const seen: string[] = []
      at('10m', () => seen.push(`ten ${clock.elapsed / 6e7}`))
      at('5m', async () => {
        cluster.node('h100-0').cordon()
        seen.push(`five ${clock.elapsed / 6e7}`)
        at('1m', () => seen.push(`six ${clock.elapsed / 6e7}`))
      })
      const ticks = every('4m', () => seen.push(`tick ${clock.elapsed / 6e7}`), { times: 2 })
      every('4m', () => seen.push('never'), { what: 'stopped' }).stop()
      const client = (async () => {
        while ((await cluster.node('h100-0').view()).state !== 'cordoned') await clock.sleep('10s')
        seen.push(`client ${clock.elapsed / 6e7}`)
      })()
      await clock.advance('1h')
      await client
      ticks.stop()
      check(seen, ['tick 4', 'five 5', 'client 5.166666666666667', 'six 6', 'tick 8', 'ten 10'])
      check(await api.listDeployments(), [])
    })
  })

  test('an advance with a step in between equals one without', async () => {
    const story =
      (cut: boolean): Play =>
      async ({ api, clock, at }) => {
        await api.createLlmDeployment(chat)
        if (cut) for (const seconds of [10, 11, 60, 200, 272, 300]) at(seconds * 1000, () => {})
        await clock.advance('1h')
        await clock.until(async () => (await api.listDeployments()).length > 0)
      }
    const [whole, cut] = [await passes(story(false)), await passes(story(true))]
    expect(cut.trace).toEqual(whole.trace)
    expect(cut.digest).toBe(whole.digest)
  })

  test.each(['advance', 'advanceTo', 'until', 'next'] as const)('clock.%s stops at its moments', async name => {
    await passes(async ({ api, clock, at, check }) => {
      const times: number[] = []
      await api.createLlmDeployment(chat)
      at('5s', () => times.push(clock.elapsed))
      at('2026-01-01T00:00:07Z', () => times.push(clock.elapsed))
      at(new Date('2026-01-01T00:00:08.5Z'), () => times.push(clock.elapsed))
      if (name === 'advance') check((await clock.advance('20m')).counts['deployment.running'], 1)
      if (name === 'advanceTo') check((await clock.advanceTo('2026-01-01T00:20:00Z')).to, clock.iso)
      if (name === 'until') {
        const running = async () => (await api.listDeployments())[0]!.status === 'running'
        check((await clock.until(running)).counts['deployment.running'], 1)
      }
      while (name === 'next' && clock.elapsed < 8_500_000) await clock.next()
      check(times, [5_000_000, 7_000_000, 8_500_000])
    })
  })

  test('an until reports its limit under a timeline', async () => {
    const { message, at } = await failure(async ({ clock, at }) => {
      at('5m', () => {})
      await clock.until(() => false, { within: '10m' })
    })
    expect(at).toBe(600)
    expect(message).toBe(
      'Failed to reach the condition within 10m: it does not hold at 2026-01-01T00:10:00.000000+00:00.',
    )
  })

  test('a failed step is reported with its name and time', async () => {
    const story: Play = async ({ clock, cluster, at, check }) => {
      at('5m', () => check(1, 2), 'one is two')
      at('6m', () => cluster.node('h100-7').crash())
      await clock.advance('1h')
    }
    expect(await failure(story)).toEqual({
      message: 'at 5m (one is two): check 1 does not hold:\n  expected 2, found 1',
      at: 300,
    })
    const verb = await failure(async ({ clock, cluster, every }) => {
      every('6m', () => {
        cluster.node('h100-7').crash()
      })
      await clock.advance('1h')
    })
    expect(verb).toEqual({
      message: "every 6m: Failed to find the node 'h100-7': the fleet has none of that name. Did you mean 'h100-0'?",
      at: 360,
    })
  })

  test('a step is an error when time never reaches it', async () => {
    const { message } = await failure(async ({ clock, at }) => {
      at('10m', () => {}, 'late')
      await clock.advance('5m')
    })
    expect(message).toBe(
      "Failed to end: 'at 10m (late)' was never done, for it is due at 10m (600.000000) and the scenario ends at 5m (300.000000). " +
        'Move the clock past it, or take it off with its stop().',
    )
    const never = await failure(async ({ clock, every }) => {
      every('1h', () => {})
      await clock.advance('59m')
    })
    expect(never.message).toMatch(/^Failed to end: 'every 1h' was never done, for it is due at 1h /)
  })

  test('a step is an error when it ran less often than its number, or never', async () => {
    const { message } = await failure(async ({ clock, every }) => {
      every('1h', () => {}, { times: 3, what: 'the watch' })
      await clock.advance('2h')
    })
    expect(message).toBe(
      "Failed to end: 'every 1h (the watch)' was done 2 of 3 times, for the next is due at 3h (10800.000000) and the scenario ends at 2h (7200.000000). " +
        'Move the clock past it, or take it off with its stop().',
    )
    const { failure: none } = await runScenario(
      scenario('enough', { fixtures: 'empty' }, async ({ clock, every }) => {
        every('1h', () => {})
        const watch = every('1h', () => {}, { times: 3 })
        await clock.advance('2h')
        watch.stop()
      }),
    )
    expect(none).toBeUndefined()
  })

  test('refuses a step that moves time', async () => {
    const { message } = await failure(async ({ clock, at }) => {
      at('5m', () => clock.advance('1m'))
      await clock.advance('10m')
    })
    expect(message).toBe(
      "at 5m: Failed to move time in 'at 5m': time does not move during a step. Plan another step for later.",
    )
  })

  test.each([
    [(props: Parameters<Play>[0]) => props.at('soon', () => {}), /Failed to read the duration "soon"/],
    [(props: Parameters<Play>[0]) => props.at('2020-01-01T00:00:00Z', () => {}), /it is 2026-01-01T00:00:00/],
    [(props: Parameters<Play>[0]) => props.at('5m', undefined as never), /there is nothing to do/],
    [(props: Parameters<Play>[0]) => props.every('0s', () => {}), /would never let time go on/],
    [(props: Parameters<Play>[0]) => props.every('1s', () => {}, { times: 0 }), /times is 0/],
  ])('rejects an invalid plan: %s', async (plan, expected) => {
    expect((await failure(props => void plan(props))).message).toMatch(expected)
  })
})

describe('scenario.each', () => {
  test('creates a scenario for each row', async () => {
    const made = scenario.each([
      { gpu: 'H100-80GB', time: { most: '20m' } },
      { gpu: 'A100-80GB', time: { most: '30m' } },
    ] as const)(
      'a deployment on $gpu is up after $time.most',
      ({ gpu }) => ({ fixtures: 'empty', tags: [gpu] }),
      async ({ api, clock, check }, { gpu, time }) => {
        const it = await api.createLlmDeployment({ ...chat, gpu })
        await clock.advance(time.most)
        check(await api.getDeployment(it), { status: 'running' })
      },
    )
    expect(made.map(({ title, options }) => [title, options.tags])).toEqual([
      ['a deployment on H100-80GB is up after 20m', ['H100-80GB']],
      ['a deployment on A100-80GB is up after 30m', ['A100-80GB']],
    ])
    for (const one of made) expect((await runScenario(one)).failure).toBeUndefined()
    expect(
      scenario
        .each([1, 2])('number $row', {}, () => {})
        .map(({ title }) => title),
    ).toEqual(['number 1', 'number 2'])
  })

  test('rejects an unknown column', () => {
    expect(() => scenario.each([{ gpu: 1 }])('on $gpus', {}, () => {})).toThrow(/no 'gpus'\. Did you mean '\$gpu'\?/)
    expect(() => scenario.each([])('none', {}, () => {})).toThrow(/its table has no rows/)
  })
})

test('the description of a scenario is not an option of its world', async () => {
  const about = { tags: ['a'], teaches: 'that', client: 'this', seeds: 'own' } as const
  expect((await run(() => {}, about)).failure).toBeUndefined()
})
