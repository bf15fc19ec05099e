/** Writes a recording as a scenario, in YAML or TypeScript, or as a test for vitest that plays the scenario. */

import { stringify } from 'yaml'
import { decodeBase64 } from '../../../lib/bytes.ts'
import { LIMITS } from '../../../lib/limits.ts'
import { toSource } from '../../../lib/quote.ts'
import { wrapText } from '../../../lib/text/words.ts'
import type { Command } from '../../../simulation/operations/commands.ts'
import { Snapshot } from '../../checkpoint/snapshot.ts'
import { OPTIONS, type SimulatorOptions } from '../../options.ts'
import { createSimulator } from '../../simulator.ts'
import { type ParsedRecording, RecordingError } from '../file.ts'
import { createRecordedSimulator } from '../header.ts'
import type { Numbered } from '../lines.ts'
import { paceOf } from '../replay/free-play.ts'
import { listExchanges } from '../timeline.ts'
import { toCommandCall } from './command-call.ts'
import { hasReference, toBase64 } from './request-code.ts'
import { type RequestStep, type ScenarioStep, toScenarioSteps } from './scenario-steps.ts'

/** The form of a scenario that is made from a recording. */
export type ScenarioFormat = 'yaml' | 'typescript' | 'vitest'

export interface ScenarioExport {
  readonly format: ScenarioFormat
  /** The title of the scenario. Default: that it plays as recorded. */
  readonly name?: string | undefined
  /** How errors call the recording. Default: `the recording`. */
  readonly what?: string | undefined
}

/** The content of a scenario before it has a language. */
interface Content {
  readonly title: string
  readonly options: Readonly<Record<string, unknown>>
  /** The state at the start in Base64, if it does not follow from the options. */
  readonly snapshot: string | undefined
  /** Where the snapshot is from, in words. */
  readonly origin: string
  readonly steps: readonly ScenarioStep[]
  readonly comment: string
}

const WIDTH = 100

/**
 * Returns a scenario that passes at once: the requests at their times with the statuses that they got, and the commands,
 * fault rules and scripted answers between them. After a reset or a restore of a snapshot, only what follows counts.
 *
 * @throws RecordingError for a recording that another build made, for an action that no scenario can do, and for what
 *   YAML cannot express
 */
export function toScenario(
  recording: ParsedRecording,
  { format, name, what = 'the recording' }: ScenarioExport,
): string {
  const { snapshot, origin, lines, token, start } = findStart(recording, what)
  const steps = toScenarioSteps(lines, what, { token, start })
  if (steps.length === 0) {
    throw new RecordingError(`Failed to export ${what}: nothing happens in it. Record a run with requests or time.`)
  }
  const pace = paceOf(recording)
  const content: Content = {
    title: name ?? 'a recorded run plays as before',
    options: scenarioOptions({ ...recording.header.options, inferencePace: pace }, recording, snapshot !== undefined),
    snapshot,
    origin,
    steps,
    comment: describeOrigin(recording),
  }
  return format === 'yaml' ? toYaml(content, what) : toTypeScript(content, format)
}

function describeOrigin({ lines }: ParsedRecording): string {
  const hasRequests = lines.some(line => 'request' in line && !line.look)
  return hasRequests
    ? 'Made from a recording. It has the bodies of its requests, prompts included.'
    : 'Made from a recording, without the requests of clients.'
}

