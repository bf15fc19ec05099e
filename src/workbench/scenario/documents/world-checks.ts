/** Checks of a scenario in YAML or JSON against the rest of the package: fixtures, profiles, names, fault rules. */
import type * as z from 'zod'
import { openFixture, openProfile } from '#fixture-files'
import { type ProfileInput, withWeather } from '../../../data/profiles/load.ts'
import { isRecord } from '../../../lib/json-text.ts'
import { createApi } from '../../../service/http/service.ts'
import { documentedOperations, operations } from '../../../service/index.ts'
import { type NamesProfile, readNames } from '../../../service/naming/names-profile.ts'
import { CommandError } from '../../../simulation/command-error.ts'
import { JOURNAL_KINDS } from '../../../simulation/journal-kinds.ts'
import {
  assertTargetPresence,
  type CommandArguments,
  type CommandDefinition,
  requireGpuType,
} from '../../../simulation/operations/command-definition.ts'
import { assertArguments, COMMANDS, type CommandName } from '../../../simulation/operations/commands.ts'
import { FaultError } from '../../../simulator/faults/fault-error.ts'
import { parseRuleWithoutWindow } from '../../../simulator/faults/rules.ts'
import { resolveRelative } from '../runner/paths.ts'
import { containsReference } from './operation-input.ts'
import type { MistakeList, Path } from './problems.ts'
import { type CommandStep, GivenWorld, type ScenarioData } from './schema.ts'

export class WorldChecks {
  readonly #folder: string
  readonly #mistakes: MistakeList
  #withNeighbours = true

  /** @param folder the folder of the file, which relative paths start from */
  constructor(folder: string, mistakes: MistakeList) {
    this.#folder = folder
    this.#mistakes = mistakes
  }

  /** Checks the options of the initial world that have the right form. */
  checkGiven(given: unknown): void {
    if (!isRecord(given)) return
    const shape: Readonly<Record<string, z.ZodType | undefined>> = GivenWorld.shape
    const isValid = ([name, value]: [string, unknown]) =>
      Object.hasOwn(shape, name) && shape[name]!.safeParse(value).success
    const validOptions: NonNullable<ScenarioData['given']> = Object.fromEntries(
      Object.entries(given as object).filter(isValid),
    )
    this.#withNeighbours = validOptions.documentedOnly !== true
    this.#checkWorld(validOptions)
    for (const [i, rule] of (validOptions.faults ?? []).entries()) this.checkRule(rule, ['given', 'faults', i])
  }

  /** Checks that the fixture, profile, weather and names exist. */
  #checkWorld({ fixtures, profile, weather, names }: NonNullable<ScenarioData['given']>): void {
    if (typeof fixtures === 'string') {
      try {
        openFixture(resolveRelative(fixtures, this.#folder))
      } catch (error) {
        this.#addMistakeFrom(['given', 'fixtures'], (error as Error).message.replace(/^Failed to read /, ''))
      }
    }
    const source = resolveRelative(profile, this.#folder)
    const found = typeof source === 'string' ? openProfile(source) : undefined
    if (found !== undefined && 'problem' in found) {
      this.#addMistakeFrom(['given', 'profile'], `expected a profile, got '${source}': ${found.problem}`)
    } else if (weather !== undefined) this.#checkWeather(weather, source as ProfileInput)
    if (names === undefined) return
    try {
      createApi({
        neighbours: this.#withNeighbours,
        names: readNames(resolveRelative(names, this.#folder) as string | NamesProfile),
      })
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      this.#addMistakeFrom(['given', 'names'], error.message.replace(/^Failed to read /, ''))
    }
  }

  #checkWeather(weather: string, profile: ProfileInput): void {
    try {
      withWeather(profile, weather)
    } catch (error) {
      // An invalid profile is reported when it is read.
      if (!(error instanceof RangeError)) return
      const [, advice] = /: (.*)$/s.exec(error.message)!
      this.#mistakes.add(['given', 'weather'], `unknown weather '${weather}'`, capitalize(advice!))
    }
  }

  /** Checks what the schema of a rule cannot: that its operations and kinds of events exist. */
  checkRule(rule: unknown, path: Path, hasEndpoints = false): void {
    const { findOperationId: operationOf } = createApi({ neighbours: this.#withNeighbours })
    const served = this.#withNeighbours ? operations : documentedOperations
    try {
      parseRuleWithoutWindow(rule, { operations: served, operationOf, kinds: JOURNAL_KINDS })
    } catch (error) {
      if (!(error instanceof FaultError)) throw error
      if (hasEndpoints && error.reason.startsWith('unknown operation')) return
      this.#addMistakeFrom([...path, ...(error.path as Path)], error.reason)
    }
  }

  /** Checks the target and the arguments of a command. A reference is checked when the step runs. */
  checkCommand({ verb, target, nodeOf, args = {} }: CommandStep, path: Path): void {
    const { target: kind }: CommandDefinition = COMMANDS[verb as CommandName]
    if (nodeOf !== undefined && kind !== 'node') {
      this.#mistakes.add([...path, 'nodeOf'], `'${verb}' takes no nodeOf`, kind ? 'Give target' : 'Remove it')
      return
    }
    if (nodeOf !== undefined && target !== undefined) {
      this.#mistakes.add([...path, 'nodeOf'], "a command has both 'target' and 'nodeOf'", 'Give one of them')
      return
    }
    if (kind === 'gpu' && target && !containsReference(target) && !/.\/\d+$/.test(target)) {
      this.#mistakes.add([...path, 'target'], `invalid GPU '${target}'`, "Write it 'node/number', as in 'h100-0/3'")
    }
    try {
      assertTargetPresence(verb, kind, nodeOf ?? target)
      // Other names depend on the world at the time of the step.
      const isGpuType = kind === 'gpuType' || kind === 'offeredGpuType'
      if (isGpuType && target && !containsReference(target)) requireGpuType(target)
    } catch (error) {
      this.#addCommandMistake(target === undefined ? path : [...path, 'target'], error)
    }
    try {
      assertArguments(verb, args as CommandArguments, containsReference)
    } catch (error) {
      this.#addCommandMistake([...path, ...(Object.keys(args).length > 0 ? ['args'] : [])], error)
    }
  }

  #addCommandMistake(path: Path, error: unknown): void {
    if (!(error instanceof CommandError)) throw error
    this.#addMistakeFrom(path, error.message.replace(/^Failed to execute /, ''))
  }

  /** Splits an error message into what is wrong and what to do. */
  #addMistakeFrom(path: Path, message: string): void {
    const end = message.search(/\. (?=[A-Z']|docs\/)/)
    this.#mistakes.add(path, end < 0 ? message : message.slice(0, end), end < 0 ? 'Fix it' : message.slice(end + 2))
  }
}

function capitalize(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`
}
