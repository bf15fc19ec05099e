/** The one thing that differs in a what-if: a fault, a command or a request less, one more, or other options and bodies. */

import { formatDuration, type Micros, micros } from '../../../kernel/duration.ts'
import { formatSuggestion } from '../../../lib/did-you-mean.ts'
import { parseJsonOrText, tryParseJson } from '../../../lib/json-text.ts'
import { quote } from '../../../lib/quote.ts'
import { plural } from '../../../lib/text/format-count.ts'
import { COMMANDS, type Command } from '../../../simulation/operations/commands.ts'
import type { FaultRule } from '../../faults/rules.ts'
import type { ControlAction } from '../../observer.ts'
import type { SimulatorOptions } from '../../options.ts'
import { type ParsedRecording, RecordingError } from '../file.ts'
import type { Numbered } from '../lines.ts'

/** A change of a recording, in the words of the user. */
export interface ChangeSpec {
  /** `fault:3`, the third fault of the recording; `fault:NAME`, `command:2` or `request:5`. */
  readonly without?: string | undefined
  /** `at 2h: node h100-0 crash`, or `at 2h: fault {"on":"*",…}`. The time counts from the start of the recording. */
  readonly with?: string | undefined
  /** Another profile, weather or seed. */
  readonly options?:
    | { readonly [Name in 'profile' | 'weather' | 'seed']?: SimulatorOptions[Name] | undefined }
    | undefined
  /** `min_instances=2`: another value of a field, in each request that has it. */
  readonly set?: string | undefined
}

/** A change that fits a recording. */
export interface Change {
  readonly options: Partial<SimulatorOptions>
  /** The id of a fault rule of the start that is removed. */
  readonly removedRule: string | undefined
  /** The line that is left out; of an added fault, the rule is removed at once, so that others keep their ids. */
  readonly removedLine: number | undefined
  readonly added: { readonly at: Micros; readonly action: ControlAction } | undefined
  readonly field: { readonly name: string; readonly value: unknown } | undefined
}

export const NO_CHANGE: Change = {
  options: {},
  removedRule: undefined,
  removedLine: undefined,
  added: undefined,
  field: undefined,
}

/**
 * Returns the change of a recording.
 *
 * @param initialRules the ids of the fault rules at the start of the recording
 * @throws RecordingError for a part that the recording lacks, or that is invalid
 */
export function readChange(
  spec: ChangeSpec,
  { header, lines }: ParsedRecording,
  initialRules: readonly string[],
): Change {
  const options = Object.fromEntries(Object.entries(spec.options ?? {}).filter(([, value]) => value !== undefined))
  if (Object.keys(options).length > 0 && header.snapshot !== undefined) {
    const name = Object.keys(options)[0]
    throw new RecordingError(
      `Failed to change the ${name}: the recording begins with a snapshot, which has it. Record from the start of a world.`,
    )
  }
  return {
    ...NO_CHANGE,
    options,
    ...(spec.without !== undefined && readRemoval(spec.without, lines, initialRules)),
    ...(spec.with !== undefined && {
      added: readAddition(spec.with, header.at[0], lines.at(-1)?.at[0] ?? header.at[0]),
    }),
    ...(spec.set !== undefined && { field: readField(spec.set, lines) }),
  }
}

const REMOVABLE = ['fault', 'command', 'request'] as const

function readRemoval(
  text: string,
  lines: readonly Numbered[],
  initialRules: readonly string[],
): Pick<Change, 'removedRule' | 'removedLine'> {
  const [, kind = '', name = ''] = /^(\w+):(.+)$/.exec(text) ?? []
  if (!(REMOVABLE as readonly string[]).includes(kind)) {
    const advice = formatSuggestion(kind, REMOVABLE, "Give 'fault:3', 'command:2' or 'request:5'.")
    throw new RecordingError(`Failed to read --without '${text}': unknown part '${kind || text}'. ${advice}`)
  }
  const parts = lines.filter(line => isPart(line, kind as (typeof REMOVABLE)[number]))
  const before = kind === 'fault' ? initialRules : []
  const names = [...before, ...parts.map(line => ('action' in line && nameOf(line.action)) || '')]
  const index = /^\d+$/.test(name) ? Number(name) - 1 : names.indexOf(name)
  if (index < 0 || index >= names.length) {
    const known = names.filter(one => one !== '').map(one => `${kind}:${one}`)
    const advice = formatSuggestion(
      text,
      known,
      names.length === 0
        ? 'Leave it out.'
        : `Give ${kind}:1${names.length === 1 ? '' : ` to ${kind}:${names.length}`}.`,
    )
    throw new RecordingError(
      `Failed to read --without '${text}': the recording has ${names.length === 0 ? `no ${kind}s` : plural(names.length, kind)}. ${advice}`,
    )
  }
  if (index < before.length) return { removedRule: before[index], removedLine: undefined }
  return { removedRule: undefined, removedLine: parts[index - before.length]!.line }
}

