/**
 * What an instance does with requests: one law for offered load, single requests, batches and streams.
 *
 * A step of the engine makes a token of each running answer and reads a chunk of prompts. Its time follows from memory,
 * compute, links and fixed parts. In equilibrium a step reads as many prompt tokens as its answers need, so for a number
 * of requests in work all else follows in closed form. No event fires for a token.
 */
import type { EngineConstants } from '../../data/engine-classes.ts'
import type { GpuSpec } from '../../data/gpu-specs.ts'
import { exp, ln } from '../../kernel/exact-math.ts'

/** What the time of a step depends on in a model: the figures of its `config.json`. */
export interface ModelFigures {
  readonly parameters: number
  /** Parameters that a token uses: fewer than all if the model has experts. */
  readonly active: number
  readonly layers: number
  readonly hidden: number
  /** Query heads × size of a head. */
  readonly attentionWidth: number
  /** Bytes of a token in the cache. */
  readonly kvBytesPerToken: number
  /** 0 without experts. */
  readonly experts: number
  readonly expertsPerToken: number
}

/** An instance without its work. */
export interface InstanceHardware {
  readonly gpu: GpuSpec
  readonly gpus: number
  readonly model: ModelFigures
  readonly weightBytes: number
  readonly constants: EngineConstants
  /** The most requests that it works on at once. */
  readonly maxBatchSize: number
  /** Tokens that a step reads and makes. */
  readonly stepTokens: number
  /** Whether every GPU holds all that is not an expert. */
  readonly attentionDataParallel?: boolean
}

/** What an instance works on. Token counts are means. */
export interface InstanceWorkload extends InstanceHardware {
  readonly promptTokens: number
  readonly outputTokens: number
  /** Share of the prompt tokens that are in the prefix cache, from 0 to 1. Default: 0. */
  readonly cachedShare?: number
}

/** How an instance does with a number of requests in work. Times are in seconds. */
export interface EnginePoint {
  /** Requests in work. */
  readonly concurrency: number
  /** Requests/s. */
  readonly rate: number
  /** From one token of an answer to the next. */
  readonly tokenTime: number
  /** From the start of a request to its first token. */
  readonly firstTokenTime: number
  /** From the start of a request to its end. */
  readonly requestTime: number
}

/** The fewest tokens of a prompt that an engine reads: the rest of a block. */
const LEAST_READ = 16
/** Points of the table of an engine. The largest error of a rate between two of them is 1 %. */
const POINTS = 48
/** Below e to the power of this, every expert is read. */
const NEGLIGIBLE_POWER = -40
/** More GPUs are on several nodes, whose link is slower (A). */
const GPUS_OF_NODE = 8
const LINK_OF_NODES = 25e9

/** Returns the bits of a number in the matrix products of weights with these bytes for each parameter. */
export function bitsOf(bytesPerParameter: number): 16 | 8 | 4 {
  return bytesPerParameter <= 0.75 ? 4 : bytesPerParameter <= 1.5 ? 8 : 16
}

/** Returns the bytes of all GPUs that remain for the cache; below 0 if the weights do not fit. */
export function cacheBytes(hardware: InstanceHardware): number {
  const { gpu, gpus, constants, model, stepTokens } = hardware
  const activations = constants.activationBytes + constants.activationsPerStep * stepTokens * model.hidden * 2
  const held = weightBytesHeld(hardware) + gpus * activations
  const memory = gpu.memoryBytes * gpus
  return constants.isShareOfRest ? constants.memoryShare * (memory - held) : constants.memoryShare * memory - held
}

/** Returns the parameters outside the experts. */
function denseParameters({ parameters, active, experts, expertsPerToken }: ModelFigures): number {
  const share = active < parameters && expertsPerToken < experts ? expertsPerToken / experts : 1
  return share < 1 ? (active - parameters * share) / (1 - share) : parameters
}

function weightBytesHeld({ model, weightBytes, gpus, attentionDataParallel = false }: InstanceHardware): number {
  const copies = attentionDataParallel ? (gpus - 1) * denseParameters(model) : 0
  return weightBytes * (1 + copies / model.parameters)
}

/** Published rows of throughput by class of the engine and kind of the model, as `modelhost-sim validate` counts them. */
const THROUGHPUT_ROWS = { default: { dense: 12, experts: 0 }, tuned: { dense: 297, experts: 114 } } as const

/**
 * Returns the band of the throughput of an engine, as a share: the p90 of the errors against published rows, rounded up.
 * `rows` counts the published rows; 0 means that the band comes from held-out rows, which are not in the package.
 * Undefined for hardware and models of which no rows were found.
 */
export function throughputBand({ gpu, model, weightBytes, constants }: InstanceHardware) {
  const hasExperts = model.active < model.parameters
  const rows = THROUGHPUT_ROWS[constants.overlaps ? 'default' : 'tuned'][hasExperts ? 'experts' : 'dense']
  if (!gpu.isValidated || rows === 0) return undefined
  const isBlackwell = gpu.flops4 > gpu.flops8
  if (!isBlackwell) return { band: 0.2, rows }
  return bitsOf(weightBytes / model.parameters) === 4 ? { band: hasExperts ? 0.65 : 0.35, rows: 0 } : undefined
}

