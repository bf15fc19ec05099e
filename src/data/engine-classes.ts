/** The constants of the two classes of engines. */

/** `default`: vLLM with its default settings. `tuned`: TensorRT-LLM. */
export const ENGINE_CLASS_NAMES = ['default', 'tuned'] as const
export type EngineClass = (typeof ENGINE_CLASS_NAMES)[number]

/** What an engine makes of its hardware. Shares are of the figures of the datasheet; times are in seconds. */
export interface EngineConstants {
  /** Whether reading memory and computing overlap: their times add up, or the root of their squares does. */
  readonly overlaps: boolean
  /** Share of the bandwidth at which weights, and cache, are read. */
  readonly weightShare: number
  readonly cacheShare: number
  /** Share of the FLOP/s of matrix products at 16 bit, and at 8 and 4 bit. */
  readonly computeShare16: number
  readonly computeShare8: number
  /** Columns that each GPU loses: the factor is 1 + columns × GPUs / width. */
  readonly lostColumns: number
  /** Share of the FLOP/s of the attention of prompts. */
  readonly attentionShare: number
  /** Latency of an all-reduce, and more for each further GPU. */
  readonly reduceTime: number
  readonly reduceTimePerGpu: number
  readonly nvlinkShare: number
  readonly pcieShare: number
  /** Bytes of an all-to-all against those of an all-reduce. */
  readonly allToAll: number
  /** Time of a step, of each layer in it, more for a layer with experts, and of each sequence. */
  readonly stepTime: number
  readonly layerTime: number
  readonly expertLayerTime: number
  readonly sequenceTime: number
  /** Share of the memory that the engine takes, before or after weights and activations. */
  readonly memoryShare: number
  readonly isShareOfRest: boolean
  /** Bytes of activations on each GPU, and activations of this many times a step's tokens × width × 2 bytes. */
  readonly activationBytes: number
  readonly activationsPerStep: number
  /** Share of an answer that the cache reserves for a sequence. */
  readonly reservedAnswer: number
  readonly mostSequences: number
  /** Time of the server, the network and the tokenizer for a request. */
  readonly serverTime: number
}

/**
 * [fit]: fitted to the published rows that `modelhost-sim validate` shows. [bound]: the fit ended at a limit that was set
 * for physical reasons. [pub]: published. (A): assumption.
 */
export const ENGINE_CLASSES: Readonly<Record<EngineClass, EngineConstants>> = {
  default: {
    overlaps: true, // (A)
    weightShare: 0.949_999_999_999_983_2, // [bound]
    cacheShare: 0.681_678_807_207_856_2, // [fit]
    computeShare16: 0.595_186_736_284_483_2, // [fit]
    computeShare8: 0.5, // (A)
    lostColumns: 300, // (A)
    attentionShare: 0.8, // [bound]
    reduceTime: 5e-6, // (A)
    reduceTimePerGpu: 1e-6, // (A)
    nvlinkShare: 0.7, // (A)
    pcieShare: 0.5, // (A)
    allToAll: 0.5, // (A)
    stepTime: 0.000_522_666_933_817_045, // [fit]
    layerTime: 4.995_600_372_687_422e-5, // [fit]
    expertLayerTime: 7.914_956_365_411_607e-5, // [fit]
    sequenceTime: 1e-8, // [bound]
    memoryShare: 0.9, // [pub] the default of vLLM
    isShareOfRest: false,
    activationBytes: 1.6e9, // [pub] from the counts of cache blocks of six set-ups, 0.9 to 2.0 GB
    activationsPerStep: 2, // [pub] as above
    reservedAnswer: 0.6, // (A)
    mostSequences: 4096, // its limit is max_batch_size
    serverTime: 0.019_492_728_339_985_634, // [fit]
  },
  tuned: {
    overlaps: false,
    weightShare: 0.879_210_912_726_684_1, // [fit]
    cacheShare: 0.924_723_628_136_056_7, // [fit]
    computeShare16: 0.766_211_146_062_554_1, // [fit]
    computeShare8: 0.649_780_159_825_398_4, // [fit]
    lostColumns: 325.127_490_035_968_66, // [fit]
    attentionShare: 0.674_398_423_259_568_9, // [fit]
    reduceTime: 1.199_999_999_999_801_8e-5, // [bound]
    reduceTimePerGpu: 1.999_999_999_999_773_8e-6, // [bound]
    nvlinkShare: 0.736_001_319_184_136, // [fit]
    pcieShare: 0.496_394_714_407_488_06, // [fit]
    allToAll: 0.711_474_515_854_593_6, // [fit]
    stepTime: 1.001_197_544_208_891_8e-5, // [bound]
    layerTime: 6.057_998_095_875_291e-5, // [fit]
    expertLayerTime: 0.000_198_306_949_350_914_24, // [fit]
    sequenceTime: 2.677_967_878_222_624_6e-6, // [fit]
    memoryShare: 0.969_581_501_886_711_4, // [bound]
    isShareOfRest: true,
    activationBytes: 3_319_920_265.398_697, // [fit]
    activationsPerStep: 14.125_107_229_540_26, // [fit]
    reservedAnswer: 0.818_299_676_379_659_9, // [fit]
    mostSequences: 4095.988_335_713_964_3, // [pub]
    serverTime: 0.002_850_429_540_406_505, // [fit]
  },
}

/** Factors on the constants of an engine, from measurements of a user. */
export interface EngineFactors {
  /** On the shares of bandwidth and FLOP/s. */
  readonly efficiency: number
  /** On the times of a step and its layers. */
  readonly fixedTime: number
  /** On the time of the server. */
  readonly serverTime: number
}

/** Returns constants with factors. */
export function calibrated(constants: EngineConstants, factors: EngineFactors): EngineConstants {
  const { efficiency, fixedTime, serverTime } = factors
  if (efficiency === 1 && fixedTime === 1 && serverTime === 1) return constants
  return {
    ...constants,
    weightShare: constants.weightShare * efficiency,
    cacheShare: constants.cacheShare * efficiency,
    computeShare16: constants.computeShare16 * efficiency,
    computeShare8: constants.computeShare8 * efficiency,
    attentionShare: constants.attentionShare * efficiency,
    stepTime: constants.stepTime * fixedTime,
    layerTime: constants.layerTime * fixedTime,
    expertLayerTime: constants.expertLayerTime * fixedTime,
    serverTime: constants.serverTime * serverTime,
  }
}
