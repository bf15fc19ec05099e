/** Images in the OpenAI-compatible form: made from a prompt, from an upload and a prompt, or from an upload alone. */
import * as z from 'zod'
import { concatBytes, decodeBase64, encodeBase64 } from '../../lib/bytes.ts'
import { LIMITS } from '../../lib/limits.ts'
import { imageWork, modelPricingOf } from '../../simulation/inference/media-work.ts'
import type { ApiScope } from '../api-scope.ts'
import { neighbour, type SizeLimit, type UploadedFile } from '../endpoint.ts'
import { integer, queryInteger, recordSchema, rowsOf, text } from '../fields.ts'
import { drawImages, type ImageSize, type ImageSource, InvalidImageError, readImageSize } from '../media/images.ts'
import { createCompatErrorBody } from '../openai/error-body.ts'
import {
  COMPAT_INFERENCE,
  hashRequest,
  INFERENCE_REFUSALS,
  startMediaInference,
  waitForWholeAnswer,
} from '../openai/request-lifecycle.ts'
import { requireNoError } from '../openai/scripted-answers.ts'
import { RefusalError } from '../refusals.ts'
import { DeferredResult } from '../results.ts'

const MIN_SIDE = 64
/** Of an edit, as in the contract of the OpenAI package. */
const MAX_IMAGES = 16
const DEFAULT_SIZE = { width: 1024, height: 1024 } as const
const UPLOAD_LIMIT: SizeLimit = {
  bytes: LIMITS.imageUploadBytes,
  refusal: `the images are larger than ${LIMITS.imageUploadBytes / 1_048_576} MiB`,
}

const ImageList = recordSchema('ImageList', {
  created: z.int(),
  data: rowsOf({ b64_json: z.string().optional() }),
})

const prompt = text({ min: 1, max: LIMITS.imagePromptCharacters })
const responseFormat = z.enum(['b64_json']).nullable().default('b64_json')
/** Fields of every request, in JSON. */
const FIELDS = {
  model: text({ min: 1 }),
  n: integer({ min: 1, max: LIMITS.choices }).default(1),
  response_format: responseFormat,
  user: text().nullish(),
}
/** The same fields in a form, which has only texts. */
const FORM_FIELDS = {
  model: FIELDS.model,
  n: queryInteger({ min: 1, max: LIMITS.choices }).default(1),
  response_format: z.enum(['b64_json']).default('b64_json'),
  size: text().optional(),
  user: text().optional(),
}

const COMMON_ASSUMPTIONS = [
  'the answer has no id: no source names one, so its cost cannot be asked for',
  'model: a catalog model or an own deployment with the task text-to-image',
  'the images are PNG files of one colour, drawn from seed, model, prompt and upload; equal requests get equal images',
  `size: WIDTHxHEIGHT with sides of ${MIN_SIDE} to ${LIMITS.imageSide} pixels, or auto`,
  'response_format: b64_json only; url is 422',
  'a catalog model is charged by image units: pixels and iterations as a share of the default image of its pricing',
  'fields that are not listed are ignored',
] as const

const UPLOAD_ASSUMPTIONS = [
  'the upload is a PNG, JPEG or WebP, of which only the size is read',
  `size: default that of the upload, within ${MIN_SIDE} to ${LIMITS.imageSide} pixels`,
  ...COMMON_ASSUMPTIONS,
] as const

const REFUSALS = { ...INFERENCE_REFUSALS, 400: 'the model has another task, or size is not a supported size' } as const
const UPLOAD_REFUSALS = {
  ...REFUSALS,
  400: `${REFUSALS[400]}, or the upload is not an image that can be read`,
  413: `the uploaded files have more than ${LIMITS.imageUploadBytes} bytes`,
} as const

/** A PNG file of one pixel. */
const EXAMPLE_PNG = decodeBase64(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGMIqFgAAAKEAWkyLad+AAAAAElFTkSuQmCC',
)

export const createImage = neighbour({
  ...COMPAT_INFERENCE,
  route: 'POST /v1/images/generations',
  summary: 'Make images from a prompt',
  assumptions: [...COMMON_ASSUMPTIONS, 'size: default 1024x1024', 'quality and style are accepted and ignored'],
  refusals: REFUSALS,
  body: z.object({
    ...FIELDS,
    prompt,
    size: text().default('1024x1024'),
    quality: text().nullish(),
    style: text().nullish(),
  }),
  returns: ImageList,
  example: { body: { model: 'inkfold/canvas-fast', prompt: 'A river in spring.', size: '512x512' } },
  handle: ({ body, request, ...scope }) => {
    const size = parseSize(body.size) ?? DEFAULT_SIZE
    return answerImages(scope, request, { model: body.model, prompt: body.prompt, source: '', count: body.n, ...size })
  },
})

