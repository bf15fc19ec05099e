import type { ModelTarget } from '../deployments/model-lookup.ts'
import type { PlanPrice } from './request-price.ts'
import type { InferenceCaller, InferencePlan, InferenceSpec } from './request-row.ts'

/** Every field of a plan. A field that is optional may be undefined, but not missing. */
type CompletePlan = { readonly [Name in keyof Required<InferencePlan>]: InferencePlan[Name] }

/** Returns the fields of a request that never change. */
export function createPlan(
  spec: InferenceSpec,
  { model, token, scope }: InferenceCaller,
  target: ModelTarget,
  { price, unitPrice }: PlanPrice,
  { key, arrivedAt, sequence }: Pick<InferencePlan, 'key' | 'arrivedAt' | 'sequence'>,
): CompletePlan {
  // Field by field: an object that grows behind a spread takes several times as long.
  return {
    model,
    prefix: spec.prefix,
    token,
    scope,
    hash: spec.hash,
    promptTokens: spec.promptTokens,
    promptBlocks: spec.promptBlocks,
    answerTokens: spec.answerTokens,
    longestAnswer: spec.longestAnswer,
    work: spec.work,
    isCut: spec.isCut,
    webhook: spec.webhook,
    key,
    name: target.name,
    deployment: target.kind === 'own' ? target.deployment : -1,
    adapter: target.adapter ?? -1,
    reference: target.kind === 'catalog' && target.adapter === undefined ? (target.row ?? -1) : -1,
    chargedModel: target.kind === 'catalog' ? target.model : '',
    price,
    unitPrice,
    arrivedAt,
    sequence,
  }
}
