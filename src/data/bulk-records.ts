/** Creates bulk records for large worlds, with faker and the world's seed. */
import type { Faker } from '@faker-js/faker'
import { loadEnglishFaker } from '#faker'
import { DEFAULT_EPOCH_MS } from '../kernel/clock.ts'
import { Chance, type EntityKey, purpose } from '../kernel/random.ts'
import { deepFreeze } from '../lib/fields.ts'
import { GPUS, type GpuSpec } from './gpu-specs.ts'
import { loadProfile } from './profiles/load.ts'
import type { CatalogModel, HubRepository, ModelHardware } from './records/catalog.ts'
import type { ModelTask } from './records/enums.ts'
import type { Fixture } from './records/fixture.ts'
import type { GpuType } from './records/gpu-config.ts'
import type { DeploymentSeed } from './records/seeds.ts'

type RealGpu = Exclude<GpuType, 'other'>

/** The quota of a GPU type that an account does not name. */
const DEFAULT_GPU_LIMIT = 4
/** Concurrent requests of a bulk deployment. Few, so that an 8B model and its cache fit on small GPUs. */
const BATCH_SIZE = 16
const DAY_MS = 86_400_000

/** The numbers of records up to which a world is filled. */
export interface BulkCounts {
  /** Catalog models in all, from 0 to 100,000. */
  readonly models?: number
  /** Deployments in all, from 0 to 100,000. */
  readonly deployments?: number
}

/**
 * Returns the fixture, filled up to the counts with records that depend on the seed.
 *
 * @throws RangeError if the fixture has more records of a kind already
 */
export function fillFixture(
  fixture: Fixture,
  { models, deployments }: BulkCounts,
  { seed, epochMs }: { readonly seed: number | string; readonly epochMs: number },
): Fixture {
  const withModels = models === undefined ? fixture : fillModels(fixture, models, seed)
  return deployments === undefined ? withModels : fillDeployments(withModels, deployments, seed, epochMs)
}

/**
 * Returns the fixture with `count` catalog models in all, and hardware for each. The existing models come first.
 *
 * A model depends only on the seed and its position. A larger `count` does not change the first models.
 *
 * @throws RangeError if the fixture has more than `count` already
 * @example
 * fillModels(loadFixture('default'), 1_000, 7).models.length // 1000
 */
export function fillModels(fixture: Fixture, count: number, seed: number | string): Fixture {
  checkCount('models', fixture.models.length, count)
  const source = new SeededFaker(seed)
  const takenNames = new Set(fixture.models.map(model => model.model_name))
  const models = [...fixture.models]
  const hardware = [...fixture.hardware]
  while (models.length < count) {
    const [model, entry] = bulkModel(source, source.selectRecord('model', models.length), takenNames)
    models.push(model)
    hardware.push(entry)
  }
  return deepFreeze({ ...fixture, models, hardware })
}

/**
 * Returns the fixture with `count` deployments in all. The existing deployments come first.
 *
 * About half of the new deployments run, on one GPU each, and use at most three quarters of the free on-demand GPUs.
 * The others are stopped, failed or deleted. The account's GPU quotas grow by the used GPUs, so the unused part stays
 * equal.
 *
 * @param epochMs epoch of the world in milliseconds since 1970-01-01T00:00:00Z. New deployments are up to 30 days
 *   older.
 * @throws RangeError if the fixture has more than `count` already
 * @example
 * fillDeployments(loadFixture('empty'), 10_000, 7).deployments.length // 10000
 */
export function fillDeployments(
  fixture: Fixture,
  count: number,
  seed: number | string,
  epochMs: number = DEFAULT_EPOCH_MS,
): Fixture {
  checkCount('deployments', fixture.deployments.length, count)
  const source = new SeededFaker(seed)
  const takenNames = new Set(fixture.deployments.map(each => each.model_name))
  const capacity = new FleetCapacity(fixture)
  const deployments = [...fixture.deployments]
  while (deployments.length < count) {
    source.selectRecord('deployment', deployments.length)
    deployments.push(bulkDeployment(source.faker, fixture, capacity, takenNames, epochMs))
  }
  const account = { ...fixture.account, gpu_limits: { ...fixture.account.gpu_limits, ...capacity.gpuLimits() } }
  return deepFreeze({ ...fixture, account, deployments })
}

