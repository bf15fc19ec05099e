import { describe, expect, test } from 'vitest'
import type { Deployment } from '../../src/simulation/deployments/deployment.ts'
import { engineArgsProblem } from '../../src/simulation/deployments/engine-args.ts'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { pass, passUntil, spec, stage } from './small-world.ts'

/** The statuses that a client sees, one after the other, until it is `last`. */
function statuses(sim: Simulator, deployment: Deployment, last: string): string[] {
  const seen: string[] = [deployment.status]
  passUntil(sim, () => {
    if (deployment.status !== seen.at(-1)) seen.push(deployment.status)
    return deployment.status === last
  })
  return seen
}

/** Seconds between the crash of one instance and the placement of the next. */
function waits(sim: Simulator, deploy_id: string): number[] {
  const at = (kind: string) =>
    sim.journal
      .entries()
      .filter(entry => entry.kind === kind && entry.subject.startsWith(`${deploy_id}-`))
      .map(entry => entry.time / 1e6)
  const placed = at('instance.placed')
  return at('instance.crashed').flatMap(crashed => {
    const next = placed.find(time => time > crashed)
    return next === undefined ? [] : [Math.round(next - crashed)]
  })
}

describe('an engine with an argument that it does not know', () => {
  test('crashes after loading began, is started again and again, and fails with the argument and the nearest', () => {
    const sim = stage()
    const chat = sim.world.deployments.createLlm(spec({ extra_args: ['--max-modle-len', '8192'] }))
    expect(statuses(sim, chat, 'failed')).toEqual([
      'initializing',
      'downloading',
      'deploying',
      ...Array.from({ length: 6 }, () => ['initializing', 'downloading', 'deploying']).flat(),
      'failed',
    ])
    expect(chat.row.failReason).toBe(
      'crash loop: 7 exits in a row, the last: engine exited with code 2: ' +
        'unrecognized arguments: --max-modle-len 8192 (did you mean --max-model-len?)',
    )
    expect(waits(sim, chat.deploy_id)).toEqual([10, 20, 40, 80, 160, 300])
    // From the start of loading to the exit it takes what the profile says.
    const last = sim.journal.entries().filter(entry => entry.subject === `${chat.deploy_id}-6`)
    const [loading, crashed] = ['instance.loading', 'instance.crashed'].map(
      kind => last.find(entry => entry.kind === kind)!.time,
    )
    expect(crashed! - loading!).toBe(5e6)
  })

  test('runs where the profile accepts what it does not know, and in an image of its own', () => {
    const accepting = stage([{}], {}, { profile: { policies: { unknown_engine_args: 'accept' } } })
    const one = accepting.world.deployments.createLlm(spec({ extra_args: ['--speed', 'ludicrous'] }))
    passUntil(accepting, () => one.status === 'running')

    const sim = stage()
    const own = sim.world.deployments.createLlm(
      spec({ extra_args: ['--x'], container_image: 'registry.example/mine:1' }),
    )
    passUntil(sim, () => own.status === 'running')
  })

  test('cannot be running in a fixture', () => {
    const deployments = [{ model_name: 'acme/x', weights: { repo: 'acme/chat-8b' }, extra_args: ['--dtype', 'fp99'] }]
    expect(() => stage([{}], {}, { with: { deployments } })).toThrow(
      /with\.deployments: \$\[0\] \(acme\/x\): it cannot be running: its engine exits with argument --dtype: invalid choice: 'fp99'/,
    )
  })

  test('starts again by hand with all its tries when the profile allows the start of a failed deployment', () => {
    const sim = stage([{}], {}, { profile: { extends: 'quick', policies: { failed_may_start: true } } })
    const chat = sim.world.deployments.createLlm(spec({ extra_args: ['--nope'] }))
    passUntil(sim, () => chat.status === 'failed')
    expect(chat.row.failReason).toContain('4 exits in a row')
    chat.start()
    expect(chat.toRecord()).toMatchObject({ status: 'initializing', fail_reason: '' })
    passUntil(sim, () => chat.status === 'failed')
    expect(chat.row.failReason).toContain('4 exits in a row')
  })
})

