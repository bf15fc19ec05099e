/** Findings as files: a scenario in YAML, and the same in TypeScript. */

import { stringify } from 'yaml'
import { given } from '../../../lib/fields.ts'
import { toSource } from '../../../lib/quote.ts'
import { wrapText } from '../../../lib/text/words.ts'
import type { WorldChange } from '../flow-world.ts'
import type { InputValues } from '../input.ts'
import { PLAN_VERSION, type Plan } from '../plan/plan.ts'
import { describeItem } from './item-words.ts'

export interface FindingFile {
  /** Default: the first fault of the plan in words. */
  readonly title?: string | undefined
  /** The path of the flow, relative to the file, as in `./client.ts`; or the command that is the client. */
  readonly flow: string | readonly string[]
  /** What differs from the world of the flow. A fixture is a name or a path. */
  readonly world?: WorldChange | undefined
  /** The inputs of the flow; undefined for the simplest ones. */
  readonly inputs?: InputValues | undefined
  readonly plan: Plan
  /** The names of the invariants that should hold. */
  readonly invariants: readonly string[]
  /** The comment above the scenario: the finding in words. */
  readonly comment?: string | undefined
}

/** The longest line of a comment, in characters. */
const COMMENT_WIDTH = 100

/** Returns the scenario of a finding in YAML. `modelhost-sim run` fails until the flow survives the plan. */
export function toYamlScenario(file: FindingFile): string {
  const document = {
    title: titleOf(file),
    ...(typeof file.flow === 'string' ? { flow: file.flow } : { command: file.flow }),
    explore: PLAN_VERSION,
    ...given({ given: givenOf(file), inputs: file.inputs }),
    plan: file.plan,
    invariants: file.invariants,
  }
  return `${commentOf(file, '# ')}${stringify(document, { lineWidth: COMMENT_WIDTH, aliasDuplicateObjects: false })}`
}

/** Returns the scenario of a finding in TypeScript. */
export function toTypeScriptScenario(file: FindingFile & { readonly flow: string }): string {
  const options = { ...givenOf(file), ...given({ inputs: file.inputs }), plan: file.plan, invariants: file.invariants }
  return [
    "import { survives } from 'modelhost-sim/scenario'",
    `import flow from ${toSource(file.flow, COMMENT_WIDTH)}`,
    '',
    `${commentOf(file, '// ')}export default survives(${toSource(titleOf(file), COMMENT_WIDTH)}, flow, ${toSource(options, COMMENT_WIDTH)})`,
    '',
  ].join('\n')
}

function givenOf({ world = {} }: FindingFile): object | undefined {
  const changes = given(world)
  return Object.keys(changes).length === 0 ? undefined : changes
}

function titleOf({ title, plan, invariants }: FindingFile): string {
  if (title !== undefined) return title
  const [first] = plan
  const held = invariants.length === 0 ? 'every invariant holds' : `${invariants.join(', ')} holds`
  return first === undefined ? `${held} without faults` : `${held} although ${describeItem(first)}`
}

/** Returns a text as lines of a comment, broken at spaces. */
function commentOf({ comment }: FindingFile, mark: string): string {
  const lines = comment === undefined ? [] : wrapText(comment, COMMENT_WIDTH, mark)
  return lines.map(line => `${line}\n`).join('')
}
