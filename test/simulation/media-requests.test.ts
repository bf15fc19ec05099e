/** Requests to media models: duration, price and end, on shared capacity and on the instances of a deployment. */
import { describe, expect, test } from 'vitest'
import { startMediaInference } from '../../src/service/openai/request-lifecycle.ts'
import { toNanoDollars } from '../../src/simulation/account/money.ts'
import {
  customWork,
  imageWork,
  type MediaWork,
  speechWork,
  transcriptionWork,
} from '../../src/simulation/inference/media-work.ts'
import type { Simulator, SimulatorOptions } from '../../src/simulator/simulator.ts'
import { openaiWorld } from '../service/openai/openai-world.ts'
import { sendTo } from '../setup/send-to.ts'

const CANVAS = 'inkfold/canvas-xl'
const SPEECH = 'larkspur-audio/lark-tts-2'
const SCRIBE = 'larkspur-audio/lark-scribe-large'
const PARSER = 'northfield/layout-parser-1b'
const OWN = 'acme/canvas'

/** Creates a world with the whole catalog and one deployment of an image model. */
function mediaWorld(options: SimulatorOptions = {}, about: object = {}): Simulator {
  const deployment = { model_name: OWN, task: 'text-to-image', max_batch_size: 2, ...about }
  return openaiWorld({ fixtures: 'empty', with: { deployments: [deployment] } as never, ...options }).sim
}

/** Submits a request as the API does. */
function ask(
  sim: Simulator,
  model: string,
  work: MediaWork,
  about: { pieces?: number; hash?: string; promptTokens?: number } = {},
) {
  const { world } = sim
  const task = world.deployments.findLive(model)?.row.plan.task ?? world.store.models.get(model)!.type
  const token = world.apiTokens.find(sim.token)
  return startMediaInference(world, token, model, task, () => ({ prefix: 'img-', hash: 'a', work, ...about }))
}

const images = (sim: Simulator, size: Partial<Parameters<typeof imageWork>[2]> = {}, model = CANVAS) =>
  imageWork(sim.world.profile, sim.world.store.models.get(model)?.pricing, { width: 1024, height: 1024, ...size })

const charges = (sim: Simulator) => sim.ledger.entries().filter(({ kind }) => kind === 'tokens' || kind === 'units')

