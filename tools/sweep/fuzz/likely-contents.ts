/** Contents that an operation is likely to accept, where its schema leaves that open: rules, commands, moves of time. */
import fc from 'fast-check'
import type {
  ArgumentKind,
  CommandDefinition,
  CommandTarget,
} from '../../../src/simulation/operations/command-definition.ts'
import { COMMANDS } from '../../../src/simulation/operations/commands.ts'
import { FAULT_KINDS } from '../../../src/simulator/faults/kinds/index.ts'
import type { Content } from './sent-request.ts'
import { type KnownValues, knownAs } from './values.ts'

/** Clock modes in which equal requests give equal worlds. */
const REPLAYABLE_MODES = ['manual', 'on-poll']
const REAL_TIME_MODES = ['scaled', 'idle']
const DURATIONS = ['0s', '1s', '30s', '90s', '10m', '1h', '3h', 'PT1H30M', '1d', 600, 3_600_000]
const DISTANT = ['7d', '-1s', '1 fortnight', '', '1e9d', 1e300]
const duration = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(...DURATIONS) },
  { weight: 1, arbitrary: fc.constantFrom(...DISTANT) },
)
const optional = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined, freq: 2 })

/**
 * Generates likely contents by operation.
 *
 * @param operationIds names that fault rules are about
 * @param inRealTime also clock modes that follow real time, which no replay repeats
 */
export function likelyContents(
  known: KnownValues,
  operationIds: readonly string[],
  inRealTime: boolean,
): Readonly<Record<string, fc.Arbitrary<Content>>> {
  const modes = inRealTime ? [...REPLAYABLE_MODES, ...REAL_TIME_MODES] : REPLAYABLE_MODES
  const mode = fc.constantFrom(...modes)
  return {
    advanceClock: json(fc.record({ by: duration })),
    nextClock: json(fc.record({ visible: optional(fc.boolean()), within: duration })),
    untilClock: json(
      fc.record({
        get: fc.oneof(
          fc.constantFrom('/deploy/list', '/v1/files', '/v1/batches', '/v1/me', '/v1/hosted'),
          knownAs(known, 'deploy_id').map(id => `/deploy/${encodeURIComponent(id)}`),
        ),
        where: fc.constantFrom<unknown>({ status: 'running' }, [{ status: 'running' }], { object: 'list' }),
        within: duration,
      }),
    ),
    setClock: json(
      fc.record({ mode, speed: optional(fc.constantFrom(1, 60, 3_600, 0, -1)), step: optional(duration) }),
    ),
    addFault: json(faultRules(known, operationIds)),
    giveCommand: json(commands(known)),
    createWorld: json(
      fc.oneof(
        fc.record({ seed: fc.nat(5), fixtures: fc.constantFrom('default', 'empty', 'two-nodes'), clock: mode }),
        fc.record({ from: knownAs(known, 'world'), clock: optional(mode) }),
        fc.record({ from: optional(knownAs(known, 'world')), snapshot: knownAs(known, 'snapshot') }),
        fc.record({
          weather: fc.constantFrom('none', 'realistic', 'launch-day', 'rain'),
          strict_requests: optional(fc.boolean()),
        }),
      ),
    ),
    takeSnapshot: json(fc.record({ name: optional(fc.constantFrom('first', 'second', 'third', 'Fourth')) })),
    importSnapshot: fc.tuple(fc.nat(), fc.nat(255)).map(([at, byte]) => importForm(known, at, byte)),
    uploadFile: fc
      .tuple(fc.integer({ min: 1, max: 6 }), knownAs(known, 'model_name'))
      .map(([count, model]) => form(Buffer.from(batchLines(count, model)), 'in.jsonl', { purpose: 'batch' })),
  }
}

/** Generates the body of an example, with other names, other values of the world and other numbers. */
export function exampleContents(known: KnownValues, body: unknown): fc.Arbitrary<Content> {
  return json(varied(known, body, ''))
}

function varied(known: KnownValues, value: unknown, name: string): fc.Arbitrary<unknown> {
  const same = { weight: 6, arbitrary: fc.constant(value) }
  if (Array.isArray(value)) return fc.tuple(...value.map(one => varied(known, one, name)))
  if (typeof value === 'object' && value !== null) {
    return fc.record(Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, varied(known, inner, key)])))
  }
  if (typeof value === 'number')
    return fc.oneof(same, { weight: 2, arbitrary: fc.integer({ min: -1, max: 3 * value }) })
  if (typeof value !== 'string') return fc.constant(value)
  const fresh = /(?:^|_)name$/.test(name)
    ? { weight: 12, arbitrary: fc.nat(40).map(nth => `fuzz-${nth}`) }
    : { weight: 6, arbitrary: knownAs(known, name) }
  return fc.oneof(same, fresh)
}

