import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { openFixture as openInBrowser } from '../../src/data/fixtures/files.browser.ts'
import { loadFixture } from '../../src/data/fixtures/load.ts'
import { FixtureError } from '../../src/data/fixtures/problem-report.ts'
import type { FixtureInput, FixturePatch } from '../../src/data/records/fixture.ts'
import { parseJsonText } from '../../src/lib/json-text.ts'
import { temporaryFolder } from '../setup/temporary-folder.ts'

const account = { uid: 'user_1', email: 'a@acme.example', display_name: 'acme', funds_cents: 100 }

function failureOf(act: () => unknown): FixtureError {
  try {
    act()
  } catch (error) {
    expect(error).toBeInstanceOf(FixtureError)
    return error as FixtureError
  }
  throw new Error('expected a FixtureError, nothing was thrown')
}

test('a fixture is read once by name, and is the same frozen object', () => {
  expect(loadFixture('default')).toBe(loadFixture('default'))
})

test('a fixture as an object requires only an account', () => {
  const fixture = loadFixture({ account })
  expect(fixture.deployments).toEqual([])
  expect(fixture.hub).toEqual({
    policy: 'estimate',
    images: expect.arrayContaining(['registry.example/*']),
    repositories: [],
  })
  expect(fixture.account.card).toBe('good')
})

test('a loaded fixture can be loaded again', () => {
  const fixture = loadFixture('default')
  expect(loadFixture(fixture)).toEqual(fixture)
})

test('the object of the user stays unchanged', () => {
  const source: FixtureInput = { account: { ...account }, deployments: [{ model_name: 'acme/chat' }] }
  loadFixture(source)
  expect(source).toEqual({ account, deployments: [{ model_name: 'acme/chat' }] })
  expect(Object.isFrozen(source.account)).toBe(false)
})

describe('a patch', () => {
  test('appends records and replaces fields of the account', () => {
    const fixture = loadFixture('empty', {
      patch: {
        account: { funds_cents: 5 },
        deployments: [{ model_name: 'acme/chat', status: 'running' }],
        hub: { repositories: [{ repo: 'acme/tiny', bytes: 1, parameters_b: 0.1 }] },
        nodes: {
          pools: [{ name: 'own', zone: 'z', nodes: [{ prefix: 'own', gpu: 'L4-24GB', gpus_per_node: 1, count: 1 }] }],
        },
      },
    })
    const empty = loadFixture('empty')
    expect(fixture.account).toEqual({ ...empty.account, funds_cents: 5 })
    expect(fixture.deployments).toMatchObject([{ model_name: 'acme/chat', status: 'running', type: 'llm' }])
    expect(fixture.hub.policy).toBe(empty.hub.policy)
    expect(fixture.hub.repositories.map(each => each.repo)).toEqual([
      ...empty.hub.repositories.map(each => each.repo),
      'acme/tiny',
    ])
    expect(fixture.nodes.pools).toHaveLength(empty.nodes.pools.length + 1)
    expect(empty.deployments).toEqual([])
  })

  test.each<[string, FixturePatch, string]>([
    [
      'a wrong word',
      { deployments: [{ model_name: 'acme/x', status: 'runing' as never }] },
      "with.deployments: $[0].status: expected one of 'initializing'",
    ],
    [
      'a foreign owner',
      { deployments: [{ model_name: 'zen/x' }] },
      "with.deployments: $[0].model_name: expected a name of the account's own, 'acme/…', got 'zen/x'",
    ],
    [
      'a taken name',
      { deployments: [{ model_name: 'acme/assistant' }] },
      "with.deployments: $[0].model_name: 'acme/assistant' is already the value of another record",
    ],
    [
      'a repository twice',
      { hub: { repositories: [{ repo: 'acme/chat-8b', bytes: 1, parameters_b: 1 }] } },
      "with.hub: $.repositories[0].repo: 'acme/chat-8b' is already the value of another record",
    ],
    ['an unknown key', { deployment: [] } as never, "with.deployment: unknown field. Did you mean 'deployments'?"],
    [
      'a wrong limit',
      { account: { gpu_limits: { H100: 4 } as never } },
      "with.account: $.gpu_limits.H100: unknown field. Did you mean 'H100-80GB'?",
    ],
  ])('with %s is rejected with the place of the record', (_, patch, message) => {
    expect(failureOf(() => loadFixture('default', { patch })).message).toContain(message)
  })
})

