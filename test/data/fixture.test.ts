import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openFixture as openInBrowser } from '../../src/data/fixtures/files.browser.ts'
import { loadFixture } from '../../src/data/fixtures/load.ts'
import { FixtureError } from '../../src/data/fixtures/problem-report.ts'
import type { FixtureInput, FixturePatch } from '../../src/data/records/fixture.ts'
import { parseJsonText } from '../../src/lib/json-text.ts'

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
    folder = mkdtempSync(join(tmpdir(), 'fixture-'))
    cpSync('fixtures/worlds/default', folder, { recursive: true })
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

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

  // biome-ignore lint/suspicious/noExplicitAny: the point is to write what the types forbid
  const broken: [string, string, (records: any) => void, string][] = [
    [
      'an unknown GPU',
      'deployments.json',
      r => {
        r[2].gpu = 'H100'
      },
      "deployments.json: $[2].gpu: expected one of 'L4-24GB', 'L40S-48GB', 'A100-80GB', 'H100-80GB', 'H200-141GB', 'B200-180GB', 'B300-270GB', 'RTXPRO6000-96GB', got 'H100'. Did you mean 'H100-80GB'? Fix that value.",
    ],
    [
      'an unknown field',
      'deployments.json',
      r => {
        r[0].num_gpu = 1
      },
      "deployments.json: $[0].num_gpu: unknown field. Did you mean 'num_gpus'? Rename or remove it.",
    ],
    [
      'a field inside a field',
      'deployments.json',
      r => {
        r[0].settings.min_instance = 1
      },
      "deployments.json: $[0].settings.min_instance: unknown field. Did you mean 'min_instances'?",
    ],
    [
      'a field of one of two kinds',
      'hardware.json',
      r => {
        r[1].hardware[1].num_gpu = 1
      },
      "hardware.json: $[1].hardware[1].num_gpu: unknown field. Did you mean 'num_gpus'?",
    ],
    [
      'an unknown kind',
      'hardware.json',
      r => {
        r[0].hardware[0].type = 'serverles'
      },
      "hardware.json: $[0].hardware[0].type: expected one of 'serverless', 'dedicated', got 'serverles'. Did you mean 'serverless'?",
    ],
    [
      'a number out of bounds',
      'deployments.json',
      r => {
        r[1].num_gpus = 9
      },
      'deployments.json: $[1].num_gpus: expected at most 8, got 9. Fix that value.',
    ],
    [
      'text for a number',
      'hub.json',
      r => {
        r.repositories[0].bytes = '16 GB'
      },
      "hub.json: $.repositories[0].bytes: expected a number, got '16 GB'.",
    ],
    [
      'a name without an owner',
      'models.json',
      r => {
        r[3].model_name = 'aurora'
      },
      "models.json: $[3].model_name: expected text like 'owner/name', got 'aurora'.",
    ],
    [
      'a name with a space, in words',
      'account.json',
      r => {
        r.display_name = 'a b'
      },
      "account.json: $.display_name: expected text of letters, digits, dots, dashes and underscores that begins with a letter or digit, got 'a b'.",
    ],
    [
      'a time without an offset',
      'deployments.json',
      r => {
        r[0].created_at = '2025-12-31'
      },
      "deployments.json: $[0].created_at: expected a time with an offset like '2025-12-31T08:00:00Z', got '2025-12-31'.",
    ],
    [
      'a token value twice',
      'api_tokens.json',
      r => {
        r[1].token = r[0].token
      },
      "api_tokens.json: $[1].token: 'sim_default_token' is already the value of another record. Choose another value.",
    ],
    [
      'a token id twice',
      'api_tokens.json',
      r => {
        r[2].token_id = r[0].token_id
      },
      'api_tokens.json: $[2].token_id:',
    ],
    [
      'a model twice',
      'models.json',
      r => {
        r.push(r[0])
      },
      "models.json: $[47].model_name: 'aurora-labs/aurora-3b-instruct' is already the value of another record",
    ],
    [
      'a repository twice',
      'hub.json',
      r => {
        r.repositories[4].repo = 'acme/chat-8b'
      },
      "hub.json: $.repositories[4].repo: 'acme/chat-8b' is already the value of another record",
    ],
    [
      'a voice twice',
      'voices.json',
      r => {
        r[5].voice_id = r[0].voice_id
      },
      'voices.json: $[5].voice_id:',
    ],
    [
      'a deploy_id twice',
      'deployments.json',
      r => {
        r[5].deploy_id = r[0].deploy_id
      },
      'deployments.json: $[5].deploy_id:',
    ],
    [
      'a file twice',
      'files.json',
      r => {
        r[3].id = r[0].id
      },
      'files.json: $[3].id:',
    ],
    [
      'a batch twice',
      'batches.json',
      r => {
        r[1].id = r[0].id
      },
      'batches.json: $[1].id:',
    ],
    [
      'an instance twice',
      'hosted.json',
      r => {
        r[1].instance_id = r[0].instance_id
      },
      'hosted.json: $[1].instance_id:',
    ],
    [
      'a node prefix in two pools',
      'nodes.json',
      r => {
        r.pools[3].nodes[0].prefix = 'h100'
      },
      "nodes.json: $.pools[3].nodes[0].prefix: 'h100' is already the value of another record",
    ],
    [
      'a schema twice',
      'schemas.json',
      r => {
        r.push(r[0])
      },
      "schemas.json: $[26].variant: 'text-generation default' is already the value of another record",
    ],
    [
      'an unknown successor',
      'models.json',
      r => {
        r[4].replaced_by = 'aurora-labs/aurora-8b-instruc'
      },
      "models.json: $[4].replaced_by: expected a model of models.json, got 'aurora-labs/aurora-8b-instruc'. Did you mean 'aurora-labs/aurora-8b-instruct'?",
    ],
    [
      'hardware of no model',
      'hardware.json',
      r => {
        r[0].model_name = 'aurora-labs/aurora-3b'
      },
      "hardware.json: $[0].model_name: expected a model of models.json, got 'aurora-labs/aurora-3b'.",
    ],
    [
      'a batch without its file',
      'batches.json',
      r => {
        r[0].input_file_id = 'file_x'
      },
      "batches.json: $[0].input_file_id: expected a file of files.json, got 'file_x'.",
    ],
    [
      'a batch whose output file is an input file',
      'batches.json',
      r => {
        r[0].output_file_id = r[0].input_file_id
      },
      "batches.json: $[0].output_file_id: expected a file of purpose 'batch_output', got one of 'batch'. Fix that value.",
    ],
    [
      'a batch in progress whose output file exists',
      'batches.json',
      r => {
        r[1].output_file_id = r[0].input_file_id
      },
      'batches.json: $[1].output_file_id: files.json has this file already, but the batch is in_progress. Remove one of them.',
    ],
    [
      'a batch with one file for output and errors',
      'batches.json',
      r => {
        r[0].error_file_id = r[0].output_file_id
      },
      "batches.json: $[0].error_file_id: 'file_q7RmXc2VtPz9LbHdW4NsKyGe' is the file of another batch or field already. Fix that value.",
    ],
    [
      'a batch that ends before it begins',
      'batches.json',
      r => {
        r[0].completed_at = r[0].created_at - 1
      },
      'batches.json: $[0].completed_at: expected a time not before the steps that come first',
    ],
    [
      'more GPUs taken than there are',
      'nodes.json',
      r => {
        r.pools[0].nodes[1].occupied = 9
      },
      'nodes.json: $.pools[0].nodes[1].occupied: expected at most gpus_per_node, 8, got 9.',
    ],
    [
      'more nodes in all groups than a world can have',
      'nodes.json',
      r => {
        Object.assign(r.pools[0].nodes[1], { min: 0, max: 1e9 })
      },
      'nodes.json: $.pools[0].nodes[1].max: expected at most 100000 nodes in all groups together, got 1000000',
    ],
    [
      'fewer instances at most than at least',
      'deployments.json',
      r => {
        r[0].settings.min_instances = 3
      },
      'deployments.json: $[0].settings.max_instances: expected at least min_instances, 3, got 2.',
    ],
    [
      'a deployment of another account',
      'deployments.json',
      r => {
        r[0].model_name = 'zen/assistant'
      },
      "deployments.json: $[0].model_name: expected a name of the account's own, 'acme/…', got 'zen/assistant'.",
    ],
    [
      'a reference to no model',
      'deployments.json',
      r => {
        r[7].model_name = 'aurora-labs/aurora-8b-instruc'
      },
      "deployments.json: $[7].model_name: expected a model of models.json or a name like 'acme/…', got 'aurora-labs/aurora-8b-instruc'. Did you mean",
    ],
    [
      'a lora without a base',
      'deployments.json',
      r => {
        delete r[5].base_model
      },
      'deployments.json: $[5].base_model: expected the model that the lora adapts, got nothing. Add that field.',
    ],
    [
      'a lora without a source',
      'deployments.json',
      r => {
        delete r[5].source
      },
      'deployments.json: $[5].source: expected the source of the adapter, got nothing.',
    ],
    [
      'an unknown base',
      'deployments.json',
      r => {
        r[5].base_model = 'acme/asistant'
      },
      "deployments.json: $[5].base_model: expected a model of models.json or a deployment, got 'acme/asistant'. Did you mean 'acme/assistant'?",
    ],
    [
      'a failure without a reason',
      'deployments.json',
      r => {
        r[2].fail_reason = ''
      },
      'deployments.json: $[2].fail_reason: expected a reason for the status failed, got none.',
    ],
    [
      'a reason without a failure',
      'deployments.json',
      r => {
        r[0].fail_reason = 'x'
      },
      'deployments.json: $[0].fail_reason: only the status failed has a reason, and this one is running.',
    ],
    [
      'a time after the epoch',
      'voices.json',
      r => {
        r[0].updated_at = 1_767_225_601
      },
      "voices.json: $[0].updated_at: expected a time not later than the world's epoch 2026-01-01T00:00:00.000Z, got 1767225601.",
    ],
    [
      'a deployment from the future',
      'deployments.json',
      r => {
        r[3].updated_at = '2026-01-01T00:00:01Z'
      },
      "deployments.json: $[3].updated_at: expected a time not later than the world's epoch",
    ],
    [
      'a content that is not there',
      'files.json',
      r => {
        r[0].path = 'files/ticket.jsonl'
      },
      "files.json: $[0].path: the file 'files/ticket.jsonl' is missing below the fixture's folder.",
    ],
    [
      'a content outside',
      'files.json',
      r => {
        r[0].path = '../../etc/hosts'
      },
      "files.json: $[0].path: the file '../../etc/hosts' is missing below the fixture's folder.",
    ],
    [
      'a file without content',
      'files.json',
      r => {
        delete r[0].path
      },
      "files.json: $[0].content: expected 'path' or 'content', got neither. Add one.",
    ],
  ]
  test.each(broken)('with %s is refused', { tags: 'slow' }, (_, file, change, message) => {
    edit(file, change)
    expect(failureOf(() => loadFixture(folder)).message).toContain(message)
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

  test('is rejected with the position when it has a key twice', () => {
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
