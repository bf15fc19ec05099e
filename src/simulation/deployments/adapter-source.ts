import type { SimulationContext } from '../context.ts'
import type { Environment } from '../fleet/environment.ts'
import { isKnownOwner } from '../fleet/known-repositories.ts'
import { hubRefusal } from '../fleet/weights.ts'
import type { DeploymentRow } from './deployment-row.ts'

const ADDRESS = /^https?:\/\/[^/\s?#]+\/([^\s?#]+?)\/?$/

/** Returns the reason for which the source of an adapter cannot be loaded; undefined if it can. */
export function sourceRefusal(
  { store, profile }: SimulationContext,
  environment: Environment,
  { plan, weights }: Readonly<DeploymentRow>,
): string | undefined {
  // An adapter of a fixture may have no source.
  if (plan.modelhubUrl === '') return undefined
  const path = ADDRESS.exec(plan.modelhubUrl)?.[1]
  if (path === undefined) return `adapter source ${JSON.stringify(plan.modelhubUrl)} is not an address`
  const repo = path.split('/').slice(0, 2).join('/')
  const listed = store.hub.get(repo)
  const policy = store.hubPolicy ?? profile.policies.unknownRepositories
  // An address without an owner names no repository of the fixture, so nothing is known about it.
  const exists = policy === 'estimate' || !repo.includes('/') || isKnownOwner(store, repo.split('/')[0]!)
  const reference = { repo, revision: 'main', token: '' }
  const refusal = hubRefusal(listed, exists, reference, environment.repositoryState(repo))
  if (refusal !== undefined) return refusal.reason
  if (listed === undefined) return undefined
  if (listed.adapter_of === undefined) return `hub repository ${repo} is not an adapter`
  return listed.adapter_of === weights.repo || listed.adapter_of === plan.baseModel
    ? undefined
    : `adapter ${repo} was trained for ${listed.adapter_of}, not for ${plan.baseModel}`
}
