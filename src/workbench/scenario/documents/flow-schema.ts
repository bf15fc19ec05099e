/** The schema of scenarios that play a flow under a plan of faults. */

import * as z from 'zod'
import { OPTION_SCENARIO_KEYS } from '../../../simulator/option-schemas.ts'
import { PLAN_VERSION } from '../../explore/plan/plan.ts'
import { ITEM_SCHEMAS } from '../../explore/plan/plan-form.ts'

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