export const createImageEdit = neighbour({
  ...COMPAT_INFERENCE,
  route: 'POST /v1/images/edits',
  summary: 'Make images from an image and a prompt',
  assumptions: [
    `image: also as image[], for up to ${MAX_IMAGES} images (more are 400); the first has the size that counts`,
    'mask: an image of the same size as image; it changes the result',
    ...UPLOAD_ASSUMPTIONS,
  ],
  refusals: { ...UPLOAD_REFUSALS, 400: `${UPLOAD_REFUSALS[400]}, or the mask has another size` },
  upload: {
    ...{ part: 'image', isList: true, optionalParts: ['mask'] },
    fields: { ...FORM_FIELDS, prompt },
    limit: () => UPLOAD_LIMIT,
  },
  returns: ImageList,
  example: {
    form: {
      fields: { model: 'saltmarsh/marsh-image-edit', prompt: 'Add a bridge.' },
      filename: 'river.png',
      content: EXAMPLE_PNG,
    },
  },
  handle: ({ upload, request, ...scope }) => {
    const { files, optionalFiles, model, prompt, n } = upload
    if (files.length > MAX_IMAGES) throw createFieldRefusal('image', `there are more than ${MAX_IMAGES} images`)
    const [original] = files.map(file => readSize(file, 'image')) as [ImageSize]
    const { mask } = optionalFiles
    if (mask !== undefined) {
      const { width, height } = readSize(mask, 'mask')
      if (width !== original.width || height !== original.height) {
        const message = `the mask has ${width}x${height} pixels, and the image ${original.width}x${original.height}`
        throw createFieldRefusal('mask', message)
      }
    }
    const size = parseSize(upload.size) ?? fitSize(original)
    const source = `${files.map(({ hash }) => hash).join(',')} ${mask?.hash ?? ''}`
    return answerImages(scope, request, { model, prompt, source, count: n, ...size })
  },
})

export const createImageVariation = neighbour({
  ...COMPAT_INFERENCE,
  route: 'POST /v1/images/variations',
  summary: 'Make variations of an image',
  assumptions: UPLOAD_ASSUMPTIONS,
  refusals: UPLOAD_REFUSALS,
  upload: { part: 'image', fields: FORM_FIELDS, limit: () => UPLOAD_LIMIT },
  returns: ImageList,
  example: {
    form: { fields: { model: 'inkfold/canvas-xl', n: '2' }, filename: 'river.png', content: EXAMPLE_PNG },
  },
  handle: ({ upload, request, ...scope }) => {
    const { file, model, n } = upload
    const original = readSize(file, 'image')
    const size = parseSize(upload.size) ?? fitSize(original)
    return answerImages(scope, request, { model, prompt: '', source: file.hash, count: n, ...size })
  },
})

function answerImages(
  { world, token, findScriptedAnswer }: Pick<ApiScope, 'world' | 'token' | 'findScriptedAnswer'>,
  client: Request,
  order: ImageSource,
): DeferredResult<z.input<typeof ImageList>> {
  const { model, prompt, source, width, height, count } = order
  let name = ''
  const handle = startMediaInference(world, token, model, 'text-to-image', target => {
    // A scripted text cannot replace an image, so only errors apply.
    requireNoError(findScriptedAnswer(model, prompt))
    name = target.name
    const work = imageWork(world.profile, modelPricingOf(world, target), { width, height, count })
    return { prefix: 'img-', hash: hashRequest(name, `${prompt}\u0000${source}`), work }
  })
  const created = world.clock.unix(world.clock.now)
  return new DeferredResult(waiter =>
    waitForWholeAnswer(world, handle, 1, waiter, client, () => ({
      created,
      data: drawImages(world.chance, { ...order, model: name }).map(file => ({ b64_json: encodeBase64(file) })),
    })),
  )
}

/** Returns the size that a request asks for; undefined for `auto` and for a missing size. Throws RefusalError (400). */
function parseSize(size: string | undefined): ImageSize | undefined {
  if (size === undefined || size === 'auto') return undefined
  const [, width, height] = /^(\d{1,5})x(\d{1,5})$/.exec(size)?.map(Number) ?? []
  const isSupported = [width, height].every(side => side !== undefined && side >= MIN_SIDE && side <= LIMITS.imageSide)
  if (isSupported) return { width: width!, height: height! }
  const message = `size '${size.slice(0, 40)}' is not supported: send WIDTHxHEIGHT with sides of ${MIN_SIDE} to ${LIMITS.imageSide} pixels, as in 1024x1024`
  throw createFieldRefusal('size', message)
}

/** Returns the size of an upload, made smaller or larger in proportion until its sides are supported. */
function fitSize({ width, height }: ImageSize): ImageSize {
  const factor = Math.min(1, LIMITS.imageSide / Math.max(width, height))
  const scale = (side: number) => Math.max(MIN_SIDE, Math.round(side * factor))
  return { width: scale(width), height: scale(height) }
}

/** Returns the size of an uploaded image. Throws RefusalError (400) if the file cannot be read. */
function readSize(file: UploadedFile, part: string): ImageSize {
  try {
    return readImageSize(concatBytes(file.chunks), LIMITS.imageUploadPixels)
  } catch (error) {
    if (!(error instanceof InvalidImageError)) throw error
    throw createFieldRefusal(part, `the file of ${part} is invalid: ${error.message}`)
  }
}

function createFieldRefusal(param: string, message: string): RefusalError {
  return new RefusalError(400, message, undefined, createCompatErrorBody(400, message, { param }))
}
