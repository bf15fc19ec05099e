import { FixtureError } from '../store/fixture.ts'
import {
  type BatchSeed,
  type ContainerSeed,
  type DeploymentSeed,
  type Fixture,
  type GpuType,
  type HostedSeed,
  parseGpuConfig,
} from '../store/records.ts'
import type { GivenIdentity } from './deployment-row.ts'
import { contentOf } from './given-files.ts'
import { badImage, memoryShortage } from './hub.ts'
import type { InstanceState } from './instances.ts'
import type { World } from './world.ts'

/** The furthest instance that each status shows. */
const INSTANCE_OF_STATUS: Readonly<Record<string, InstanceState>> = {
  initializing: 'pending',
  downloading: 'pulling',
  deploying: 'loading',
  running: 'ready',
}

/**
 * Settles a new world with the living things of a fixture: for each status what makes it true, that is instances, their
 * nodes, and what happens next.
 *
 * @throws FixtureError for what can not be, such as a running deployment without a free GPU; it names file and position.
 */
export function settleFixture(world: World, fixture: Fixture): void {
  const problems: string[] = []
  const { account } = fixture
  world.ledger.open(account.uid, account.funds_cents, account.topup, account.card === 'good')
  world.nodes.build(fixture.nodes.pools)
  world.weather.begin()
  for (const [gpu, limit] of Object.entries(account.gpu_limits)) {
    if (limit !== undefined) world.limits.set(gpu as GpuType, limit)
  }
  for (const [i, seed] of fixture.files.entries()) {
    const content = contentOf(seed)
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
  const inOrder = [...fixture.deployments.entries()].sort(
    ([a, one], [b, other]) => Number(one.type === 'lora') - Number(other.type === 'lora') || a - b,
  )
  for (const [i, seed] of inOrder) {
    const problem = seed.type === 'lora' ? settleAdapter(world, seed) : settleDeployment(world, seed)
    if (problem) problems.push(`deployments: $[${i}] (${seed.model_name}): ${problem}`)
  }
  for (const [i, seed] of fixture.hosted.entries()) {
    const problem = settleHosted(world, seed)
    if (problem) problems.push(`hosted.json: $[${i}]: ${problem}`)
  }
  for (const [i, seed] of fixture.containers.entries()) {
    const problem = settleContainer(world, seed)
    if (problem) problems.push(`containers.json: $[${i}]: ${problem}`)
  }
  for (const [i, seed] of fixture.batches.entries()) {
    const problem = settleBatch(world, seed)
    if (problem) problems.push(`batches: $[${i}] (${seed.id}): ${problem}`)
  }
  if (problems.length > 0) {
    const shown = problems.slice(0, 10).map(problem => `\n  ${problem}`)
    const more = problems.length > shown.length ? `\n  and ${problems.length - shown.length} more` : ''
    throw new FixtureError(`Failed to settle the fixture:${shown.join('')}${more}`, problems)
  }
}

function identityOf(world: World, seed: DeploymentSeed): GivenIdentity {
  const { clock } = world
  return {
    deploy_id: seed.deploy_id,
    version: seed.version,
    created_at: seed.created_at === undefined ? undefined : clock.fromIso(seed.created_at),
    updated_at: seed.updated_at === undefined ? undefined : clock.fromIso(seed.updated_at),
    task: seed.task,
    type: seed.type,
  }
}

function settleDeployment(world: World, seed: DeploymentSeed): string | undefined {
  const { deployments, instances } = world
  const given = identityOf(world, seed)
  const ordinal = deployments.add(
    {
      model_name: seed.model_name,
      gpu: seed.gpu,
      num_gpus: seed.num_gpus,
      max_batch_size: seed.max_batch_size,
      weights: seed.weights,
      base_model: seed.base_model,
      container_image: seed.container_image,
      extra_args: seed.extra_args,
      min_instances: seed.settings.min_instances,
      max_instances: seed.settings.max_instances,
    },
    given,
  )
  if (seed.load && seed.type === 'llm') deployments.offer(ordinal, seed.load)
  const state = seed.type === 'llm' ? INSTANCE_OF_STATUS[seed.status] : undefined
  if (state === undefined) {
    endAs(world, ordinal, seed)
    return undefined
  }
  if (state === 'loading' || state === 'ready') {
    const { weights } = deployments.read(ordinal)
    const short = memoryShortage(weights, seed.gpu, seed.num_gpus, seed.max_batch_size)
    const bad = deployments.badArguments(deployments.read(ordinal))
    if (bad) return `it can not be ${seed.status}: its engine exits with ${bad}. Mend extra_args.`
    if (short)
      return `it can not be ${seed.status}: ${short}. Give it more GPUs, or the status 'failed' with a fail_reason.`
  }
  const wanted = Math.max(1, seed.settings.min_instances)
  deployments.own(ordinal).desired = wanted
  for (let i = 0; i < wanted; i++) {
    instances.ask(ordinal, 0)
    const instance = deployments.read(ordinal).instances[i]!
    if (!instances.settle(instance, state)) {
      return (
        `no node has ${seed.num_gpus} free ${seed.gpu} for ${seed.model_name}, so it can not be ${seed.status}. ` +
        "Add nodes, or give it the status 'stopped'."
      )
    }
  }
  deployments.refresh(ordinal)
  deployments.own(ordinal).updatedAt = given.updated_at ?? given.created_at ?? world.clock.now
  return undefined
}

function settleAdapter(world: World, seed: DeploymentSeed): string | undefined {
  const given = identityOf(world, seed)
  if (seed.base_model === undefined) return "an adapter needs 'base_model'."
  if (!world.deployments.live(seed.base_model) && !world.store.models.has(seed.base_model)) {
    return `base_model ${seed.base_model} is neither a deployment nor a model of the catalog.`
  }
  const ordinal = world.adapters.add(
    {
      model_name: seed.model_name,
      base_model: seed.base_model,
      modelhub_url: seed.source?.modelhub_url ?? '',
      private: seed.private,
      description: seed.description,
    },
    given,
  )
  if (seed.status === 'initializing' || seed.status === 'downloading' || seed.status === 'deploying') {
    world.adapters.begin(ordinal)
  } else {
    endAs(world, ordinal, seed)
    if (seed.status === 'running') world.adapters.slots.settle(ordinal)
  }
  return undefined
}

/** Gives a row a status that needs nothing to make it true. */
function endAs(world: World, ordinal: number, seed: DeploymentSeed): void {
  const { deployments } = world
  if (seed.status === 'deleted') deployments.delete(ordinal)
  else {
    deployments.setStatus(ordinal, seed.status, seed.fail_reason)
    // What is stopped or failed wants no instances.
    deployments.own(ordinal).desired = 0
  }
  const given = identityOf(world, seed)
  deployments.own(ordinal).updatedAt = given.updated_at ?? given.created_at ?? world.clock.now
}

function settleHosted(world: World, seed: HostedSeed): string | undefined {
  const { instance_id: id, name, gpu, num_gpus, storage_gb, state, fail_reason, created_at } = seed
  const settled = world.rentals.settle(
    { kind: 'hosted', name, gpu, numGpus: num_gpus, storageGb: storage_gb },
    { id, state, failReason: fail_reason, createdAt: world.clock.fromUnix(created_at) },
  )
  return settled ? undefined : `no node has ${num_gpus} free ${gpu} for it. Add nodes, or stop it.`
}

function settleContainer(world: World, seed: ContainerSeed): string | undefined {
  const { container_id: id, name, gpu_config, container_image: image, state, fail_reason, created_at } = seed
  const { gpu, num_gpus } = parseGpuConfig(gpu_config)!
  const bad = badImage(image)
  if (bad !== undefined && (state === 'running' || state === 'shutting_down')) {
    return `it can not be ${state}: ${bad}. Mend container_image.`
  }
  const settled = world.rentals.settle(
    { kind: 'container', name, gpu, numGpus: num_gpus, image },
    { id, state, failReason: fail_reason, createdAt: world.clock.fromUnix(created_at) },
  )
  return settled ? undefined : `no node has ${num_gpus} free ${gpu} for it. Add nodes, or give it the state 'creating'.`
}

function settleBatch(world: World, seed: BatchSeed): string | undefined {
  const { batches, clock } = world
  const created_at = clock.fromUnix(seed.created_at)
  const ordinal = batches.add(
    {
      input_file_id: seed.input_file_id,
      endpoint: seed.endpoint,
      completion_window: seed.completion_window,
      metadata: seed.metadata,
    },
    { id: seed.id, created_at },
  )
  if (seed.status === 'validating') {
    batches.begin(ordinal)
    return undefined
  }
  const at = (unix: number | undefined) => (unix === undefined ? created_at : clock.fromUnix(unix))
  const moments =
    seed.status === 'in_progress'
      ? { in_progress: at(seed.in_progress_at) }
      : {
          in_progress: at(seed.in_progress_at),
          finalizing: at(seed.finalizing_at),
          completed: at(seed.completed_at),
        }
  const [error] = batches.settle(ordinal, seed.status, moments)
  if (!error) return undefined
  // People count lines from 1, as their editors do; the wire counts from 0.
  const where = error.line === null ? '' : `line ${error.line + 1} of it: `
  return `its input ${seed.input_file_id} can not be run: ${where}${error.message}. Mend the file.`
}