test('an epoch before many records is one problem with the earliest valid epoch', () => {
  const { message, problems } = failureOf(() => loadFixture('default', { epochMs: Date.UTC(2020, 0, 1) }))
  const [, needed] =
    /the epoch 2020-01-01T00:00:00\.000Z is earlier than \d+ times in the records, the latest \S+\. Give an epoch of (\S+) or later\.$/.exec(
      message,
    ) ?? []
  expect(problems).toHaveLength(1)
  expect(loadFixture('default', { epochMs: Date.parse(needed!) }).api_tokens).not.toEqual([])
  expect(() => loadFixture('default', { epochMs: Date.parse(needed!) - 1000 })).toThrow(FixtureError)
})

test('every problem is reported', () => {
  const { problems } = failureOf(() =>
    loadFixture({ account: { ...account, funds_cents: 1.5 }, voices: [{} as never], hosted: 3 as never }),
  )
  expect(problems).toEqual([
    'account: $.funds_cents: expected a whole number, got 1.5. Fix that value.',
    'voices: $[0].user_id: expected a string, got nothing. Add that field.',
    'voices: $[0].voice_id: expected a string, got nothing. Add that field.',
    'voices: $[0].name: expected a string, got nothing. Add that field.',
    'voices: $[0].created_at: expected a number, got nothing. Add that field.',
    'voices: $[0].updated_at: expected a number, got nothing. Add that field.',
    'hosted: $: expected an array, got 3. Fix that value.',
  ])
})

test('an unknown source is rejected with the known names', () => {
  expect(failureOf(() => loadFixture('defualt')).message).toBe(
    "Failed to read fixture 'defualt': unknown name. Did you mean 'default'? " +
      "Give one of 'default', 'empty', 'fleet', 'full', 'two-nodes', or the path of a folder.",
  )
  expect(failureOf(() => loadFixture('./no/such/folder')).message).toContain('the folder is missing')
})

test('a browser requires an object', () => {
  expect(() => openInBrowser('default')).toThrow(
    "Failed to read fixture 'default': folders need Node. Give the fixture as an object.",
  )
})