/** An engine with a mean length of prompts and answers. Its table is built when it is first needed. */
export class InstanceEngine {
  readonly workload: InstanceWorkload
  readonly promptTokens: number
  readonly outputTokens: number
  /** Tokens of a prompt that are read, and those of them that one step reads. */
  readonly readTokens: number
  readonly chunk: number
  /** Requests that it works on at once: what memory, `maxBatchSize` and the tokens of a step allow. At least 1. */
  readonly places: number
  /** What the places are limited by. */
  readonly limit: 'memory' | 'max_batch_size' | 'step tokens'
  /** Seconds of a step that do not depend on its work, and those for each of what it works on. */
  readonly #fixed: number
  readonly #perWeight: number
  readonly #perSequence: number
  readonly #perToken: number
  readonly #perPromptToken: number
  readonly #perLinkedToken: number
  /** Parameters that each step reads, and those of experts, which it reads if a token uses them. */
  readonly #dense: number
  readonly #sparse: number
  readonly #lnUnused: number
  #points: readonly EnginePoint[] | undefined
  /** The rate of the last point: each event of a load reads it, and the way to the point misses the cache of a core. */
  #mostRate = Number.NaN
  /** The last answer of `rateWith`: an autoscaler holds its instances at one concurrency. */
  #heldConcurrency = Number.NaN
  #heldRate = 0

  constructor(workload: InstanceWorkload) {
    const { gpu, gpus: n, model, weightBytes, constants: c, promptTokens, outputTokens, stepTokens } = workload
    const { attentionDataParallel = false } = workload
    this.workload = workload
    this.promptTokens = promptTokens
    this.outputTokens = outputTokens
    this.readTokens = Math.max(LEAST_READ, promptTokens * (1 - (workload.cachedShare ?? 0)))
    this.chunk = Math.min(this.readTokens, stepTokens)
    const kept = model.kvBytesPerToken * (promptTokens + c.reservedAnswer * outputTokens)
    const byTokens = stepTokens / (1 + promptTokens / outputTokens)
    const byMemory = cacheBytes(workload) / kept
    const byRequests = Math.min(workload.maxBatchSize, c.mostSequences)
    this.places = Math.max(1, Math.min(byMemory, byRequests, byTokens))
    this.limit = byRequests <= this.places ? 'max_batch_size' : byTokens <= this.places ? 'step tokens' : 'memory'

    const dense = denseParameters(model)
    const hasExperts = model.active < model.parameters
    this.#dense = dense * (attentionDataParallel ? n : 1)
    this.#sparse = model.parameters - dense
    this.#lnUnused = this.#sparse > 0 ? ln(1 - model.expertsPerToken / model.experts) : 0
    const bytesPerParameter = weightBytes / model.parameters
    const bits = bitsOf(bytesPerParameter)
    const flops = bits === 16 ? gpu.flops16 : bits === 8 ? gpu.flops8 : gpu.flops4
    const efficiency = bits === 16 ? c.computeShare16 : c.computeShare8 * (bits === 4 ? gpu.efficiency4 : 1)
    const bandwidth = n * gpu.bandwidth
    this.#perWeight = bytesPerParameter / c.weightShare / bandwidth
    this.#perSequence = ((promptTokens + outputTokens / 2) * model.kvBytesPerToken) / c.cacheShare / bandwidth
    this.#perToken = (2 * model.active * (1 + (c.lostColumns * n) / model.hidden)) / (n * flops * efficiency)
    const attention = 2 * model.layers * model.attentionWidth * promptTokens
    this.#perPromptToken = attention / (n * gpu.flops16 * c.attentionShare)
    const link = (n > GPUS_OF_NODE ? LINK_OF_NODES : gpu.link) * (gpu.hasNvlink ? c.nvlinkShare : c.pcieShare)
    const linkedBytes = ((2 * (n - 1)) / n) * model.hidden * 2 * (attentionDataParallel ? c.allToAll : 1)
    const reduceTime = n > 1 ? c.reduceTime + c.reduceTimePerGpu * (n - 1) : 0
    this.#perLinkedToken = (2 * model.layers * linkedBytes) / link
    this.#fixed = c.stepTime + model.layers * (c.layerTime + (hasExperts ? c.expertLayerTime : 0) + 2 * reduceTime)
  }