function json(value: fc.Arbitrary<unknown>): fc.Arbitrary<Content> {
  return value.map(one => [[['content-type', 'application/json']], JSON.stringify(one)])
}

function faultRules(known: KnownValues, operationIds: readonly string[]): fc.Arbitrary<unknown> {
  const faults = Object.values(FAULT_KINDS).map(({ example }) => example)
  return fc.record({
    on: fc.oneof(fc.constantFrom(...operationIds), fc.constantFrom('list*', 'create*', '*', 'get*Deploy*')),
    fault: fc.constantFrom(...faults),
    times: optional(fc.integer({ min: 0, max: 4 })),
    nth: optional(fc.integer({ min: 0, max: 3 })),
    chance: optional(fc.constantFrom(0, 0.5, 1, 2)),
    model: fc.option(knownAs(known, 'model_name'), { nil: undefined, freq: 6 }),
    until: fc.option(duration, { nil: undefined, freq: 3 }),
  })
}

/** Known values that each kind of target can have. */
const TARGETS: Readonly<Record<CommandTarget, readonly string[]>> = {
  node: ['name'],
  gpu: ['gpu_slot'],
  pool: ['pool'],
  zone: ['zone'],
  gpuType: ['gpu'],
  offeredGpuType: ['gpu'],
  repository: ['repo', 'model_name'],
  model: ['model_name'],
  token: ['token_id', 'id'],
  deployment: ['deploy_id'],
  hosted: ['instance_id', 'id'],
  batch: ['batch_id', 'id'],
  file: ['file_id', 'input_file_id', 'id'],
}

const ARGUMENT_VALUES: Readonly<Record<ArgumentKind, readonly unknown[]>> = {
  duration: ['2m', '1h', 'soon'],
  factor: [1, 3, 1000, 0],
  share: [0.5, 1, 0],
  xid: [79, 48, 94, 1],
  times: [1, 5, 0],
  // A price of 1e9 with a small top-up is charged 86 times a second.
  cents: [0, 100, 5_000, -1],
  centsPerMillion: [0, 5, 1e9, -1],
  usd: [0, 10, 40_000_000, -1],
  countOrNone: [0, 3, null, 1e308],
  reason: ['payment-method', 'limit-reached', 'nonsense'],
  addresses: [['203.0.113.0/24'], [], ['nowhere']],
}

function commands(known: KnownValues): fc.Arbitrary<unknown> {
  const one = Object.entries<CommandDefinition>(COMMANDS).map(([verb, { target, args: kinds = {} }]) => {
    const declared = Object.entries(kinds)
    const args = fc.record(
      Object.fromEntries(declared.map(([name, { kind }]) => [name, fc.constantFrom(...ARGUMENT_VALUES[kind])])),
      { requiredKeys: [] },
    )
    return fc.record({
      verb: fc.constant(verb),
      ...(target && { target: fc.oneof(...TARGETS[target].map(name => knownAs(known, name))) }),
      ...(declared.length > 0 && { args }),
      at: fc.option(duration, { nil: undefined, freq: 4 }),
    })
  })
  return fc.oneof(...one)
}

function batchLines(count: number, model: string): string {
  return Array.from({ length: count }, (_, i) =>
    JSON.stringify({
      custom_id: `line-${i}`,
      method: 'POST',
      url: '/v1/chat/completions',
      body: { model, messages: [{ role: 'user', content: `Question ${i}?` }] },
    }),
  ).join('\n')
}

/** Returns a form with the newest exported snapshot; every other one has a changed byte. */
function importForm(known: KnownValues, at: number, byte: number): Content {
  const bytes = Buffer.from(known.exported ?? [])
  if (at % 2 === 1 && bytes.length > 0) bytes[at % bytes.length] = byte
  return form(bytes, 'x.snapshot', {})
}

function form(file: Buffer, filename: string, fields: Readonly<Record<string, string>>): Content {
  const texts = Object.entries(fields).map(
    ([name, text]) => `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`,
  )
  const head = `${texts.join('')}--b\r\nContent-Disposition: form-data; name="file"; filename="${filename}"\r\n\r\n`
  const body = new Uint8Array(Buffer.concat([Buffer.from(head), file, Buffer.from('\r\n--b--\r\n')]))
  return [[['content-type', 'multipart/form-data; boundary=b']], body]
}
