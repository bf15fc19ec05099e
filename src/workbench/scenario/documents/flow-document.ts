/** Reads scenarios that play a flow under a plan of faults. */

import { existsSync, readFileSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import * as z from 'zod'
import { PLAN_VERSION, type Plan } from '../../explore/plan/plan.ts'
import { findMissingPart, ITEM_SCHEMAS, kindOfItem } from '../../explore/plan/plan-form.ts'
import { nearestFile } from '../runner/paths.ts'
import type { MistakeList, Path } from './problems.ts'
import { type CommandStep, FlowDocument, type ScenarioData } from './schema.ts'
import type { WorldChecks } from './world-checks.ts'

/** What the reader of a file lends to this one. */
export interface FlowDocumentContext {
  /** The folder of the file. */
  readonly folder: string
  readonly mistakes: MistakeList
  readonly world: WorldChecks
  /** Returns whether a schema accepts a value, and reports its issues. */
  checkSchema(schema: z.ZodObject, value: unknown, path: Path): boolean
}

/** Returns whether a file plays a flow. A file with a plan does, even if the key of its flow is mistyped. */
export function isFlowDocument(value: object): boolean {
  return !('steps' in value) && ['flow', 'command', 'explore', 'plan'].some(key => key in value)
}

/** @throws DocumentError with a line for each mistake */
export function readFlowDocument(value: object, context: FlowDocumentContext): ScenarioData {
  const { mistakes, world, checkSchema } = context
  const { explore } = value as { explore?: unknown }
  if (explore !== undefined && explore !== PLAN_VERSION) {
    const what = `plan format ${JSON.stringify(explore)} is unsupported`
    mistakes.add(['explore'], what, 'Run it with the version of modelhost-sim that wrote it, or explore again')
    // The version may explain all other mistakes.
    mistakes.throwIfAny()
  }
  // Each item is checked by the schema of its kind: a union would report every mistake once for each kind.
  const { plan: _, ...top } = FlowDocument.shape
  checkSchema(z.strictObject({ ...top, plan: z.array(z.unknown()) }), value, [])
  const { plan, flow, command, inputs, invariants, given, ...about } = value as z.output<typeof FlowDocument>
  if ((flow === undefined) === (command === undefined)) {
    const what = flow === undefined ? "the key 'flow' is missing" : "'flow' and 'command' exclude each other"
    const advice = 'Give the file of the flow, or the command that is the client'
    mistakes.add(flow === undefined ? [] : ['command'], what, advice)
  }
  const hasEndpoints = typeof flow === 'string' && flow !== '' && checkFlowFile(flow, context)
  world.checkGiven(given)
  for (const [i, item] of (Array.isArray(plan) ? plan : []).entries())
    checkItem(item, ['plan', i], hasEndpoints, context)
  mistakes.throwIfAny()
  const { explore: __, ...rest } = about
  return {
    ...rest,
    ...(given !== undefined && { given }),
    seeds: 'own',
    steps: [],
    survival: {
      flow,
      command,
      plan: plan as Plan,
      ...(inputs !== undefined && { inputs }),
      ...(invariants !== undefined && { invariants }),
    },
  }
}

/** Returns whether the flow may have own endpoints: an unknown operation is then found when it plays. */
function checkFlowFile(flow: string, { folder, mistakes }: FlowDocumentContext): boolean {
  const file = resolve(folder, flow)
  if (existsSync(file)) return readFileSync(file, 'utf8').includes('endpoints')
  const near = nearestFile(file)
  const advice = near
    ? `Did you mean './${relative(folder, near)}'?`
    : 'Give the file of the flow, relative to this file'
  mistakes.add(['flow'], `unknown flow file '${flow}'`, advice)
  return false
}

function checkItem(
  item: unknown,
  path: Path,
  hasEndpoints: boolean,
  { mistakes, world, checkSchema }: FlowDocumentContext,
): void {
  const kind = kindOfItem(item)
  if (typeof kind === 'object') {
    mistakes.addAll([kind], path)
    return
  }
  if (!checkSchema(ITEM_SCHEMAS[kind], item, path)) return
  if (kind === 'fault') world.checkRule((item as { fault: unknown }).fault, [...path, kind], hasEndpoints)
  if (kind !== 'command') return
  const { command, undo } = item as Record<'command' | 'undo', CommandStep>
  world.checkCommand(command, [...path, 'command'])
  if (undo !== undefined) world.checkCommand(undo, [...path, 'undo'])
  const missing = findMissingPart(item as object)
  if (missing !== undefined) mistakes.addAll([missing], path)
}
