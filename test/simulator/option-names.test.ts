import { readdirSync } from 'node:fs'
import { expect, expectTypeOf, test } from 'vitest'
import * as serve from '../../src/cli/commands/serve.ts'
import * as simulate from '../../src/cli/commands/simulate.ts'
import { loadProfile } from '../../src/data/profiles/load.ts'
import type { Entry, FaultRule, ReceivedRequest, SimulatorOptions } from '../../src/index.ts'
import { operations } from '../../src/service/index.ts'
import { JOURNAL_KINDS } from '../../src/simulation/journal-kinds.ts'
import { COMMANDS, type Command } from '../../src/simulation/operations/commands.ts'
import {
  FIXTURE_NAMES,
  type FixtureName,
  PROFILE_NAMES,
  type ProfileName,
  WEATHER_NAMES,
  type WeatherName,
} from '../../src/simulator/options.ts'
import type { EventPattern } from '../../src/workbench/scenario/events.ts'

/** The literals of a type: `string` itself is left out. */
type Literals<Text> = Text extends string ? (string extends Text ? never : Text) : never

test('the types name every world, profile and weather pack of the package', () => {
  expect([...FIXTURE_NAMES].sort()).toEqual(readdirSync('fixtures/worlds').sort())
  expect(PROFILE_NAMES.map(name => `${name}.json`).sort()).toEqual(readdirSync('fixtures/profiles').sort())
  for (const profile of PROFILE_NAMES)
    expect([...WEATHER_NAMES].sort()).toEqual(['none', ...Object.keys(loadProfile(profile).weather.packs)].sort())
})

test.each([simulate, serve])('the help of $command names every weather pack', ({ flags }) => {
  const { weather } = flags as Readonly<Record<string, { readonly describe?: string }>>
  const text = weather?.describe ?? ''
  for (const pack of WEATHER_NAMES) expect(text).toMatch(new RegExp(`[ :]${pack}[,. ]`))
})

test('editors complete the names of options, operations and journal kinds', () => {
  expectTypeOf<Literals<SimulatorOptions['fixtures']>>().toEqualTypeOf<FixtureName>()
  expectTypeOf<Literals<SimulatorOptions['profile']>>().toEqualTypeOf<ProfileName>()
  expectTypeOf<Literals<SimulatorOptions['weather']>>().toEqualTypeOf<WeatherName>()
  expectTypeOf<Literals<FaultRule['on']>>().toEqualTypeOf<keyof typeof operations>()
  expectTypeOf<Literals<NonNullable<FaultRule['after']>['kind']>>().toEqualTypeOf<(typeof JOURNAL_KINDS)[number]>()
  expectTypeOf<Literals<Entry['kind']>>().toEqualTypeOf<(typeof JOURNAL_KINDS)[number]>()
  expectTypeOf<Literals<EventPattern>>().toEqualTypeOf<(typeof JOURNAL_KINDS)[number]>()
  expect(Object.keys(operations)).toContain('createLlmDeployment' satisfies Literals<FaultRule['on']>)
  expect(JOURNAL_KINDS).toContain('node.crashed' satisfies Literals<Entry['kind']>)
})

test('editors complete the operations of requests and the names of commands', () => {
  expectTypeOf<Literals<ReceivedRequest['operation']>>().toEqualTypeOf<keyof typeof operations>()
  expectTypeOf<Literals<Command['verb']>>().toEqualTypeOf<keyof typeof COMMANDS>()
  expect(Object.keys(operations)).toContain('getBatch' satisfies Literals<ReceivedRequest['operation']>)
  expect(Object.keys(COMMANDS)).toContain('node.crash' satisfies Literals<Command['verb']>)
})

test('other texts are accepted too', () => {
  expectTypeOf<'./world'>().toExtend<SimulatorOptions['fixtures']>()
  expectTypeOf<string>().toExtend<SimulatorOptions['weather']>()
  expectTypeOf<string>().toExtend<ReceivedRequest['operation']>()
  expectTypeOf<string>().toExtend<Command['verb']>()
  expectTypeOf<'GET /deploy/*'>().toExtend<FaultRule['on']>()
})