describe('a served request to a catalog model', () => {
  const works: [string, string, (sim: Simulator) => MediaWork, object][] = [
    ['an image', CANVAS, sim => images(sim), { microcents: -200_000, pricing_type: 'image_units', units: 1 }],
    [
      'three smaller images',
      CANVAS,
      sim => images(sim, { width: 512, height: 256, count: 3 }),
      { microcents: -75_000, units: 0.375 },
    ],
    ['more iterations', CANVAS, sim => images(sim, { iterations: 50 }), { units: 50 / 25 }],
    [
      'speech',
      SPEECH,
      sim => speechWork(sim.world.profile, { characters: 123, seconds: 9.5 }),
      { microcents: -86_100, pricing_type: 'input_character_length', units: 123 },
    ],
    [
      'a transcription',
      SCRIBE,
      sim => transcriptionWork(sim.world.profile, 61.5),
      { microcents: -46_125, pricing_type: 'input_length', units: 61.5 },
    ],
    // 200 ms, and 200 ms for each of 0.9 billion parameters: 0.38 s at 8,330 micro-cents.
    [
      'the work of a custom model',
      PARSER,
      sim => customWork(sim.world.profile),
      { microcents: -3165, pricing_type: 'time', units: 0.38 },
    ],
  ]
  test.each(works)('is charged once by its pricing type: %s', async (_, model, workOf, charge) => {
    const sim = mediaWorld()
    const handle = ask(sim, model, workOf(sim))
    expect(charges(sim)).toEqual([])
    await sim.clock.advance('1h')
    expect(handle.state).toBe('served')
    expect(charges(sim)).toMatchObject([{ kind: 'units', subject: model, token_id: handle.plan.token, ...charge }])
    expect(Math.floor(toNanoDollars(handle.cost!.weight) / 10)).toBe(-charges(sim)[0]!.microcents)
    handle.complete()
    handle.abandon(0)
    expect(charges(sim)).toHaveLength(1)
  })

  // The work takes 2 s: a fixed second, and a second for the one billion parameters of the model.
  const work: MediaWork = {
    fixedTime: 1e6,
    timePerBillion: 1e6,
    amounts: { image_units: 0.375, input_character_length: 11, input_length: 2.5, output_length: 0.125 },
  }
  const image = { default_width: 512, default_height: 512, default_iterations: 4 }
  const prices: [object, number, number][] = [
    [{ type: 'image_units', cents_per_image_unit: 0.3, ...image }, 0.375, 112_500],
    [{ type: 'input_character_length', cents_per_input_chars: 0.00007 }, 11, 770],
    [{ type: 'input_length', cents_per_input_sec: 0.0000333 }, 2.5, 83],
    [{ type: 'output_length', cents_per_output_sec: 0.01 }, 0.125, 1250],
    [{ type: 'time', cents_per_sec: 0.00833 }, 2, 16_660],
    [{ type: 'uptime', cents_per_sec: 0.01 }, 2, 20_000],
    [{ type: 'input_tokens', cents_per_input_token: 0.0000005 }, 7, 3],
    [{ type: 'tokens', cents_per_input_token: 0.000002, cents_per_output_token: 0.000004 }, 7, 14],
  ]
  test.each(prices)(
    'costs its units times the price, rounded down to micro-cents: %#',
    async (pricing, units, cost) => {
      const model = { model_name: 'acme/any', type: 'custom', parameters_b: 1, pricing }
      const { sim } = openaiWorld({ fixtures: 'empty', with: { models: [model] } as never })
      const handle = ask(sim, 'acme/any', work, { promptTokens: 7 })
      await sim.clock.advance('1h')
      expect(handle.cost).toMatchObject({ units, pricingType: (pricing as { type: string }).type })
      expect(charges(sim).map(({ microcents }) => -microcents)).toEqual([cost])
    },
  )

  test('leaves no fraction behind: many small requests cost as much as one large one', async () => {
    const sim = mediaWorld()
    const speech = (characters: number) => speechWork(sim.world.profile, { characters, seconds: 1 })
    // Each costs 0.375 micro-cents.
    for (let i = 0; i < 10; i++) ask(sim, SCRIBE, transcriptionWork(sim.world.profile, 0.0005), { hash: String(i) })
    for (let i = 0; i < 3; i++) ask(sim, SPEECH, speech(1), { hash: String(i) })
    await sim.clock.advance('1m')
    const sum = (model: string) =>
      charges(sim).reduce((all, { subject, microcents }) => all - (subject === model ? microcents : 0), 0)
    expect(sum(SCRIBE)).toBe(Math.floor(10 * 0.0005 * 750))
    expect(sum(SPEECH)).toBe(2100)
  })

  test('takes a fixed time and a time that follows from its size and the parameters of the model', () => {
    const sim = mediaWorld()
    const timeOf = (model: string, work: MediaWork) => {
      const { startedAt, firstTokenAt } = ask(sim, model, work)
      return (firstTokenAt - startedAt) / 1e6
    }
    const { parameters_b: size } = sim.world.store.models.get(CANVAS)!
    expect(timeOf(CANVAS, images(sim))).toBeCloseTo(0.15 + 25 * 0.02 * size, 6)
    expect(timeOf(CANVAS, images(sim, { width: 2048, count: 2 }))).toBeCloseTo(2 * (0.15 + 2 * 25 * 0.02 * size), 6)
    const speech = speechWork(sim.world.profile, { characters: 100, seconds: 10 })
    expect(timeOf(SPEECH, speech)).toBeCloseTo(0.12 + 10 * 0.06 * 0.5, 6)
    expect(timeOf(SCRIBE, transcriptionWork(sim.world.profile, 600))).toBeCloseTo(0.15 + 600 * 0.007 * 1.55, 6)
  })

  test('comes in equal pieces when the answer is streamed', () => {
    const sim = mediaWorld()
    const whole = ask(sim, SPEECH, speechWork(sim.world.profile, { characters: 100, seconds: 10 }))
    const handle = ask(sim, SPEECH, speechWork(sim.world.profile, { characters: 100, seconds: 10 }), { pieces: 4 })
    expect(handle.tokenTime * 4).toBeCloseTo(whole.firstTokenAt - whole.startedAt, 3)
    expect(handle.firstTokenAt - handle.startedAt).toBeCloseTo(handle.tokenTime, -1)
  })

  test('appears in the usage of the month, in the report and in the journal', async () => {
    const sim = mediaWorld()
    ask(sim, CANVAS, images(sim, { width: 512 }))
    ask(sim, CANVAS, images(sim, { width: 512 }))
    ask(sim, SCRIBE, transcriptionWork(sim.world.profile, 0.3))
    await sim.clock.advance('1m')
    for (const path of ['usage', 'usage/tokens', `usage/${sim.token}`]) {
      const response = await sendTo(sim, `GET /payment/${path}?from=current`)
      const { months } = (await response.json()) as { months: [{ items: { model: { model_name: string } }[] }] }
      const items = months[0].items.filter(({ model }) => model.model_name.includes('/') && model.model_name !== OWN)
      expect(items).toMatchObject([
        { units: 1, rate: 0.2, cost: 0, pricing_type: 'image_units', model: { model_name: CANVAS, private: false } },
        { units: 0, rate: 0.00075, pricing_type: 'input_length', model: { task: 'automatic-speech-recognition' } },
      ])
    }
    const { money } = sim.report()
    expect(money.units_microcents).toBe(200_000 + 225)
    expect(money.tokens_microcents).toBe(0)
    expect(money.units_by_model).toEqual([
      { model: CANVAS, units_microcents: 200_000 },
      { model: SCRIBE, units_microcents: 225 },
    ])
    expect(money.opening_balance_microcents - money.rent_microcents - 200_225).toBe(money.closing_balance_microcents)
    expect(sim.journal.entries().find(({ kind }) => kind === 'inference.served')?.fields).toMatchObject({
      model: SCRIBE,
      seconds: expect.closeTo(0.153, 3),
    })
  })
})

