/** The schema of scenarios that play a flow under a plan of faults. */

import * as z from 'zod'
import { PLAN_VERSION } from '../../explore/plan/plan-file.ts'
import { duration } from '../../faults/kinds/fields.ts'
import { RuleSchema } from '../../faults/rules.ts'
import { JOURNAL_KINDS } from '../../simulation/journal-kinds.ts'
import { COMMANDS } from '../../simulation/operations/commands.ts'
import { OPTION_SCENARIO_KEYS } from '../../simulator/option-schemas.ts'

const Command = z.strictObject({
  verb: z.enum(Object.keys(COMMANDS) as [string, ...string[]]).describe('Name of the command, as in node.crash'),
  target: z.string().optional().describe('The target of the command, as in h100-0'),
  args: z.record(z.string(), z.unknown()).optional().describe('Arguments of the command by name'),
})

const After = z.strictObject({
  kind: z
    .enum(['start', ...JOURNAL_KINDS] as [string, ...string[]])
    .describe('Kind of journal entry, or start for the begin of the flow'),
  subject: z.string().optional().describe('Id or name of the subject. Default: any'),
  nth: z.int().min(1).optional().describe('Which of these entries. Default: 1'),
  offset: duration.optional().describe('Time after that entry'),
})

/** The kinds of plan items, each by the key that only this kind has. */
export const ITEM_SCHEMAS = {
  fault: z.strictObject({ fault: RuleSchema.describe('A fault rule; docs/faults.md lists the kinds') }),
  command: z.strictObject({
    command: Command.describe('A command to the fleet or the account'),
    after: After.describe('The moment of the command'),
    for: duration.optional().describe('Time after which undo is executed'),
    undo: Command.optional().describe('The command that ends the failure'),
  }),
  crash: z.strictObject({
    crash: z
      .int()
      .min(1)
      .describe('The process of the client ends after the request with this number, and starts again'),
  }),
} as const

export type ItemKind = keyof typeof ITEM_SCHEMAS

const { fixtures, seed, profile, weather, with: patch } = OPTION_SCENARIO_KEYS

/** The keys of a scenario that plays a flow. */
export const FLOW_KEYS = {
  flow: z
    .string()
    .min(1)
    .optional()
    .describe('The file of the flow, relative to this file. Its default export is the flow'),
  command: z
    .array(z.string())
    .min(1)
    .optional()
    .describe('In place of flow: the program and its arguments, which run in the working directory'),
  explore: z.literal(PLAN_VERSION).describe('The version of the form of the plan'),
  given: z
    .strictObject({ fixtures, seed, profile, weather, with: patch })
    .optional()
    .describe('The initial world. Default: that of the flow'),
  inputs: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('The inputs of the flow by name. Default: the simplest ones'),
  plan: z.array(z.union(Object.values(ITEM_SCHEMAS))).describe('The faults of the run, in any order'),
  invariants: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe('The invariants that should hold. Default: all of the flow'),
} as const
