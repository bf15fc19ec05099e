/** The failures of docs/field.md, and what they do to the clients that have them. */
import { readFileSync } from 'node:fs'
import { type ExploreOptions, exploreRuns } from '../../src/workbench/explore/explore.ts'
import type { FlowContext } from '../../src/workbench/explore/flow.ts'
import { checkOwnFaults, type OwnFault } from '../../src/workbench/explore/plan/own-faults.ts'
import type { CommandItem } from '../../src/workbench/explore/plan/plan.ts'
import { spaceOf } from '../../src/workbench/explore/plan/space.ts'
import { createFlowRunner } from '../../src/workbench/explore/run/flow-runner.ts'
import type { RunResult } from '../../src/workbench/explore/run/runner.ts'
import type { FieldClient } from './field-clients.ts'

/** A section of the page. */
export interface FieldCase {
  readonly title: string
  /** At most two lines that provoke the failure. */
  readonly code: string
  /** The invariants that `explore` names; empty if the page says why it names none. */
  readonly named: readonly string[]
}

/** Returns the sections with code, in their order. */
export function readFieldCases(page: string): FieldCase[] {
  const sections = readFileSync(page, 'utf8').split(/^### /m).slice(1)
  return sections.flatMap(section => {
    const [title = ''] = section.split('\n', 1)
    const code = /```js\n([\s\S]*?)\n```/.exec(section)?.[1]
    const says = /^`explore`: (.*)$/m.exec(section)?.[1] ?? ''
    return code === undefined ? [] : [{ title, code, named: [...says.matchAll(/`(\w+)`/g)].map(([, name]) => name!) }]
  })
}

type Sim = Pick<FlowContext['sim'], 'faults' | 'cluster' | 'inference'>

/** Returns the line that scripts answers, or ''. Beside a fault, it is not the failure. */
export function scriptOf(code: string): string {
  const [first = ''] = code.split('\n')
  return first.includes('sim.inference') ? first : ''
}

/** Executes the lines of a section. */
export const apply = (code: string, sim: Sim, id = '') => new Function('sim', 'id', code)(sim, id)

/** Returns a client in whose world the lines are executed: at its start, or after its first create if they need an id. */
function inWorld(client: FieldClient, code: string): FieldClient {
  return async context => {
    let isDone = !/\bid\b/.test(code)
    if (isDone) apply(code, context.sim)
    const fetch: typeof globalThis.fetch = async (input, init) => {
      const response = await context.fetch(input, init)
      if (isDone || init?.method !== 'POST' || String(input).endsWith('/v1/files')) return response
      const { id, deploy_id } = (await response.clone().json()) as { id?: string; deploy_id?: string }
      isDone = true
      apply(code, context.sim, id ?? deploy_id)
      return response
    }
    return client({ ...context, fetch })
  }
}

/** Runs a client, and returns how it ended and what it left, as text. */
export async function outcomeOf(client: FieldClient, code: string): Promise<string> {
  const runner = createFlowRunner({
    name: 'field',
    options: { fixtures: 'empty', seed: 1 },
    run: inWorld(client, code),
  })
  try {
    const { base, created, duration, requests, boundaries } = await runner.run([])
    const { end } = base!
    const what = end.kind === 'returned' ? end.result : end.kind === 'threw' ? String(end.error) : ''
    const sent = requests.map(({ sentAt }) => sentAt)
    return JSON.stringify([
      end.kind,
      what,
      created.map(({ isAlive }) => isAlive),
      boundaries.at(-1)?.kind,
      duration,
      sent,
    ])
  } finally {
    await runner.dispose()
  }
}

/** Classes that are enough for most clients of the page. Commands, crashes and own faults are tried anyway. */
export const FEW_CLASSES = [
  'status503',
  'resetDone',
  'html200',
  'coldStart',
  'streamError',
  'streamEnd',
  'streamSilence',
  'rateLimitDate',
  'variations',
] as const

/**
 * Returns the invariants that a client breaks without a fault, and with the rules and commands of its section as faults of
 * the flow. What is scripted in the section is so in each run.
 */
export async function namedBy(
  client: FieldClient,
  code: string,
  classes: ExploreOptions['classes'],
): Promise<ReadonlySet<string>> {
  const run = inWorld(client, scriptOf(code))
  const runner = createFlowRunner({ name: 'field', options: { fixtures: 'empty', seed: 1 }, run })
  try {
    const base = await runner.run([])
    const own = checkOwnFaults({ faults: faultsOf(code, base) }, 'Failed to explore the client')
    // Many runs show how the client tells of a loss. A report has a finding once, so each fault is run again.
    await exploreRuns(runner, { name: 'field', faults: 'singles', classes, own })
    const { kinds } = spaceOf(base, { operations: runner.operations, own })
    const places = kinds.flatMap(({ kind, places }) => (kind === 'own' ? places : []))
    const broken = [...base.broken]
    for (const { item } of places.flatMap(({ points }) => points)) broken.push(...(await runner.run([item])).broken)
    return new Set(broken.map(({ invariant }) => invariant))
  } finally {
    await runner.dispose()
  }
}

/** Returns the rules and the commands of a section. A command follows the first create if it needs an id. */
function faultsOf(code: string, { created }: RunResult): OwnFault[] {
  const faults: OwnFault[] = []
  const add = (fault: OwnFault) => faults.push({ ...fault, passes: true })
  const command = (verb: string, kind: string, more: object) =>
    add({ command: { verb, ...more }, after: { kind } } as CommandItem)
  const recorder = {
    faults: { add },
    inference: { add: () => undefined },
    cluster: {
      hub: { throttle: (share: number) => command('hub.throttle', 'start', { args: { share } }) },
      deployment: (target: string) => ({ fail: () => command('deployment.fail', 'deployment.created', { target }) }),
      batch: (target: string) => ({
        cancel: () => command('batch.cancel', 'batch.created', { target }),
        fail: () => command('batch.fail', 'batch.created', { target }),
      }),
    },
  }
  apply(code, recorder as unknown as Sim, created.find(({ id }) => !id.startsWith('file'))?.id)
  return faults
}