describe('a folder', () => {
  let folder = ''
  beforeEach(() => {
    folder = temporaryFolder()
    cpSync('fixtures/worlds/default', folder, { recursive: true })
  })
  const read = (file: string) => JSON.parse(readFileSync(join(folder, file), 'utf8'))
  const write = (file: string, text: string) => writeFileSync(join(folder, file), text)
  // biome-ignore lint/suspicious/noExplicitAny: the point is to write what the types forbid
  const edit = (file: string, change: (records: any) => void) => {
    const records = read(file)
    change(records)
    write(file, JSON.stringify(records))
  }

  test('has a file of a world of the package by the name of the world', () => {
    write('models.json', '"full"')
    write('hardware.json', '"default"')
    expect(loadFixture(folder)).toEqual(loadFixture('default'))
    // The contents of its records are in the folder of that world.
    rmSync(join(folder, 'files'), { recursive: true })
    write('files.json', '"default"')
    expect(loadFixture(folder)).toEqual(loadFixture('default'))
    write('models.json', '"defualt"')
    write('hub.json', '"mine"')
    const { message } = failureOf(() => loadFixture(folder))
    expect(message).toContain(
      "models.json: expected the content or the name of a world, got 'defualt'. Did you mean 'default'?",
    )
    expect(message).toContain("got 'mine'. Worlds are 'default', 'empty', 'fleet', 'full', 'two-nodes'.")
  })

  test('loads as by its name', () => {
    expect(loadFixture(folder)).toEqual(loadFixture('default'))
  })

  test('is read again after an edit, also of a content', () => {
    const before = loadFixture(folder)
    edit('account.json', record => {
      record.funds_cents = 7
    })
    expect(loadFixture(folder).account.funds_cents).toBe(7)
    expect(before.account.funds_cents).not.toBe(7)
    write('files/tickets.jsonl', '{}\n')
    expect(loadFixture(folder).files[0]!.content).toBe('{}\n')
  })

  /** Changes the value at a place such as `[2].settings.min_instances`. */
  const replace = (file: string, place: string, newValue: (valueAt: (other: string) => unknown) => unknown) =>
    edit(file, records => {
      const steps = place.match(/\w+/g)!
      const field = steps.pop()!
      // biome-ignore lint/suspicious/noExplicitAny: a row names only places that exist
      const follow = (path: string[]): any => path.reduce((at, step) => at[step], records)
      follow(steps)[field] = newValue(other => follow(other.match(/\w+/g)!))
    })

  test.each<[file: string, place: string, value: unknown, problem: string]>([
    ['deployments', '[2].gpu', 'H100', "'B300-270GB', 'RTXPRO6000-96GB', got 'H100'. Did you mean 'H100-80GB'?"],
    ['deployments', '[0].num_gpu', 1, "unknown field. Did you mean 'num_gpus'? Rename or remove it."],
    ['deployments', '[0].settings.min_instance', 1, "unknown field. Did you mean 'min_instances'?"],
    ['hardware', '[1].hardware[1].num_gpu', 1, "unknown field. Did you mean 'num_gpus'?"],
    ['hardware', '[0].hardware[0].type', 'serverles', "got 'serverles'. Did you mean 'serverless'?"],
    ['deployments', '[1].num_gpus', 9, 'expected at most 8, got 9. Fix that value.'],
    ['hub', '.repositories[0].bytes', '16 GB', "expected a number, got '16 GB'."],
    ['models', '[3].model_name', 'aurora', "expected text like 'owner/name', got 'aurora'."],
    [
      'account',
      '.display_name',
      'a b',
      'expected text of letters, digits, dots, dashes and underscores that begins with',
    ],
    ['deployments', '[0].created_at', '2025-12-31', "expected a time with an offset like '2025-12-31T08:00:00Z'"],
    ['hub', '.repositories[4].repo', 'acme/chat-8b', "'acme/chat-8b' is already the value of another record"],
    ['nodes', '.pools[3].nodes[0].prefix', 'h100', "'h100' is already the value of another record"],
    ['models', '[4].replaced_by', 'aurora-labs/aurora-8b-instruc', "Did you mean 'aurora-labs/aurora-8b-instruct'?"],
    ['hardware', '[0].model_name', 'aurora-labs/aurora-3b', 'expected a model of models.json, got'],
    ['batches', '[0].input_file_id', 'file_x', "expected a file of files.json, got 'file_x'."],
    ['nodes', '.pools[0].nodes[1].occupied', 9, 'expected at most gpus_per_node, 8, got 9.'],
    ['nodes', '.pools[0].nodes[1].max', 1e9, 'expected at most 100000 nodes in all groups together, got 1000000'],
    ['deployments', '[0].settings.max_instances', 0, 'expected at least min_instances, 1, got 0.'],
    ['deployments', '[0].model_name', 'zen/assistant', "expected a name of the account's own, 'acme/…', got"],
    [
      'deployments',
      '[7].model_name',
      'aurora-labs/aurora-8b',
      "expected a model of models.json or a name like 'acme/…'",
    ],
    [
      'deployments',
      '[5].base_model',
      undefined,
      'expected the model that the lora adapts, got nothing. Add that field.',
    ],
    ['deployments', '[5].source', undefined, 'expected the source of the adapter, got nothing.'],
    ['deployments', '[5].base_model', 'acme/asistant', 'expected a model of models.json or a deployment, got'],
    ['deployments', '[2].fail_reason', '', 'expected a reason for the status failed, got none.'],
    ['deployments', '[0].fail_reason', 'x', 'only the status failed has a reason, and this one is running.'],
    [
      'voices',
      '[0].updated_at',
      1_767_225_601,
      "expected a time not later than the world's epoch 2026-01-01T00:00:00.000Z",
    ],
    ['deployments', '[3].updated_at', '2026-01-01T00:00:01Z', "expected a time not later than the world's epoch"],
    ['batches', '[0].completed_at', 1, 'expected a time not before the steps that come first'],
    ['files', '[0].path', 'files/ticket.jsonl', "the file 'files/ticket.jsonl' is missing below the fixture's folder."],
    ['files', '[0].path', '../../etc/hosts', "the file '../../etc/hosts' is missing below the fixture's folder."],
  ])('is refused if %s.json has at %s the value %j', { tags: 'slow' }, (file, place, value, problem) => {
    replace(`${file}.json`, place, () => value)
    const { message } = failureOf(() => loadFixture(folder))
    expect(message).toContain(`${file}.json: $${place}: `)
    expect(message).toContain(problem)
  })

  test('is refused without the content of a file', () => {
    replace('files.json', '[0].path', () => undefined)
    const problem = "files.json: $[0].content: expected 'path' or 'content', got neither. Add one."
    expect(failureOf(() => loadFixture(folder)).message).toContain(problem)
  })

  test.each<[file: string, place: string, other: string, problem: string]>([
    ['api_tokens', '[1].token', '[0].token', "'sim_default_token' is already the value of another record."],
    ['api_tokens', '[2].token_id', '[0].token_id', 'is already the value of another record.'],
    ['models', '[1].model_name', '[0].model_name', 'is already the value of another record.'],
    ['schemas', '[1].variant', '[0].variant', "'text-generation default' is already the value of another record"],
    ['voices', '[5].voice_id', '[0].voice_id', 'is already the value of another record.'],
    ['deployments', '[5].deploy_id', '[0].deploy_id', 'is already the value of another record.'],
    ['files', '[3].id', '[0].id', 'is already the value of another record.'],
    ['batches', '[1].id', '[0].id', 'is already the value of another record.'],
    ['hosted', '[1].instance_id', '[0].instance_id', 'is already the value of another record.'],
    ['batches', '[0].output_file_id', '[0].input_file_id', "expected a file of purpose 'batch_output', got one of"],
    ['batches', '[1].output_file_id', '[0].input_file_id', 'files.json has this file already, but the batch is'],
    ['batches', '[0].error_file_id', '[0].output_file_id', 'is the file of another batch or field already.'],
  ])('is refused if %s.json has at %s the value of %s', { tags: 'slow' }, (file, place, other, problem) => {
    replace(`${file}.json`, place, valueAt => valueAt(other))
    const { message } = failureOf(() => loadFixture(folder))
    expect(message).toContain(`${file}.json: $${place}: `)
    expect(message).toContain(problem)
  })

  test('requires listed weights when the policy of its hub is refuse', () => {
    edit('hub.json', record => {
      record.policy = 'refuse'
    })
    loadFixture(folder)
    edit('deployments.json', records => {
      records[0].weights.repo = 'acme/chat-71b'
      delete records[1].weights
    })
    const { message } = failureOf(() => loadFixture(folder))
    expect(message).toContain(
      "deployments.json: $[0].weights.repo: expected a repository of hub.json, whose policy is refuse, got 'acme/chat-71b'. Did you mean 'acme/chat-70b'?",
    )
    expect(message).toContain(
      "deployments.json: $[1].weights: expected the weights to serve: hub.json has no 'acme/summarizer'",
    )
  })

  test('is rejected with the position when it has invalid JSON', () => {
    write('voices.json', '[\n  { "user_id": "u" "name": 1 }\n]\n')
    expect(failureOf(() => loadFixture(folder)).message).toContain(
      "voices.json: line 2, column 20: expected ',' or '}', got '\"'. Fix the JSON there.",
    )
  })

  test('is rejected with the position when it has a key twice', { tags: 'slow' }, () => {
    write('api_tokens.json', '[\n  { "user_id": "u",\n    "user_id": "v" }\n]\n')
    expect(failureOf(() => loadFixture(folder)).message).toContain(
      'api_tokens.json: line 3, column 5: the key "user_id" is there twice. Fix the JSON there.',
    )
  })

  test('may begin with a byte order mark', () => {
    write('account.json', `\ufeff${readFileSync(join(folder, 'account.json'), 'utf8')}`)
    expect(() => loadFixture(folder)).not.toThrow()
  })

  test('is rejected with the nearest name when a file is misspelt', () => {
    cpSync(join(folder, 'voices.json'), join(folder, 'voice.json'))
    expect(failureOf(() => loadFixture(folder)).message).toContain(
      "voice.json: unknown file. Did you mean 'voices.json'? Rename or remove it.",
    )
  })

  test('may have a README, and files may be missing', () => {
    write('README.md', '# a world')
    rmSync(join(folder, 'hosted.json'))
    rmSync(join(folder, 'history.json'))
    expect(loadFixture(folder).hosted).toEqual([])
  })

  test('is invalid without an account', () => {
    rmSync(join(folder, 'account.json'))
    expect(failureOf(() => loadFixture(folder)).message).toContain('account.json: the file is missing')
  })
})