describe('a request that is not served', () => {
  test('is not charged when its client leaves, when it breaks and when its account is cut off', async () => {
    const sim = mediaWorld({
      profile: { timings: { image_fixed: '1h' }, policies: { suspension_grace: '300ms' } },
    })
    const left = ask(sim, CANVAS, images(sim))
    const broken = ask(sim, CANVAS, images(sim))
    const cutOff = ask(sim, CANVAS, images(sim))
    await sim.clock.advance('10s')
    left.abandon(0)
    sim.world.inferenceRequests.fail(broken.ordinal, 'lost')
    sim.cluster.account.suspend('overdue-invoices')
    await sim.clock.advance('1h')
    expect([left.state, broken.state, cutOff.state]).toEqual(['left', 'broken', 'cutOff'])
    expect([left.cost, broken.cost, cutOff.cost]).toEqual([undefined, undefined, undefined])
    expect(charges(sim)).toEqual([])
  })
})

describe('a request to an own deployment', () => {
  test('costs nothing beside the rent, waits for a free place, and takes longer beside others', async () => {
    const sim = mediaWorld()
    const work = images(sim, {}, OWN)
    const handles = Array.from({ length: 3 }, (_, n) => ask(sim, OWN, work, { hash: String(n) }))
    expect(handles.map(({ state }) => state)).toEqual(['running', 'running', 'queued'])
    const [first, second] = handles.map(({ startedAt, firstTokenAt }) => firstTokenAt - startedAt)
    expect(second! / first!).toBeCloseTo(1.5, 3)
    await sim.clock.advance('1h')
    expect(handles.map(({ state, cost }) => [state, cost])).toEqual(Array(3).fill(['served', undefined]))
    expect(charges(sim)).toEqual([])
    const [deployment] = sim.report().deployments
    expect(deployment).toMatchObject({ requests: { arrived: 3, served: 3 }, tokens: { input: 0, output: 0 } })
  })

  test('takes longer on a slow node and on a smaller GPU', async () => {
    const timeOn = async (gpu: 'H100-80GB' | 'L4-24GB', slowdown = 1) => {
      const sim = mediaWorld({}, { gpu })
      for (const { name } of sim.cluster.nodes()) sim.cluster.node(name).degrade(slowdown)
      await sim.clock.advance('1s')
      const { startedAt, firstTokenAt } = ask(sim, OWN, images(sim, {}, OWN))
      return firstTokenAt - startedAt
    }
    const usual = await timeOn('H100-80GB')
    expect((await timeOn('H100-80GB', 3)) / usual).toBeCloseTo(3, 3)
    expect((await timeOn('L4-24GB')) / usual).toBeGreaterThan(5)
  })

  test('wakes a deployment that is scaled to zero, and breaks with its instance', async () => {
    const profile = { timings: { image_fixed: '1h' } }
    const sim = mediaWorld({ profile }, { settings: { min_instances: 0, max_instances: 1 } })
    await sim.clock.advance('2h')
    expect(sim.world.deployments.read(0).ready).toBe(0)
    const handle = ask(sim, OWN, images(sim, {}, OWN))
    expect(handle.state).toBe('queued')
    await sim.clock.advance('15m')
    expect(handle.state).toBe('running')
    for (const { name } of sim.cluster.nodes()) sim.cluster.node(name).crash()
    await sim.clock.advance('1s')
    expect(handle.state).toBe('broken')
  })

  test('is the same in a fork and in a restored snapshot', async () => {
    const sim = mediaWorld()
    ask(sim, CANVAS, images(sim))
    ask(sim, OWN, images(sim, {}, OWN))
    await sim.clock.advance('100ms')
    const fork = sim.fork()
    const restored = mediaWorld()
    restored.restore(sim.snapshot())
    for (const one of [sim, fork, restored]) await one.clock.advance('1m')
    for (const one of [fork, restored]) {
      expect(one.world.digest).toBe(sim.world.digest)
      expect(charges(one)).toEqual(charges(sim))
    }
    expect(charges(sim)).toHaveLength(1)
  })
})
