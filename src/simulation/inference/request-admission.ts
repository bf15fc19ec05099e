import type { AccountAccess } from '../account/access/account-access.ts'
import type { GpuQuotas } from '../account/gpu-quotas.ts'
import type { SimulationContext } from '../context.ts'
import type { Autoscaler } from '../deployments/autoscaler.ts'
import { countAlive, isParked, isTerminal } from '../deployments/deployment-row.ts'
import type { Deployments } from '../deployments/deployments.ts'
import { isDeployId, type ModelTarget } from '../deployments/model-lookup.ts'
import type { RequestCounts } from './request-counts.ts'
import type { RequestServing } from './request-serving.ts'

/** Why a request is rejected. */
export interface RequestRejection {
  readonly status: 404 | 429 | 503
  readonly message: string
  /** Seconds until a retry may succeed. Undefined for an unknown model, and if only the account can start it. */
  readonly retryAfter?: number
}

/**
 * Values of Retry-After in seconds. `place`: capacity may become free at any moment, for example on another instance.
 * `start`: something must start first, so clients that respect the header retry from time to time (A).
 */
export const RETRY_AFTER = { place: 1, start: 10 } as const

/** The state of the world that admission depends on. */
export interface AdmissionState {
  readonly access: AccountAccess
  readonly context: SimulationContext
  readonly deployments: Deployments
  readonly gpuQuotas: GpuQuotas
  readonly autoscaler: Autoscaler
  readonly counts: RequestCounts
  readonly serving: RequestServing
}

/** Returns why a request for a model would be rejected now; undefined if it would be accepted. */
export function rejectionFor(
  { access, context, deployments, gpuQuotas, autoscaler, counts, serving }: AdmissionState,
  model: string,
  token: string,
  target: ModelTarget | undefined,
): RequestRejection | undefined {
  const { profile } = context
  if (target === undefined) return unknownModel(model)
  if (target.row !== undefined) {
    const row = deployments.read(target.row)
    const isBaseParked = isParked(target.kind === 'own' ? deployments.read(target.deployment) : row)
    if (row.status !== 'running' || isBaseParked) {
      if (!isDeployId(model)) return unknownModel(model)
      const phase = isBaseParked && !isTerminal(row.status) ? 'parked' : row.status
      const message = `model ${model} is ${phase}, not running`
      // A retry only helps if the deployment starts by itself.
      if (isTerminal(row.status) || isBaseParked) return { status: 503, message }
      return { status: 503, message, retryAfter: RETRY_AFTER.start }
    }
  }
  const { queuePerDeployment } = profile.limits
  const { rateLimits } = access
  if (counts.inFlight(target.name, token) >= rateLimits.requests) {
    return {
      status: 429,
      message: `${rateLimits.requests} requests to ${model} are in flight with this token`,
      retryAfter: RETRY_AFTER.place,
    }
  }
  const seconds = rateLimits.secondsUntilTokens(target.name, token)
  if (seconds !== undefined) {
    const { tokensPerMinute } = rateLimits.values
    const message = `the limit of ${tokensPerMinute} tokens a minute to ${model} is reached with this token`
    return { status: 429, message, retryAfter: seconds }
  }
  if (target.kind !== 'own') return undefined
  const row = deployments.read(target.deployment)
  const waiting = counts.queueOf(target.deployment)?.length ?? 0
  const running = counts.onDeployment(target.deployment) - waiting
  const isFull = running > 0 || row.ready === 0
  const inQueue = waiting + autoscaler.wholeRequests(row).backlog
  if (isFull && inQueue >= queuePerDeployment && serving.leastBusyInstance(row, -1) < 0) {
    return {
      status: 429,
      message: `${inQueue} requests wait for ${model} already`,
      retryAfter: RETRY_AFTER.place,
    }
  }
  // Without a live instance, the request can only be served if the quota permits a new instance.
  const limit = gpuQuotas.get(row.gpu)
  if (row.ready === 0 && countAlive(row) === 0 && limit !== null && gpuQuotas.held(row.gpu) + row.numGpus > limit) {
    const message = `no instance of ${model} may be started: the limit of ${row.gpu} is reached`
    return { status: 429, message, retryAfter: RETRY_AFTER.start }
  }
  return undefined
}

/** Rejects a request for a name that nothing serves. A deployment has its name while it is ready, or scaled to zero. */
function unknownModel(model: string): RequestRejection {
  return { status: 404, message: `model does not exist: ${model}` }
}
