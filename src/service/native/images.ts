/** Native inference of image models: PNG files from a prompt. */
import * as z from 'zod'
import { purpose } from '../../kernel/random.ts'
import { encodeBase64 } from '../../lib/bytes.ts'
import { LIMITS } from '../../lib/limits.ts'
import { imageWork, modelPricingOf } from '../../simulation/inference/media-work.ts'
import { integer, recordSchema, text } from '../fields.ts'
import { drawImages } from '../media/images.ts'
import { requireNoError } from '../openai/scripted-answers.ts'
import { AnswerFields, nativeProtocol, Webhook } from './protocol.ts'

const SEED_DRAW = purpose('image.seed')
const MIN_SIDE = 64
const DEFAULT_SIDE = 1024
const MAX_SEED = 2 ** 31 - 1

const side = integer({ min: MIN_SIDE, max: LIMITS.imageSide }).nullish()

const ImageBody = z.object({
  prompt: text({ min: 1, max: LIMITS.imagePromptCharacters }),
  negative_prompt: text({ max: LIMITS.imagePromptCharacters }).nullish(),
  num_images: integer({ min: 1, max: LIMITS.choices }).nullish(),
  num_inference_steps: integer({ min: 1, max: 100 }).nullish(),
  width: side,
  height: side,
  guidance_scale: z.number().min(0).max(20).nullish(),
  seed: integer({ min: 0, max: MAX_SEED }).nullish(),
  webhook: Webhook,
})
type ImageBody = z.output<typeof ImageBody>

const ImageAnswer = recordSchema('ImageInferenceAnswer', {
  ...AnswerFields,
  /** Data URLs. */
  images: z.array(z.string()),
  nsfw_content_detected: z.array(z.boolean()),
  seed: z.int(),
})

export const IMAGE_INFERENCE = nativeProtocol({
  body: ImageBody,
  returns: ImageAnswer,
  needsTokenizer: false,
  parse: body => ({ prompt: JSON.stringify([body.prompt, sourceOf(body)]), promptTokens: 0 }),
  createWork: ({ world, target, model, findScriptedAnswer }, body, { prompt }) => {
    // A scripted text cannot replace an image, so only errors apply.
    requireNoError(findScriptedAnswer(model, body.prompt))
    const { num_images: count, num_inference_steps: steps } = body
    const imageKey = world.chance.key('image', `${target.name}\u0000${prompt}`)
    const size = { width: body.width ?? DEFAULT_SIDE, height: body.height ?? DEFAULT_SIDE, count: count ?? 1 }
    return {
      spec: {
        ...{ ...size, model: target.name, prompt: body.prompt, source: sourceOf(body) },
        seed: body.seed ?? world.chance.integer(MAX_SEED, imageKey, SEED_DRAW),
      },
      longestAnswer: 1,
      work: imageWork(world.profile, modelPricingOf(world, target), { ...size, iterations: steps ?? undefined }),
    }
  },
  createResult: (chance, { seed, ...source }) => {
    const images = drawImages(chance, source).map(file => `data:image/png;base64,${encodeBase64(file)}`)
    return { images, nsfw_content_detected: images.map(() => false), seed }
  },
})

/** Returns what changes the images beside the prompt. '': the images are those of `POST /v1/images/generations`. */
function sourceOf({ seed, negative_prompt: negative }: ImageBody): string {
  return seed == null && !negative ? '' : JSON.stringify([seed ?? null, negative ?? ''])
}