function checkCount(what: string, present: number, requested: number): void {
  if (Number.isInteger(requested) && requested >= present) return
  throw new RangeError(
    `Failed to fill ${what}: the fixture has ${present} already, and the requested number is ${requested}. Choose ${present} or more.`,
  )
}

/** A faker whose random numbers depend only on the seed and the current record. */
class SeededFaker {
  readonly faker: Faker
  readonly chance: Chance
  #key: EntityKey
  #drawCount = 0

  constructor(seed: number | string) {
    const fakerPurpose = purpose('faker')
    this.chance = new Chance(seed)
    this.#key = this.chance.key('bulk', '')
    // The entry point of the package loads every language. The module of English exports the class too.
    const english = loadEnglishFaker()
    const FakerClass = english.constructor as typeof Faker
    const next = () => this.chance.unit(this.#key, fakerPurpose, this.#drawCount++)
    this.faker = new FakerClass({ locale: english.rawDefinitions, randomizer: { next, seed: () => {} } })
  }

  selectRecord(kind: string, position: number): EntityKey {
    this.#key = this.chance.key(`bulk ${kind}`, '', position)
    this.#drawCount = 0
    return this.#key
  }
}

const TEXT_MODEL_SIZES = [0.5, 1, 2, 3, 7, 8, 12, 14, 24, 32, 70, 120] as const
const OTHER_MODEL_SIZES = [0.1, 0.3, 0.5, 1, 2, 4] as const
const TASK_WORDS: Record<ModelTask, string> = {
  'text-generation': 'chat',
  embeddings: 'embed',
  'text-to-image': 'image',
  'text-to-speech': 'voice',
  'automatic-speech-recognition': 'scribe',
  reranker: 'rerank',
  custom: 'tool',
}

function bulkModel(source: SeededFaker, key: EntityKey, takenNames: Set<string>): [CatalogModel, ModelHardware] {
  const { faker, chance } = source
  const type = faker.helpers.weightedArrayElement<ModelTask>([
    { value: 'text-generation', weight: 12 },
    { value: 'embeddings', weight: 3 },
    { value: 'text-to-image', weight: 3 },
    { value: 'text-to-speech', weight: 2 },
    { value: 'automatic-speech-recognition', weight: 2 },
    { value: 'reranker', weight: 1 },
    { value: 'custom', weight: 1 },
  ])
  const isText = type === 'text-generation'
  const size = faker.helpers.arrayElement<number>(isText ? TEXT_MODEL_SIZES : OTHER_MODEL_SIZES)
  const name = `${slug(faker.word.adjective())}-${slug(faker.word.noun())}/${slug(faker.word.noun())}-${TASK_WORDS[type]}-${size}b`
  const model_name = uniqueName(name, takenNames)
  const gpu = smallestFittingGpu(size * 2.1)
  const rate = faker.number.int({ min: 1, max: 9 }) * (size > 20 ? 5 : 1)
  const perSecond = loadProfile().prices.centsPerHour[gpu] / 3600
  const price = `$${(perSecond / 100).toFixed(6)}`
  const model: CatalogModel = {
    model_name,
    type,
    reported_type: type,
    description: `${faker.company.catchPhrase()}, with ${size}B parameters.`,
    cover_img_url: '',
    tags: [TASK_WORDS[type], slug(faker.word.adjective())],
    pricing: {
      type: 'time',
      cents_per_sec: Number(perSecond.toFixed(5)),
      short: `${price}/sec`,
      full: `${price} per second of 1x ${gpu}`,
      table: { columns: ['Hardware', 'Price per second'], rows: [[`1x ${gpu}`, price]] },
    },
    max_tokens: isText ? faker.helpers.arrayElement([4096, 8192, 32_768, 131_072]) : null,
    replaced_by: null,
    deprecated: null,
    quantization: isText ? 'bf16' : null,
    mmlu: isText ? faker.number.int({ min: 400, max: 880 }) / 1000 : null,
    expected: null,
    featured: false,
    is_partner: faker.number.int(9) === 0,
    versions: [chance.hex(64, key, purpose('version'))],
    version_times: {},
    parameters_b: size,
  }
  const pricing = { cents_per_million_input_tokens: rate, cents_per_million_output_tokens: isText ? rate * 2 : 0 }
  const entry: ModelHardware = {
    model_name,
    hardware: [{ type: 'serverless', id: 'serverless', name: 'Serverless', pricing }],
  }
  if (isText)
    entry.hardware.push({ type: 'dedicated', id: `1x${gpu}`, name: `1 x ${gpu.replace('-', ' ')}`, gpu, num_gpus: 1 })
  return [model, entry]
}

/** Returns the smallest GPU that holds this many GB and has a tenth left. */
function smallestFittingGpu(gigabytes: number): RealGpu {
  const cards = Object.entries(GPUS) as [RealGpu, GpuSpec][]
  return cards.find(([, { memoryBytes }]) => gigabytes <= (memoryBytes / 1e9) * 0.9)?.[0] ?? 'B300-270GB'
}

const FAIL_REASONS = [
  'image pull failed: manifest unknown',
  'hub: 404 repository not found',
  'hub: 401 the repository is gated',
  'out of memory while loading the weights',
]

function bulkDeployment(
  faker: Faker,
  fixture: Fixture,
  capacity: FleetCapacity,
  takenNames: Set<string>,
  epochMs: number,
): DeploymentSeed {
  const name = `${fixture.account.display_name}/${slug(faker.word.adjective())}-${slug(faker.word.noun())}`
  const model_name = uniqueName(name, takenNames)
  const desiredStatus = faker.helpers.weightedArrayElement<'running' | 'stopped' | 'failed' | 'deleted'>([
    { value: 'running', weight: 5 },
    { value: 'stopped', weight: 3 },
    { value: 'failed', weight: 1 },
    { value: 'deleted', weight: 1 },
  ])
  const { pairing, status } = capacity.choose(faker, desiredStatus)
  const created = epochMs - faker.number.int({ min: 3_600_000, max: 30 * DAY_MS })
  const updated = created + faker.number.int({ min: 60_000, max: epochMs - created })
  return {
    model_name,
    type: 'llm',
    task: 'text-generation',
    status,
    fail_reason: status === 'failed' ? faker.helpers.arrayElement(FAIL_REASONS) : '',
    created_at: new Date(created).toISOString(),
    updated_at: new Date(updated).toISOString(),
    gpu: pairing.gpu,
    num_gpus: 1,
    max_batch_size: BATCH_SIZE,
    ...(pairing.repo === undefined ? {} : { weights: { repo: pairing.repo, revision: 'main', token: '' } }),
    settings: { min_instances: 1, max_instances: faker.number.int({ min: 1, max: 4 }) },
    private: true,
    description: '',
  }
}

/** Weights, and a GPU on which one instance fits. Without a repository the weights have the deployment's name. */
interface GpuWeightsPair {
  gpu: RealGpu
  repo: string | undefined
}

/** The free GPUs of the fleet, and the GPUs that the account holds. */
class FleetCapacity {
  readonly #fixture: Fixture
  readonly #pairings: GpuWeightsPair[]
  readonly #freeGpus = new Map<RealGpu, number>()
  readonly #usedGpus = new Map<RealGpu, number>()
  readonly #addedGpus = new Map<RealGpu, number>()

