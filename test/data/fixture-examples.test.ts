import { describe, expect, test } from 'vitest'
import { correctField, exampleAt, smallestFile } from '../../src/data/fixtures/examples.ts'
import { loadFixture } from '../../src/data/fixtures/load.ts'
import { FIXTURE_KEYS, type FixtureError, type FixtureKey } from '../../src/data/fixtures/problem-report.ts'
import { Fixture, type FixtureInput } from '../../src/data/records/fixture.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { fixtureFields } from '../docs/fixture-fields.ts'

const account = { uid: 'user_1', email: 'dev@acme.example', display_name: 'acme', funds_cents: 100_000 }

function mistakesOf(fixture: unknown): readonly { problem: string; example?: string }[] {
  try {
    loadFixture(fixture as FixtureInput)
  } catch (error) {
    return (error as FixtureError).mistakes
  }
  throw new Error('expected a FixtureError, nothing was thrown')
}

test.each(FIXTURE_KEYS)('the smallest content of %s.json is valid', key => {
  expect(Fixture.shape[key].safeParse(smallestFile(key)).error).toBeUndefined()
})

test('the example of each field of a simple record is valid in the smallest record', () => {
  let fields = 0
  for (const [file, rows] of fixtureFields()) {
    const key = file.replace('.json', '') as FixtureKey
    const smallest = smallestFile(key)
    if (!Array.isArray(smallest) || key === 'history') continue
    for (const { field } of rows) {
      if (!/^\w+$/.test(field)) continue
      fields++
      const changed = [{ ...smallest[0], [field]: exampleAt(key, [0, field], smallest) }]
      expect([key, field, Fixture.shape[key].safeParse(changed).error]).toEqual([key, field, undefined])
    }
  }
  expect(fields).toBeGreaterThan(100)
})

test.each([
  ['deployments', [0, 'num_gpus'], 'expected at most 8, got 9.', 8],
  ['deployments', [0, 'gpu'], "got 'H100'. Did you mean 'H100-80GB'?", 'H100-80GB'],
  ['account', ['cart'], "unknown field. Did you mean 'card'?", 'good'],
  ['deployments', [0, 'color'], 'unknown field. Remove it.', undefined],
  ['nodes', ['pools', 0, 'name'], 'expected a string, got 5.', 'pair'],
] as const)('the example of %s %j is correct when the problem is "%s"', (key, path, problem, expected) => {
  expect(correctField(key, path, undefined, problem)?.value).toBe(expected)
})

describe('all mistakes are found at once', () => {
  test('of fields, references and times', () => {
    const mistakes = mistakesOf({
      account: { ...account, cart: 'good' },
      models: [{ model_name: 'acme-labs/chat-8b', type: 'text-generation', parameters_b: '8' }],
      deployments: [
        { model_name: 'acme/chat', gpu: 'H100' },
        { model_name: 'acme/tone', type: 'lora', base_model: 'acme-labs/chat-9b' },
        { model_name: 'acme/old', created_at: '2027-01-01T00:00:00Z' },
      ],
    })
    expect(mistakes.map(({ problem, example }) => [problem.replace(/: (expected|unknown).*/, ''), example])).toEqual([
      ['account: $.cart', '"card": "good"'],
      ['models: $[0].parameters_b', '"parameters_b": 8'],
      ['deployments: $[0].gpu', '"gpu": "H100-80GB"'],
      ['deployments: $[1].source', undefined],
      ['deployments: $[1].base_model', '"base_model": "acme-labs/chat-8b"'],
      ['deployments: $[2].created_at', undefined],
    ])
  })

  test.each([
    ['a field to remove', { fail_reason: 'x' }, [undefined]],
    ['an unknown field', { color: 'red' }, [undefined]],
    ['a missing reference', { type: 'lora', base_model: 'x/none' }, [undefined, undefined]],
    ['a reference of a wrong type', { base_model: 5 }, [undefined]],
    ['a field that another one bounds', { load: { kind: 'wave', low: 5 } }, [undefined]],
    [
      'such a field beside another mistake',
      { gpu: 'H100', load: { kind: 'wave', low: 5 } },
      ['"gpu": "H100-80GB"', undefined],
    ],
    ['a field that nothing bounds', { load: { kind: 'wave', low: 0 } }, ['"high": 1']],
    ['a bound', { load: { kind: 'wave', low: 9, high: 2 } }, ['"high": 9']],
    ['a trace without a folder', { load: { kind: 'trace', path: 'x.csv' } }, [undefined]],
    ['a name of another account', { model_name: 'other/chat' }, [undefined]],
    ['a missing name', { model_name: undefined }, ['"model_name": "acme/chat"']],
  ])('and an example is given only if it is correct: %s', (_, fields, examples) => {
    const mistakes = mistakesOf({ account, deployments: [{ model_name: 'acme/x', ...fields }] })
    expect(mistakes.map(({ example }) => example)).toEqual(examples)
  })

  test('and a name that is taken or of another account is not an example', () => {
    const named = (display_name: string, deployments: unknown[]) =>
      mistakesOf({ account: { ...account, display_name }, deployments }).map(({ example }) => example)
    expect(named('acme', [{ model_name: 'acme/chat' }, {}])).toEqual([undefined])
    expect(named('other', [{}])).toEqual([undefined])
  })

  test('and a field that is wrong causes no second mistake', () => {
    const mistakes = mistakesOf({
      account: { ...account, display_name: 'a c m e' },
      deployments: [
        { model_name: 'a c m e/chat' },
        { model_name: 'acme/chat', load: { kind: 'wave', low: 9, high: 2 } },
      ],
      files: [{ id: 7, filename: 'a', created_at: 0, content: '' }],
    })
    expect(mistakes.map(({ problem }) => problem.split(': ')[1])).toEqual([
      '$.display_name',
      '$[1].load.high',
      '$[0].id',
    ])
  })

  test('and a repeated model name is one mistake', () => {
    const model = { model_name: 'acme-labs/chat-8b', type: 'text-generation' } as const
    const pricing = { type: 'tokens', cents_per_input_token: 7e-6, cents_per_output_token: 9e-6 } as const
    const models = [
      { ...model, parameters_b: 8 },
      { ...model, parameters_b: 70 },
      { ...model, parameters_b: 8, pricing },
    ]
    const name = "'acme-labs/chat-8b' is already the value of another record. Choose another value."
    expect(mistakesOf({ account, models: models.slice(0, 2) })).toEqual([
      { problem: `models: $[1].model_name: ${name}` },
    ])
    expect(mistakesOf({ account, models }).map(({ problem }) => problem)).toEqual([
      `models: $[1].model_name: ${name}`,
      `models: $[2].model_name: ${name}`,
    ])
  })

  test('and a list that is not a list hides comparisons, not other mistakes', () => {
    const mistakes = mistakesOf({
      account: { ...account, card: 'god' },
      models: {},
      deployments: [{ model_name: 'acme/tone', type: 'lora', base_model: 'acme-labs/chat-9b' }],
    })
    expect(mistakes.map(({ problem }) => problem.split(': ')[1])).toEqual(['$.card', '$'])
  })
})

