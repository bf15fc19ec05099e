/** Every surface takes the options that the table declares for it. */
import { expect, test } from 'vitest'
import yargs from 'yargs'
import * as serve from '../../src/cli/commands/serve.ts'
import { buildCommand } from '../../src/cli/flags.ts'
import { optionsFromFlags } from '../../src/cli/option-flags.ts'
import { toSnakeCase } from '../../src/lib/text/words.ts'
import { createWorld } from '../../src/server/control/endpoints/worlds.ts'
import { fromHttpFields } from '../../src/simulator/option-fields.ts'
import { OPTIONS } from '../../src/simulator/options.ts'
import { createSimulator } from '../../src/simulator/simulator.ts'
import { GivenWorld } from '../../src/workbench/scenario/documents/schema.ts'

/** A value of every option that can be set outside a process. */
const VALUES = {
  fixtures: 'two-nodes',
  with: { deployments: [] },
  fill: { models: 60 },
  profile: 'quick',
  weather: 'none',
  faults: [{ on: '*', fault: { kind: 'reset' } }],
  seed: 7,
  clock: 'manual',
  epoch: '2026-02-01T00:00:00Z',
  documentedOnly: true,
  names: {},
  strictRequests: true,
  requestFaults: true,
  inferencePace: 'instant',
  answers: [{ contains: 'weather', answer: { text: 'Sunny.' } }],
  journalLimit: 100,
  maxStorageBytes: 1024,
} as const

test('a body of POST /_sim/worlds sets the options that it was made from', () => {
  const fields = Object.fromEntries(Object.entries(VALUES).map(([name, value]) => [toSnakeCase(name), value]))
  expect(fields).toMatchObject({ documented_only: true, inference_pace: 'instant', max_storage_bytes: 1024 })
  expect(fromHttpFields(createWorld.body.parse(fields)!)).toEqual(VALUES)
})

test('a scenario document takes every option but the clock and the limit of the journal', () => {
  const { clock: _, journalLimit: __, ...given } = VALUES
  expect(GivenWorld.parse(given)).toMatchObject({ ...given, faults: [{ on: '*' }] })
  expect(Object.keys(GivenWorld.shape)).toEqual(Object.keys(given))
})

test('serve reads the flag of every option that has one', async () => {
  const withFlag = OPTIONS.filter(([, { flag }]) => flag !== undefined)
  const args = withFlag.flatMap(([, { flag }]) => {
    const { name, value } = flag!
    return value === 'switch' ? [`--${name}`] : [`--${name}`, Array.isArray(value) ? value[0]! : '12']
  })
  const argv = await buildCommand(yargs(args), serve).parse()
  expect(Object.keys(optionsFromFlags(argv))).toEqual(withFlag.map(([name]) => name))
  expect(optionsFromFlags(argv)).toMatchObject({ clock: 'manual', maxStorageBytes: 12, journalLimit: 12, check: true })
})

test.each([
  [{ timers: 'stop' }, "timers is \"stop\". Give 'drive' or 'ignore'."],
  [{ inferencePace: 'slow' }, "inferencePace is \"slow\". Give 'clock' or 'instant'."],
  [{ check: 'yes' }, 'check is "yes". Give true or false.'],
  [{ journalLimit: 0 }, 'journalLimit is 0. Give an integer above 0.'],
  [{ maxStorageBytes: Number.NaN }, 'maxStorageBytes is NaN. Give an integer above 0.'],
  [{ journalLimit: '5' }, 'journalLimit is "5". Give an integer above 0.'],
  [{ fixtures: null }, 'fixtures is null. Give a name, a path, or an object.'],
  [{ fixtures: 5 }, 'fixtures is 5. Give a name, a path, or an object.'],
  [{ profile: [] }, 'profile is []. Give a name, a path, or an object.'],
  [{ with: null }, 'with is null. Give an object.'],
  [
    { fill: { models: -1 } },
    'fill is {"models":-1}. Give numbers of records from 0 to 100,000, as in { models: 100, deployments: 200 }.',
  ],
  [
    { fill: { batches: 5 } },
    'fill is {"batches":5}. Give numbers of records from 0 to 100,000, as in { models: 100, deployments: 200 }.',
  ],
  [{ faults: {} }, 'faults is {}. Give a list.'],
  [{ answers: 5 }, 'answers is 5. Give a list.'],
  [{ faults: 'x'.repeat(1_000_000) }, `faults is "${'x'.repeat(199)}…. Give a list.`],
])('createSimulator(%j) throws an error that names the option', (options, message) => {
  expect(() => createSimulator(options as object)).toThrow(new RangeError(`Failed to make a simulator: ${message}`))
})
