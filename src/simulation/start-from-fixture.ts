import { bundledBatches } from '../data/fixtures/load.ts'
import { FixtureError } from '../data/fixtures/problem-report.ts'
import { listProblems } from '../data/profiles/problems.ts'
import { DEPLOYMENT_LIFECYCLE } from '../data/records/enums.ts'
import type { Fixture } from '../data/records/fixture.ts'
import { type GpuType, parseGpuConfig } from '../data/records/gpu-config.ts'
import type { HostedSeed } from '../data/records/machines.ts'
import type { BatchSeed, ContainerSeed, DeploymentSeed } from '../data/records/seeds.ts'
import { fixtureFileContent } from './batches/fixture-content.ts'
import type { FixtureIdentity } from './deployments/deployment-row.ts'
import type { InstanceState } from './deployments/instance-row.ts'
import { invalidImageReason, memoryShortage } from './fleet/weights.ts'
import type { WorldParts } from './world-parts.ts'

/** The furthest instance that each status shows. */
const INSTANCE_STATE_BY_STATUS: Readonly<Record<string, InstanceState>> = {
  initializing: 'pending',
  downloading: 'pulling',
  deploying: 'loading',
  running: 'ready',
}

/**
 * Starts a new world from a fixture: creates what each status of a record needs, that is instances, their nodes, and
 * the next event.
 *
 * @throws FixtureError for records that cannot start, such as a running deployment without a free GPU. Each problem
 *   begins with the list and the position, as in `deployments: $[0]`.
 */
export function startFromFixture(world: WorldParts, fixture: Fixture): void {
  const problems: string[] = []
  const { account } = fixture
  world.ledger.openAccount(account.uid, account.funds_cents, account.topup, account.card === 'good')
  world.ledger.past.open(fixture)
  if (account.spending_limit_cents !== null) world.ledger.openSpendingLimit(account.spending_limit_cents)
  world.nodes.buildFleet(fixture.nodes.pools)
  world.weather.start()
  world.access.rateLimits.open({ requests: account.rate_limit, tokensPerMinute: account.tpm_rate_limit })
  for (const [gpu, limit] of Object.entries(account.gpu_limits)) {
    if (limit !== undefined) world.gpuQuotas.set(gpu as GpuType, limit)
  }
  for (const [i, seed] of fixture.files.entries()) {
    const content = fixtureFileContent(seed)
    if (content === undefined) {
      problems.push(`files: $[${i}] (${seed.filename}): expected the file's content. Give 'path' or 'content'.`)
      continue
    }
    world.files.create({
      id: seed.id,
      filename: seed.filename,
      purpose: seed.purpose,
      ...content,
      createdAt: world.clock.fromUnix(seed.created_at),
      ...(seed.expires_at === undefined ? {} : { expiresAt: world.clock.fromUnix(seed.expires_at) }),
    })
  }
  // Adapters come after what they stand on.
  const orderedDeployments = [...fixture.deployments.entries()].sort(
    ([a, one], [b, other]) => Number(one.type === 'lora') - Number(other.type === 'lora') || a - b,
  )
  for (const [i, seed] of orderedDeployments) {
    const problem = seed.type === 'lora' ? startAdapter(world, seed) : startDeployment(world, seed)
    if (problem) problems.push(`deployments: $[${i}] (${seed.model_name}): ${problem}`)
  }
  for (const seed of fixture.hosted) startHostedInstance(world, seed)
  for (const [i, seed] of fixture.containers.entries()) {
    const problem = startContainer(world, seed)
    if (problem) problems.push(`containers: $[${i}]: ${problem}`)
  }
  for (const [i, seed] of fixture.batches.entries()) {
    const problem = startBatch(world, seed)
    if (problem) problems.push(`batches: $[${i}] (${seed.id}): ${problem}`)
  }
  if (problems.length > 0) {
    throw new FixtureError(`Failed to start the fixture:\n${listProblems(problems)}`, problems)
  }
}

function fixtureIdentity(world: WorldParts, seed: DeploymentSeed): FixtureIdentity {
  const { clock } = world
  return {
    ...seed,
    created_at: seed.created_at === undefined ? undefined : clock.elapsedAt(seed.created_at),
    updated_at: seed.updated_at === undefined ? undefined : clock.elapsedAt(seed.updated_at),
  }
}

function startDeployment(world: WorldParts, seed: DeploymentSeed): string | undefined {
  const { deployments, instances } = world
  const identity = fixtureIdentity(world, seed)
  const ordinal = deployments.add({ ...seed, ...seed.settings, weights: seed.weights }, identity)
  if (seed.load && seed.type === 'llm') deployments.scaling.setLoad(ordinal, seed.load)
  const state = seed.type === 'llm' ? INSTANCE_STATE_BY_STATUS[seed.status] : undefined
  if (state === undefined) {
    applyFinalStatus(world, ordinal, seed)
    return undefined
  }
  if (state === 'loading' || state === 'ready') {
    const { weights } = deployments.read(ordinal)
    const shortage = memoryShortage(weights, seed.gpu, seed.num_gpus)
    const badArguments = deployments.failures.engineArgsProblem(deployments.read(ordinal))
    if (badArguments) return `it cannot be ${seed.status}: its engine exits with ${badArguments}. Correct extra_args.`
    if (shortage)
      return `it cannot be ${seed.status}: ${shortage}. Give it more GPUs, or the status 'failed' with a fail_reason.`
  }
  const { min_instances, max_instances } = seed.settings
  const instanceCount = Math.min(max_instances, Math.max(1, min_instances))
  deployments.writable(ordinal).desired = instanceCount
  if (max_instances === 0) {
    deployments.writable(ordinal).wasReady = seed.status === 'running'
    deployments.setStatus(ordinal, seed.status)
  }
  for (let i = 0; i < instanceCount; i++) {
    instances.request(ordinal, 0)
    const instance = deployments.read(ordinal).instances[i]!
    if (!instances.startInState(instance, state)) {
      return (
        `no node has ${seed.num_gpus} free ${seed.gpu} for ${seed.model_name}, so it cannot be ${seed.status}. ` +
        "Add nodes, or give it the status 'stopped'."
      )
    }
  }
  deployments.updateStatus(ordinal)
  deployments.writable(ordinal).updatedAt = identity.updated_at ?? identity.created_at ?? world.clock.now
  return undefined
}