  constructor(fixture: Fixture) {
    this.#fixture = fixture
    for (const { status, type, gpu, num_gpus, settings } of fixture.deployments) {
      if (type !== 'llm' || status === 'stopped' || status === 'failed' || status === 'deleted') continue
      increment(this.#usedGpus, gpu, num_gpus * Math.max(1, settings.min_instances))
    }
    for (const { market, nodes } of fixture.nodes.pools) {
      if (market === 'spot') continue
      for (const { gpu, count, gpus_per_node, occupied } of nodes)
        increment(this.#freeGpus, gpu, count * (gpus_per_node - occupied))
    }
    for (const [gpu, free] of this.#freeGpus) {
      this.#freeGpus.set(gpu, Math.max(0, Math.floor(((free - (this.#usedGpus.get(gpu) ?? 0)) * 3) / 4)))
    }
    const cards = this.#freeGpus.size > 0 ? [...this.#freeGpus.keys()] : (['H100-80GB'] as const)
    this.#pairings = cards.flatMap(gpu =>
      weights(fixture)
        .filter(({ bytes, parameters_b }) => fitsOnGpu(gpu, bytes, parameters_b))
        .map(({ repo }) => ({ gpu, repo })),
    )
    if (this.#pairings.length === 0) {
      throw new RangeError(
        'Failed to fill deployments: no weights of the hub fit on one GPU of the fleet. Add a smaller repository or a larger GPU.',
      )
    }
  }

  choose(
    faker: Faker,
    desiredStatus: 'running' | 'stopped' | 'failed' | 'deleted',
  ): { pairing: GpuWeightsPair; status: typeof desiredStatus } {
    const candidates =
      desiredStatus === 'running' ? this.#pairings.filter(({ gpu }) => (this.#freeGpus.get(gpu) ?? 0) > 0) : []
    if (candidates.length === 0) {
      const pairing = faker.helpers.arrayElement(this.#pairings)
      return { pairing, status: desiredStatus === 'running' ? 'stopped' : desiredStatus }
    }
    const pairing = faker.helpers.arrayElement(candidates)
    increment(this.#freeGpus, pairing.gpu, -1)
    increment(this.#addedGpus, pairing.gpu, 1)
    return { pairing, status: 'running' }
  }

  /** Returns quotas whose unused part is as large as before. */
  gpuLimits(): Partial<Record<RealGpu, number>> {
    const limits: Partial<Record<RealGpu, number>> = {}
    for (const [gpu, added] of this.#addedGpus) {
      const limit = this.#fixture.account.gpu_limits[gpu]
      if (limit === null) continue
      limits[gpu] = Math.max(limit ?? DEFAULT_GPU_LIMIT, this.#usedGpus.get(gpu) ?? 0) + added
    }
    return limits
  }
}

function weights({ hub }: Fixture): { repo: string | undefined; bytes: number; parameters_b: number }[] {
  const open = hub.repositories.filter((repository: HubRepository) => !repository.gated)
  if (open.length > 0 || hub.policy === 'refuse') return open
  return [{ repo: undefined, bytes: 16e9, parameters_b: 8 }]
}

/**
 * A cautious form of the simulator's rule: 128 KiB of cache a token for 8B, in proportion above, 1,024 tokens a
 * request.
 */
function fitsOnGpu(gpu: RealGpu, bytes: number, parameters: number): boolean {
  const cache = BATCH_SIZE * 1024 * 131_072 * Math.max(1, parameters / 8)
  return bytes * 1.05 + 1.5e9 + cache <= GPUS[gpu].memoryBytes * 0.9
}

function increment<K>(counts: Map<K, number>, key: K, amount: number): void {
  counts.set(key, (counts.get(key) ?? 0) + amount)
}

function slug(words: string): string {
  return words
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
}

function uniqueName(name: string, takenNames: Set<string>): string {
  let candidate = name
  for (let nth = 2; takenNames.has(candidate); nth++) candidate = `${name}-${nth}`
  takenNames.add(candidate)
  return candidate
}