  /** Returns the seconds of a step in which `sequences` answers get a token each, and prompt tokens are read. */
  step(sequences: number, promptTokens: number): number {
    const { overlaps, sequenceTime } = this.workload.constants
    const tokens = sequences + promptTokens
    const memory = (this.#dense + this.#expertsRead(tokens)) * this.#perWeight + sequences * this.#perSequence
    const compute = tokens * this.#perToken + promptTokens * this.#perPromptToken
    const work = overlaps ? Math.sqrt(memory * memory + compute * compute) : memory + compute
    return work + tokens * this.#perLinkedToken + this.#fixed + sequences * sequenceTime
  }

  /** Returns the parameters of experts that this many tokens use: all of them if the tokens are many. */
  #expertsRead(tokens: number): number {
    if (this.#sparse === 0) return 0
    const power = Math.max(tokens, 1) * this.#lnUnused
    return this.#sparse * (power < NEGLIGIBLE_POWER ? 1 : 1 - exp(power))
  }

  /** Returns how the instance does with a number of requests in work, whatever its places are. */
  at(concurrency: number): EnginePoint {
    const { outputTokens, readTokens, chunk } = this
    const tokenTime = this.#meanStep(concurrency, (concurrency * readTokens) / outputTokens)
    const readTime = Math.ceil(readTokens / this.workload.stepTokens) * this.step(Math.max(concurrency - 1, 0), chunk)
    // A request that is not alone waits for the rest of the running step.
    const rest = concurrency > 1.5 ? tokenTime / 2 : 0
    const firstTokenTime = this.workload.constants.serverTime + readTime + rest
    const requestTime = firstTokenTime + (outputTokens - 1) * tokenTime
    return { concurrency, rate: concurrency / (outputTokens * tokenTime), tokenTime, firstTokenTime, requestTime }
  }

  /** Prompts come in chunks: a mean of few prompt tokens is some steps with a chunk, and the others without. */
  #meanStep(sequences: number, promptTokens: number): number {
    if (promptTokens >= this.chunk) return this.step(sequences, promptTokens)
    const without = this.step(sequences, 0)
    return without + (promptTokens / this.chunk) * (this.step(sequences, this.chunk) - without)
  }

  /** Requests/s with all the work that it can take. */
  get requestsPerSecond(): number {
    if (Number.isNaN(this.#mostRate)) this.#mostRate = this.#table.at(-1)!.rate
    return this.#mostRate
  }

  /** Output tokens/s with all the work that it can take. */
  get tokensPerSecond(): number {
    return this.requestsPerSecond * this.outputTokens
  }

  /** Returns how the instance does at a rate, in requests/s. Above what it can do, all places are taken. */
  atRate(rate: number): EnginePoint {
    const first = this.#table[0]!
    if (rate < first.rate) return { ...first, rate, concurrency: (first.concurrency * rate) / first.rate }
    return this.#between('rate', rate)
  }

  /** Returns the rate at which so many requests are in work, in requests/s: the inverse of `atRate`. */
  rateWith(concurrency: number): number {
    if (concurrency === this.#heldConcurrency) return this.#heldRate
    const first = this.#table[0]!
    this.#heldRate =
      concurrency < first.concurrency
        ? (first.rate * concurrency) / first.concurrency
        : this.#between('concurrency', concurrency).rate
    this.#heldConcurrency = concurrency
    return this.#heldRate
  }

  /** Returns the rates between which all figures are linear around a rate: it is above the first and below the second. */
  linearAround(rate: number): readonly [low: number, high: number] {
    const table = this.#table
    if (rate < table[0]!.rate) return [-1, table[0]!.rate]
    const i = this.#indexBelow('rate', rate)
    return [table[i]!.rate * (1 - 1e-9), table[i + 1]?.rate ?? Number.POSITIVE_INFINITY]
  }

  #between(key: 'rate' | 'concurrency', value: number): EnginePoint {
    const i = this.#indexBelow(key, value)
    const [low, high] = [this.#table[i]!, this.#table[i + 1]]
    if (high === undefined) return low
    const share = (value - low[key]) / (high[key] - low[key])
    return {
      concurrency: low.concurrency + share * (high.concurrency - low.concurrency),
      rate: low.rate + share * (high.rate - low.rate),
      tokenTime: low.tokenTime + share * (high.tokenTime - low.tokenTime),
      firstTokenTime: low.firstTokenTime + share * (high.firstTokenTime - low.firstTokenTime),
      requestTime: low.requestTime + share * (high.requestTime - low.requestTime),
    }
  }

  /** Returns the last point that is not above a value. */
  #indexBelow(key: 'rate' | 'concurrency', value: number): number {
    const table = this.#table
    let [low, high] = [0, table.length]
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if (table[middle]![key] <= value) low = middle
      else high = middle
    }
    return low
  }

  get #table(): readonly EnginePoint[] {
    this.#points ??= this.#computePoints()
    return this.#points
  }

  /** Geometric points from one request to all places. The rate never falls from one to the next. */
  #computePoints(): readonly EnginePoint[] {
    const step = ln(this.places) / (POINTS - 1)
    const points: EnginePoint[] = []
    for (let k = 0; k < (this.places > 1 ? POINTS : 1); k++) {
      const point = this.at(k === POINTS - 1 ? this.places : exp(k * step))
      points.push({ ...point, rate: Math.max(point.rate, points.at(-1)?.rate ?? 0) })
    }
    return points
  }
}