function startAdapter(world: WorldParts, seed: DeploymentSeed): string | undefined {
  const identity = fixtureIdentity(world, seed)
  if (seed.base_model === undefined) return "an adapter needs 'base_model'."
  if (!world.deployments.findLive(seed.base_model) && !world.store.models.has(seed.base_model)) {
    return `base_model ${seed.base_model} is neither a deployment nor a model of the catalog.`
  }
  const ordinal = world.loraAdapters.add(
    {
      model_name: seed.model_name,
      base_model: seed.base_model,
      modelhub_url: seed.source?.modelhub_url ?? '',
      private: seed.private,
      description: seed.description,
    },
    identity,
  )
  if (DEPLOYMENT_LIFECYCLE.inProgress.has(seed.status)) {
    world.loraAdapters.start(ordinal)
  } else {
    applyFinalStatus(world, ordinal, seed)
    if (seed.status === 'running') world.loraAdapters.slots.loadFromFixture(ordinal)
  }
  return undefined
}

/** Gives a row a status that needs nothing to make it true. */
function applyFinalStatus(world: WorldParts, ordinal: number, seed: DeploymentSeed): void {
  const { deployments } = world
  if (seed.status === 'deleted') deployments.delete(ordinal)
  else {
    deployments.setStatus(ordinal, seed.status, seed.fail_reason)
    // What is stopped or failed wants no instances.
    deployments.writable(ordinal).desired = 0
  }
  const identity = fixtureIdentity(world, seed)
  deployments.writable(ordinal).updatedAt = identity.updated_at ?? identity.created_at ?? world.clock.now
}

function startHostedInstance(world: WorldParts, seed: HostedSeed): void {
  const { instance_id: id, name, plan_id: planId, agent_type: agentType, version, state, fail_reason } = seed
  const plan = world.store.plans.get(planId)!
  const { region = plan.regions[0]!, storage_gb: storageGb = plan.disk_gb, last_backup_ts: lastBackup } = seed
  const machine = { planId, region, centsPerHour: plan.cents_per_hour, agentType, version, lastBackup }
  world.rentals.addFromFixture(
    { kind: 'hosted', name, machine, storageGb },
    { id, state, failReason: fail_reason, createdAt: world.clock.fromUnix(seed.created_at) },
  )
}

function startContainer(world: WorldParts, seed: ContainerSeed): string | undefined {
  const { container_id: id, name, gpu_config, container_image: image, state, fail_reason, created_at } = seed
  const { gpu, num_gpus } = parseGpuConfig(gpu_config)!
  const invalidImage = invalidImageReason(image)
  if (invalidImage !== undefined && (state === 'running' || state === 'shutting_down')) {
    return `it cannot be ${state}: ${invalidImage}. Correct container_image.`
  }
  const isPlaced = world.rentals.addFromFixture(
    { kind: 'container', name, gpu, numGpus: num_gpus, image },
    { id, state, failReason: fail_reason, createdAt: world.clock.fromUnix(created_at) },
  )
  return isPlaced
    ? undefined
    : `no node has ${num_gpus} free ${gpu} for it. Add nodes, or give it the state 'creating'.`
}

function startBatch(world: WorldParts, seed: BatchSeed): string | undefined {
  const { batches, clock, profile } = world
  if (seed.endpoint === '/v1/embeddings' && profile.policies.batchEndpoints === 'documented') {
    return `endpoint /v1/embeddings needs the policy batch_endpoints: 'with_embeddings' of the profile. Set it, or give another endpoint.`
  }
  const created_at = clock.fromUnix(seed.created_at)
  const ordinal = batches.add(
    {
      input_file_id: seed.input_file_id,
      endpoint: seed.endpoint,
      completion_window: seed.completion_window,
      metadata: seed.metadata,
      token_id: [...world.store.tokens.all()][0]?.token_id,
    },
    { id: seed.id, created_at, output_file_id: seed.output_file_id, error_file_id: seed.error_file_id },
  )
  if (seed.status === 'validating') {
    batches.startValidation(ordinal)
    return undefined
  }
  const timeOr = (unix: number | undefined) => (unix === undefined ? created_at : clock.fromUnix(unix))
  const statusTimes =
    seed.status === 'in_progress'
      ? { in_progress: timeOr(seed.in_progress_at) }
      : {
          in_progress: timeOr(seed.in_progress_at),
          finalizing: timeOr(seed.finalizing_at),
          completed: timeOr(seed.completed_at),
        }
  const [error] = batches.restoreFromFixture(ordinal, seed.status, statusTimes, bundledBatches.has(seed))
  if (!error) return undefined
  // People count lines from 1, as their editors do; the wire counts from 0.
  const position = error.line === null ? '' : `line ${error.line + 1} of it: `
  return `its input ${seed.input_file_id} cannot be run: ${position}${error.message}. Correct the file.`
}