describe('a model without versions, prices and hardware', () => {
  const tasks = ['text-generation', 'embeddings', 'text-to-image', 'text-to-speech', 'reranker', 'custom'] as const
  const models = tasks.map(type => ({ model_name: `acme-labs/${type}-8b`, type, parameters_b: 8 }))

  test('gets them, and the completed fixture loads as it is', () => {
    const fixture = loadFixture({ account, models })
    expect(loadFixture(fixture)).toEqual(fixture)
    expect(fixture.models.map(({ pricing, versions }) => [pricing.type, versions.length])).toEqual([
      ['tokens', 1],
      ['input_tokens', 1],
      ['image_units', 1],
      ['input_character_length', 1],
      ['input_tokens', 1],
      ['time', 1],
    ])
    expect(fixture.hardware.map(row => row.model_name)).toEqual(models.map(model => model.model_name))
    expect(fixture.hardware[0]!.hardware.map(option => option.id)).toEqual([
      'serverless',
      '1xL4-24GB',
      '1xL40S-48GB',
      '1xA100-80GB',
      '1xH100-80GB',
      '1xH200-141GB',
    ])
  })

  test('answers and can be deployed', async () => {
    const api_tokens = [{ token: 'my_token', token_id: 'token_1', name: 'default', created_at: 0 }]
    const nodes = {
      pools: [{ name: 'p', zone: 'z', nodes: [{ prefix: 'n', gpu: 'H100-80GB', gpus_per_node: 8, count: 2 }] }],
    }
    const sim = createSimulator({ fixtures: { account, api_tokens, models, nodes } as FixtureInput })
    const send = (method: string, path: string, body?: unknown) =>
      sim.fetch(`http://sim${path}`, {
        method,
        headers: { authorization: 'Bearer my_token', 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
    const model = 'acme-labs/text-generation-8b'
    const answer = await send('POST', '/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Hi' }] })
    expect(answer.status).toBe(200)
    expect((await send('GET', '/models/list')).status).toBe(200)
  })

  test('has prices that agree with those that are stated', () => {
    const [model] = models
    const tokens = { type: 'tokens', cents_per_input_token: 7e-6, cents_per_output_token: 9e-6 } as const
    const priced = loadFixture({ account, models: [{ ...model!, pricing: tokens }] })
    expect(priced.hardware[0]!.hardware[0]).toMatchObject({
      pricing: { cents_per_million_input_tokens: 7, cents_per_million_output_tokens: 9 },
    })
    const pricing = { cents_per_million_input_tokens: 3, cents_per_million_output_tokens: 4 }
    const serverless = { type: 'serverless', id: 'serverless', name: 'Serverless', pricing } as const
    const hardware = [{ model_name: model!.model_name, hardware: [serverless] }]
    expect(loadFixture({ account, models: [model!], hardware }).models[0]!.pricing).toMatchObject({
      cents_per_input_token: 3e-6,
      cents_per_output_token: 4e-6,
    })
  })

  test('keeps its defaults when other models are added', () => {
    const alone = loadFixture({ account, models: models.slice(3, 4) })
    const together = loadFixture({ account, models })
    expect(together.models[3]).toEqual(alone.models[0])
    expect(together.hardware[3]).toEqual(alone.hardware[0])
  })
})

test('an added model of `with` gets its hardware', () => {
  const added = { model_name: 'acme-labs/new-8b', type: 'text-generation', parameters_b: 8 } as const
  const fixture = loadFixture('two-nodes', { patch: { models: [added] } })
  expect(fixture.hardware.at(-1)!.model_name).toBe('acme-labs/new-8b')
  expect(loadFixture('two-nodes').models).not.toContainEqual(expect.objectContaining({ model_name: added.model_name }))
})