/** Returns the last begin of the world: that of the recording, or a reset or restore within it. */
function findStart({ header, lines }: ParsedRecording, what: string) {
  const newWorld = (line: Numbered) =>
    'action' in line && (line.action.do === 'reset' || line.action.do === 'restore') ? line.action : undefined
  const index = lines.findLastIndex(newWorld)
  const begin = lines[index]
  const action = begin && newWorld(begin)
  const { snapshot } = action ?? header
  const own = findOwnIds(header.options, lines.slice(index + 1))
  if (own.length > 0) {
    throw new RecordingError(
      `Failed to export ${what}: the recording has requests to endpoints of its own (${own.join(', ')}). ` +
        'A scenario cannot have them: replay the file, or record without them.',
    )
  }
  // A recorded simulator is made in any case: this build has to make the same world.
  const recorded = createRecordedSimulator(header, what)
  const fixtures = snapshot && Snapshot.from(decodeBase64(snapshot), what)
  const world = fixtures ? createSimulator({ fixtures, endpoints: {} }) : recorded
  const start = action !== undefined && snapshot === undefined ? 0 : world.clock.elapsed
  const origin =
    begin === undefined ? 'it begins with a snapshot' : `the ${action!.do} at line ${begin.line} has a snapshot`
  return { snapshot, origin, lines: lines.slice(index + 1) as readonly Numbered[], token: world.token, start }
}

/** Returns what a recording used of the endpoints of a user. Only a world that has them knows the ids of its requests. */
function findOwnIds({ names, endpoints = {}, faults = [] }: SimulatorOptions, lines: readonly Numbered[]): string[] {
  const { api } = createSimulator({ fixtures: 'empty', endpoints, ...(typeof names === 'object' && { names }) })
  const requested = listExchanges(lines).flatMap(({ line: { method, path }, answer }) => {
    const name = `${method} ${path.split('?', 1)[0]}`
    const id = api.findOperationId(method, name.slice(method.length + 1))
    return id === undefined && [404, 405, undefined].includes(answer?.status) ? [] : [id ?? name]
  })
  const added = lines.flatMap(line => ('action' in line && line.action.do === 'addFault' ? [line.action.rule] : []))
  const faulty = [...faults, ...added].flatMap(({ on }) => on).filter(id => /^\w+$/.test(id))
  const isOwn = (id: string) => Object.hasOwn(endpoints, id) || !Object.hasOwn(api.operations, id)
  return [...new Set([...requested, ...faulty].filter(isOwn))]
}

/** Returns the options of a scenario. A snapshot brings most of them. */
function scenarioOptions(
  given: Readonly<Record<string, unknown>>,
  { header }: ParsedRecording,
  hasSnapshot: boolean,
): Record<string, unknown> {
  const kept = OPTIONS.flatMap(([name, { scenario, inSnapshot }]) =>
    scenario === undefined || given[name] === undefined || (hasSnapshot && inSnapshot === 'always')
      ? []
      : [[name, given[name]]],
  )
  return { ...(!hasSnapshot && { seed: header.seed }), ...Object.fromEntries(kept) }
}

function toYaml({ title, options, snapshot, origin, steps, comment }: Content, what: string): string {
  const refuse = (problem: string) =>
    new RecordingError(`Failed to export ${what} as YAML: ${problem}. Write it in TypeScript, as in run.ts.`)
  if (snapshot !== undefined) throw refuse(`${origin}, which YAML cannot have`)
  const document = {
    title,
    seeds: 'own',
    given: options,
    steps: steps.map(step => {
      const safe = 'request' in step ? withSafeBody(step) : step
      if (!hasReference(safe)) return safe
      throw refuse(
        `a text outside of a body has \${, which is a reference there: ${JSON.stringify(safe).slice(0, 100)}`,
      )
    }),
  }
  const yaml = stringify(document, { lineWidth: WIDTH, aliasDuplicateObjects: false })
  const text = `${wrapText(comment, WIDTH, '# ').join('\n')}\n${yaml}`
  const bytes = new TextEncoder().encode(text).length
  if (bytes <= LIMITS.scenarioBytes) return text
  throw refuse(`it has ${Math.ceil(bytes / 1024)} KiB, and a file may have ${LIMITS.scenarioBytes / 1024}`)
}

