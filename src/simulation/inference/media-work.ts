/**
 * The work of requests to media and custom models: how long an instance works on them, and what they are charged by.
 *
 * The time is a fixed part and a part that grows with the size of the model, both for one H100 that does nothing else.
 * Other GPU types take longer or shorter by their `mediaSpeed`. The profile has the constants.
 */
import type { Profile } from '../../data/profiles/load.ts'
import type { ModelPricing } from '../../data/records/pricing.ts'
import { type Micros, SECOND } from '../../kernel/duration.ts'
import type { WorkAmounts } from '../account/request-cost.ts'
import type { ModelSources, ModelTarget } from '../deployments/model-lookup.ts'
import type { InstanceHardware } from '../load/engine.ts'

/** The work of one request. It is plain data. */
export interface MediaWork {
  /** Time on one H100 that is independent of the size of the model. */
  readonly fixedTime: Micros
  /** Further time on one H100 for each billion parameters of the model. */
  readonly timePerBillion: Micros
  /** What the request is charged by. */
  readonly amounts: WorkAmounts
}

/** The size and number of the images of a request. */
export interface ImageSize {
  readonly width: number
  readonly height: number
  /** Default: 1. */
  readonly count?: number
  /** Steps of the model. Default: the default iterations of its pricing, or 25. */
  readonly iterations?: number | undefined
}

const PIXELS_PER_MEGAPIXEL = 1_048_576
const DEFAULT_IMAGE = { default_width: 1024, default_height: 1024, default_iterations: 25 } as const

/**
 * Returns the work of images. An image unit is one image with the default size and iterations of the model.
 *
 * @param pricing that of the catalog model; undefined for an own repository
 * @example imageWork(profile, pricing, { width: 512, height: 512 }).amounts.image_units // 0.25
 */
export function imageWork(profile: Profile, pricing: ModelPricing | undefined, size: ImageSize): MediaWork {
  const { imageFixed, imageStep } = profile.timings
  const defaults = pricing?.type === 'image_units' ? pricing : DEFAULT_IMAGE
  const { width, height, count = 1, iterations = defaults.default_iterations } = size
  const pixels = width * height
  const defaultEffort = defaults.default_width * defaults.default_height * defaults.default_iterations
  return {
    fixedTime: imageFixed * count,
    timePerBillion: (imageStep * iterations * pixels * count) / PIXELS_PER_MEGAPIXEL,
    amounts: { image_units: (pixels * iterations * count) / defaultEffort },
  }
}

/** Returns the pricing of the catalog model behind a target; undefined for an own repository. */
export function modelPricingOf(
  { deployments, store }: Pick<ModelSources, 'deployments' | 'store'>,
  target: ModelTarget,
): ModelPricing | undefined {
  if (target.kind === 'catalog') return store.models.get(target.model)?.pricing
  const { source, repo } = deployments.read(target.deployment).weights
  return source === 'catalog' ? store.models.get(repo)?.pricing : undefined
}

/** Returns the work of speech: `characters` of text that become `seconds` of audio. */
export function speechWork(
  { timings }: Profile,
  { characters, seconds }: { readonly characters: number; readonly seconds: number },
): MediaWork {
  return {
    fixedTime: timings.speechFixed,
    timePerBillion: timings.speechPerSecond * seconds,
    amounts: { input_character_length: characters, output_length: seconds },
  }
}

/** Returns the work of a transcription or translation of `seconds` of audio. */
export function transcriptionWork({ timings }: Profile, seconds: number): MediaWork {
  return {
    fixedTime: timings.transcriptionFixed,
    timePerBillion: timings.transcriptionPerSecond * seconds,
    amounts: { input_length: seconds },
  }
}

/** Returns the work of a custom model, which is charged by time. */
export function customWork({ timings }: Profile): MediaWork {
  return { fixedTime: timings.customFixed, timePerBillion: timings.customPerBillion, amounts: {} }
}

/** Returns the seconds of work on an instance that does nothing else. The GPUs share the part that grows with the model. */
export function timeAlone({ fixedTime, timePerBillion }: MediaWork, { gpu, gpus, model }: InstanceHardware): number {
  return (fixedTime + (timePerBillion * model.parameters) / 1e9 / gpus) / gpu.mediaSpeed / SECOND
}