describe('arguments of an engine', () => {
  test.each([
    [[]],
    [['--max-model-len', '8192', '--enforce-eager']],
    [['--max-model-len=8k', '--gpu-memory-utilization=0.9', '-tp', '2']],
    [['--max_model_len', '4096', '--no-enable-prefix-caching', '-O3']],
    [['--served-model-name', 'a', 'b', '--dtype', 'bfloat16', '--seed', '-1']],
    [['--hf-overrides', '{"a":1}', '--speculative-config.method', 'ngram', '--enable-chunked-prefill']],
    [['--enable-auto-tool-choice', '--tool-call-parser', 'hermes', '--chat-template', '/t.jinja']],
  ])('that are known: %j', args => {
    expect(engineArgsProblem(args)).toBeUndefined()
  })

  test.each([
    [['--max-modle-len', '1'], 'unrecognized arguments: --max-modle-len 1 (did you mean --max-model-len?)'],
    [['--nothing-like-it'], 'unrecognized arguments: --nothing-like-it'],
    [['--max-model-len 8192'], 'unrecognized arguments: --max-model-len 8192'],
    [['--no-max-model-len'], 'unrecognized arguments: --no-max-model-len'],
    [['-zz', '--enforce-eager', '--qantization=awq'], 'unrecognized arguments: -zz --qantization=awq'],
    [['--max-model-len'], 'argument --max-model-len: expected one argument'],
    [['--max-model-len', '--enforce-eager'], 'argument --max-model-len: expected one argument'],
    [['--served-model-name'], 'argument --served-model-name: expected at least one argument'],
    [['--max-model-len=long'], "argument --max-model-len: invalid int value: 'long'"],
    [['--max-num-seqs', '1.5'], "argument --max-num-seqs: invalid int value: '1.5'"],
    [['--gpu-memory-utilization', 'most'], "argument --gpu-memory-utilization: invalid float value: 'most'"],
    [['--enforce-eager=true'], "argument --enforce-eager: ignored explicit argument 'true'"],
    [['--enforce-eager', 'true'], 'unrecognized arguments: true'],
    [['--hf-overrides', '{a:1}'], "argument --hf-overrides: invalid JSON value: '{a:1}'"],
    [
      ['--scheduling-policy', 'lifo'],
      "argument --scheduling-policy: invalid choice: 'lifo' (choose from 'fcfs', 'priority')",
    ],
  ])('that stop it: %j', (args, problem) => {
    expect(engineArgsProblem(args)).toContain(problem)
  })
})

describe('an engine that crashes while it serves', () => {
  function running(about: Parameters<typeof spec>[0] = {}) {
    const sim = stage([{ count: 2 }])
    const chat = sim.world.deployments.createLlm(spec(about))
    passUntil(sim, () => chat.status === 'running' && chat.toRecord().instances.pending === 0)
    return { sim, chat }
  }

  test('waits longer each time it happens within ten minutes of being ready, and from the first delay after that', () => {
    const { sim, chat } = running()
    for (const after of ['1m', '9m', '10m', '11m', '1m']) {
      pass(sim, after)
      sim.cluster.deployment(chat.deploy_id).crash()
      passUntil(sim, () => chat.toRecord().instances.running === 1)
    }
    expect(waits(sim, chat.deploy_id)).toEqual([10, 20, 40, 10, 20])
  })

  test('again and again fails the deployment, which says how often', () => {
    const { sim, chat } = running()
    sim.cluster.deployment(chat.deploy_id).crash(7)
    passUntil(sim, () => chat.status === 'failed')
    expect(chat.row.failReason).toBe('crash loop: 7 exits in a row, the last: engine exited with code 1')
  })

  test('one time fewer than that recovers', () => {
    const { sim, chat } = running()
    sim.cluster.deployment(chat.deploy_id).crash(6)
    passUntil(sim, () => chat.toRecord().instances.running === 1)
    pass(sim, '1h')
    expect(chat.toRecord()).toMatchObject({ status: 'running', instances: { running: 1, pending: 0 } })
  })

  test('does not fail a deployment that another instance serves', () => {
    const { sim, chat } = running({ min_instances: 2, max_instances: 2 })
    sim.cluster.deployment(chat.deploy_id).crash(20)
    pass(sim, '1h')
    expect(chat.toRecord()).toMatchObject({ status: 'running', instances: { running: 1, pending: 1 } })
    expect(waits(sim, chat.deploy_id).slice(-2)).toEqual([300, 300])
  })

  test('by an XID error of the program counts alike', () => {
    const { sim, chat } = running()
    for (let i = 0; i < 7; i++) {
      passUntil(sim, () => chat.toRecord().instances.running === 1)
      const node = sim.cluster.nodeOf(chat.deploy_id).name
      sim.cluster.gpu(node, 0).fail(31)
    }
    expect(chat.row.failReason).toBe(
      'crash loop: 7 exits in a row, the last: GPU 0 of node-0: XID 31, memory page fault',
    )
  })

  test('by hand needs a deployment whose engine runs', () => {
    const { sim, chat } = running()
    expect(() => sim.cluster.deployment('unknown').crash()).toThrow(
      "Failed to find the deployment 'unknown': its id is unknown. GET /deploy/list lists them.",
    )
    expect(() => sim.cluster.deployment(chat.deploy_id).crash(0)).toThrow(
      "Failed to execute 'deployment.crash': times is 0. Give an integer from 1 to 1,000.",
    )
    chat.stop()
    const { digest } = sim.world
    expect(() => sim.cluster.deployment(chat.deploy_id).crash()).toThrow(/no engine of it runs\. Advance the clock/)
    expect(sim.world.digest).toBe(digest)
  })

  test('is history after a stop and a start', () => {
    const { sim, chat } = running()
    sim.cluster.deployment(chat.deploy_id).crash(100)
    pass(sim, '1m')
    chat.stop()
    chat.start()
    passUntil(sim, () => chat.toRecord().instances.running === 1, '10m')
  })
})