/** Returns a request whose body has no reference to a saved value. */
function withSafeBody(step: RequestStep): RequestStep {
  const { body, ...others } = step
  if (body === undefined || !hasReference(body)) return step
  const { headers = {} } = step
  const isJson = typeof body !== 'string' && headers['content-type'] === undefined
  return {
    ...others,
    ...(isJson && { headers: { ...headers, 'content-type': 'application/json' } }),
    ...toBase64(body),
  }
}

function toTypeScript({ title, options, snapshot, steps, comment }: Content, format: 'typescript' | 'vitest'): string {
  const isTest = format === 'vitest'
  const statements = steps.flatMap(toStatements)
  const used = ['send', 'clock', 'check', 'cluster', 'faults', 'inference'].filter(name =>
    statements.some(statement => new RegExp(`(^|[ (])${name}[.(]`).test(statement)),
  )
  const own = { ...options, seeds: 'own' }
  const start =
    snapshot === undefined
      ? toSource(own, WIDTH, '  ')
      : `{ ...${toSource({ ...own, clock: 'manual' }, WIDTH, '  ')}, fixtures: Snapshot.from(Buffer.from(snapshot, 'base64')) }`
  return [
    ...(snapshot === undefined ? [] : ["import { Snapshot } from 'modelhost-sim'"]),
    `import { ${isTest ? 'runScenario, ' : ''}scenario } from 'modelhost-sim/scenario'`,
    ...(isTest ? ["import { expect, test } from 'vitest'"] : []),
    '',
    ...(snapshot === undefined ? [] : ['/** The world at the start. */', `const snapshot = '${snapshot}'`, '']),
    ...wrapText(comment, WIDTH, '// '),
    `${isTest ? 'const recorded =' : 'export default'} scenario(`,
    `  ${toSource(title, WIDTH)},`,
    `  ${start},`,
    `  async ({ ${used.join(', ')} }) => {`,
    ...statements.map(statement => `    ${statement}`),
    '  },',
    ')',
    '',
    ...(isTest ? [`test(${toSource(title, WIDTH)}, async () => {`, ...TEST_BODY, '})', ''] : []),
  ].join('\n')
}

/** The statements of a test that plays a scenario. */
const TEST_BODY = ['  const { failure } = await runScenario(recorded)', '  expect(failure).toBeUndefined()']

function toStatements(step: ScenarioStep): string[] {
  const source = (value: unknown) => toSource(value, WIDTH, '    ')
  if ('request' in step) return toSend(step)
  if ('answered' in step) return [`check(await ${step.answered}.answer(), { status: ${step.status} })`]
  if ('leave' in step) return [`${step.leave}.leave()`]
  if ('advance' in step) return [`await clock.advance('${step.advance}')`]
  if ('removeFault' in step) return [`await faults.remove(${source(step.removeFault)})`]
  if ('addAnswer' in step) return [`await inference.add(${source(step.addAnswer)})`]
  if ('removeAnswer' in step) return [`await inference.remove(${source(step.removeAnswer)})`]
  if ('clearAnswers' in step) return ['await inference.clear()']
  const { fault } = step
  if (!('verb' in fault)) return [`await faults.add(${source(fault)})`]
  const { at, ...command } = fault as Command & { readonly at?: string }
  return [`await ${toCommandCall(command, at)}`]
}

function toSend({ request, headers, body, base64, status, later }: RequestStep): string[] {
  const parts = [
    ...(headers === undefined ? [] : [`headers: ${toSource(headers, WIDTH, '    ')}`]),
    ...(body === undefined ? [] : [`body: ${toSource(body, WIDTH, '    ')}`]),
    ...(base64 === undefined ? [] : [`body: Buffer.from('${base64}', 'base64')`]),
  ]
  const call = `send(${[toSource(request, WIDTH), ...(parts.length > 0 ? [`{ ${parts.join(', ')} }`] : [])].join(', ')})`
  if (later !== undefined) return [`const ${later} = ${call}`, `await ${later}.sent`]
  return [`check(await ${call}.answer(), { status: ${status} })`]
}