function isPart(line: Numbered, kind: (typeof REMOVABLE)[number]): boolean {
  if (kind === 'request') return 'request' in line && !line.look
  if (!('action' in line)) return false
  return line.action.do === (kind === 'fault' ? 'addFault' : 'command')
}

function nameOf(action: ControlAction): string | undefined {
  if (action.do === 'addFault') return action.rule.name
  return action.do === 'command' ? action.command.verb : undefined
}

function readAddition(text: string, begin: Micros, end: Micros): NonNullable<Change['added']> {
  const [, time = '', what = ''] = /^at\s+([^:\s]+)\s*:\s*(.+)$/s.exec(text.trim()) ?? []
  const fail = (problem: string, advice: string) =>
    new RecordingError(`Failed to read --with '${text}': ${problem}. ${advice}`)
  if (what === '') throw fail('the time is missing', "Give it first, as in 'at 2h: node h100-0 crash'.")
  let delay: Micros
  try {
    delay = micros(time)
  } catch {
    throw fail(`'${time}' is not a duration`, "Give one, as in 'at 2h: node h100-0 crash'.")
  }
  // A later time would compare two worlds of different ages.
  if (begin + delay > end) {
    throw fail(`the recording ends after ${formatDuration(end - begin)}`, 'Give a time before that.')
  }
  const [, rule] = /^fault\s+(\{.*)$/s.exec(what) ?? []
  if (rule === undefined) return { at: begin + delay, action: { do: 'command', command: readCommand(what, fail) } }
  try {
    return { at: begin + delay, action: { do: 'addFault', rule: JSON.parse(rule) as FaultRule } }
  } catch {
    throw fail('the fault is not JSON', `Give a rule, as in 'at 2h: fault {"on":"*","fault":{"kind":"reset"}}'.`)
  }
}

function readCommand(text: string, fail: (problem: string, advice: string) => Error): Command {
  const words = text.trim().split(/\s+/)
  const plain = words.filter(word => !word.includes('='))
  const [area = '', second = '', third] = plain
  const candidates: readonly (readonly [verb: string, target: string | undefined])[] = [
    [area, second || undefined],
    [`${area}.${second}`, third],
    [`${area}.${third ?? ''}`, second],
  ]
  const found = candidates.find(([verb]) => Object.hasOwn(COMMANDS, verb))
  if (found === undefined) {
    const verb = third === undefined ? `${area}.${second}` : `${area}.${third}`
    throw fail(
      `unknown command '${text}'`,
      formatSuggestion(verb, Object.keys(COMMANDS), 'docs/model-reference.md lists the commands.'),
    )
  }
  const [verb, target] = found
  const args = Object.fromEntries(
    words
      .filter(word => word.includes('='))
      .map(word => [word.slice(0, word.indexOf('=')), parseJsonOrText(word.slice(word.indexOf('=') + 1))]),
  ) as NonNullable<Command['args']>
  return { verb, ...(target !== undefined && { target }), ...(Object.keys(args).length > 0 && { args }) }
}

function readField(text: string, lines: readonly Numbered[]): NonNullable<Change['field']> {
  const [, name = '', value = ''] = /^([\w.]+)=(.*)$/s.exec(text) ?? []
  if (name === '') {
    throw new RecordingError(
      `Failed to read --set '${text}': it is not a field with a value. Give it as in 'min_instances=2'.`,
    )
  }
  const field = { name, value: parseJsonOrText(value) }
  const isUsed = lines.some(line => {
    const body = 'request' in line || 'step' in line ? line.body : undefined
    return typeof body === 'string' && setField(body, field) !== undefined
  })
  if (!isUsed) {
    throw new RecordingError(
      `Failed to read --set '${text}': no request of the recording has the field ${quote(name)}. Give a field of a JSON body.`,
    )
  }
  return field
}

/** Returns a JSON body with another value of a field, at every place that has it; undefined if none has. */
export function setField(body: string, { name, value }: NonNullable<Change['field']>): string | undefined {
  const parsed = tryParseJson(body)
  const steps = name.split('.')
  let isFound = false
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    const holder = steps
      .slice(0, -1)
      .reduce<unknown>((one, step) => (one as Record<string, unknown> | undefined)?.[step], node)
    const last = steps.at(-1)!
    if (typeof holder === 'object' && holder !== null && Object.hasOwn(holder, last)) {
      ;(holder as Record<string, unknown>)[last] = value
      isFound = true
    }
    for (const child of Object.values(node)) visit(child)
  }
  visit(parsed)
  return isFound ? JSON.stringify(parsed) : undefined
}