test('an object with a misspelt key, or an unreadable path, is rejected', () => {
  expect(failureOf(() => loadFixture({ account, deploymnts: [] } as never)).message).toBe(
    "Failed to load the fixture: deploymnts: unknown field. Did you mean 'deployments'? Rename or remove it.",
  )
  const files = [{ id: 'file_1', filename: 'a.jsonl', created_at: 0, path: 'a.jsonl' }]
  expect(failureOf(() => loadFixture({ account, files })).message).toContain(
    "files: $[0].path: a path needs a fixture's folder. Give 'content' in its place.",
  )
  const deployments = [{ model_name: 'acme/chat', load: { trace: 'requests.csv' } }] as never
  for (const load of [
    () => loadFixture({ account, deployments }),
    () => loadFixture('empty', { patch: { deployments } }),
  ])
    expect(failureOf(load).message).toContain(
      "deployments: $[0].load.path: a path needs a fixture's folder. Give 'text' in its place.",
    )
  const unowned = [{ model_name: 'acme/chat', weights: { repo: 'noslash' } }] as never
  expect(failureOf(() => loadFixture({ account, deployments: unowned })).message).toContain(
    "deployments: $[0].weights.repo: expected text like 'owner/name', got 'noslash'.",
  )
  expect(failureOf(() => loadFixture({} as never)).message).toContain('account: expected an object, got nothing')
})

test.each([
  ['{"a": x}', 1, 7, "expected a value, got 'x'"],
  ['[1,]', 1, 4, "expected a value, got ']'"],
  ['{"a":1,}', 1, 8, "expected a field name in double quotes, got '}'"],
  ["{'a':1}", 1, 2, "expected a field name in double quotes, got '''"],
  ['{"a" 1}', 1, 6, "expected ':', got '1'"],
  ['[1]\n]', 2, 1, "expected the end of the file, got ']'"],
  ['{\n  "a": [1, 2\n}', 3, 1, "expected ',' or ']', got '}'"],
  ['["a\nb"]', 1, 2, "expected a string that ends on its line, got '\"'"],
  ['', 1, 1, 'expected a value, got the end of the file'],
])('the JSON %j is invalid at line %i, column %i', (text, line, column, reason) => {
  expect(parseJsonText(text)).toEqual({ fault: { line, column, reason } })
})
