/** Images: made from prompts and uploads, drawn, charged and refused as the interface says. */
import { toFile } from 'openai'
import { describe, expect, test } from 'vitest'
import type { Simulator } from '../../src/simulator/simulator.ts'
import { askTo, formOf } from '../setup/send-to.ts'
import { decodePng } from './media/png-reader.ts'
import { createPng } from './media/png-writer.ts'
import { openaiWorld } from './openai/openai-world.ts'

const MODEL = 'inkfold/canvas-xl'
const imageWorld = (options = {}) => openaiWorld({ fixtures: 'empty', with: {}, ...options })
const asFile = (file: Uint8Array<ArrayBuffer>, name = 'image.png') => toFile(file, name)
const UPLOAD = createPng({ width: 300, height: 200 })

const unitsOf = (sim: Simulator) => sim.ledger.entries().flatMap(({ kind, units }) => (kind === 'units' ? [units] : []))

describe('the openai package', () => {
  test('makes images from a prompt, in the asked number and size', { tags: 'slow' }, async () => {
    const { client, sim } = imageWorld()
    const answer = await client.images.generate({
      model: MODEL,
      prompt: 'A river in spring.',
      n: 3,
      size: '256x256',
      quality: 'hd',
      style: 'vivid',
      user: 'someone',
      response_format: 'b64_json',
    })
    expect(answer.created).toBe(sim.world.clock.unix(0))
    const images = answer.data!.map(({ b64_json }) => b64_json!)
    expect(images.map(image => decodePng(image))).toMatchObject(Array(3).fill({ width: 256, height: 256 }))
    expect(new Set(images).size).toBe(3)
    expect(unitsOf(sim)).toEqual([(3 * 256 * 256) / 1024 ** 2])
    const standard = await client.images.generate({ model: MODEL, prompt: 'A river in spring.' })
    expect(decodePng(standard.data![0]!.b64_json!)).toMatchObject({ width: 1024, height: 1024 })
  })

  test('edits an image, and makes variations of it, in its size', { tags: 'slow' }, async () => {
    const { client } = imageWorld()
    const image = await asFile(UPLOAD)
    const edit = await client.images.edit({ model: MODEL, prompt: 'Add a bridge.', image })
    const masked = await client.images.edit({ model: MODEL, prompt: 'Add a bridge.', image, mask: image })
    const variations = await client.images.createVariation({ model: MODEL, image, n: 2 })
    const made = [edit, masked, variations].flatMap(({ data }) => data!.map(({ b64_json }) => b64_json!))
    expect(made.map(file => decodePng(file))).toMatchObject(Array(4).fill({ width: 300, height: 200 }))
    expect(new Set(made).size).toBe(4)
    const sized = await client.images.edit({ model: MODEL, prompt: 'x', image, size: '512x512' })
    expect(decodePng(sized.data![0]!.b64_json!)).toMatchObject({ width: 512, height: 512 })
  })
})

test('an upload that is too large or too small for an answer keeps its proportions as far as possible', {
  tags: 'slow',
}, async () => {
  const { sim } = imageWorld()
  const sizeFor = async (width: number, height: number) => {
    const image = createPng({ width, height })
    const { body } = await askTo(sim, 'POST /v1/images/variations', formOf({ model: MODEL, image }))
    const decoded = decodePng(body.data[0].b64_json)
    return [decoded.width, decoded.height]
  }
  expect(await sizeFor(4096, 1024)).toEqual([2048, 512])
  expect(await sizeFor(1, 90)).toEqual([64, 90])
})

test('an edit takes a list of images, each of which changes the result, and the size of the first', async () => {
  const { client } = imageWorld()
  const [image, other] = [await asFile(UPLOAD), await asFile(createPng({ width: 90, height: 80 }))]
  const edit = async (images: File | File[]) =>
    (await client.images.edit({ model: MODEL, prompt: 'Add a bridge.', image: images })).data![0]!.b64_json!
  const made = await edit([image, other])
  expect(decodePng(made)).toMatchObject({ width: 300, height: 200 })
  expect(await edit([image])).toBe(await edit(image))
  expect(new Set([made, await edit(image), await edit(Array(16).fill(image))]).size).toBe(3)
  await expect(edit(Array(17).fill(image))).rejects.toThrow('400 there are more than 16 images')
  await expect(edit([])).rejects.toThrow('422')
})

test('equal requests get equal images; another seed, model, prompt or upload gets another one', async () => {
  const make = async (about: { seed?: number; model?: string; prompt?: string; image?: Uint8Array<ArrayBuffer> }) => {
    const { seed = 1, model = MODEL, prompt = 'A river.', image } = about
    const { sim, ask } = imageWorld({ seed })
    const size = '64x64'
    const { body } = image
      ? await askTo(sim, 'POST /v1/images/edits', formOf({ model, prompt, size, image }))
      : await ask('/v1/compat/images/generations', { model, prompt, size })
    return body.data[0].b64_json as string
  }
  const image = await make({})
  expect(await make({})).toBe(image)
  const others = [{ seed: 2 }, { model: 'inkfold/canvas-fast' }, { prompt: 'A lake.' }, { image: UPLOAD }]
  const made = await Promise.all([...others, { image: createPng({ width: 9, height: 9 }) }].map(make))
  expect(new Set([image, ...made]).size).toBe(6)
})

test('an image takes as long as its instance works on it, and is charged at its end', async () => {
  const { sim, ask } = imageWorld({ inferencePace: 'clock' })
  const answers = [
    ask('/v1/images/generations', { model: MODEL, prompt: 'A river.', size: '512x1024', n: 2 }),
    ask('/v1/images/generations', { model: 'palettary/sketch-12b', prompt: 'A river.' }),
  ]
  const ended: number[] = []
  for (const answer of answers) answer.then(() => ended.push(sim.clock.elapsed / 1e6))
  expect(unitsOf(sim)).toEqual([])
  await sim.clock.advance('1m')
  await Promise.all(answers)
  const iterations = (model: string) => {
    const pricing = sim.world.store.models.get(model)!.pricing
    return pricing.type === 'image_units' ? pricing.default_iterations : 0
  }
  // 150 ms for an image, and 20 ms for each step, megapixel and billion parameters.
  expect(ended[0]).toBeCloseTo(2 * (0.15 + 0.02 * iterations(MODEL) * 0.5 * 3.5), 2)
  expect(ended[1]).toBeCloseTo(0.15 + 0.02 * iterations('palettary/sketch-12b') * 12, 2)
  expect(unitsOf(sim)).toEqual([1, 1])
})

test('a client that leaves pays nothing', async () => {
  const { sim, client } = imageWorld({ inferencePace: 'clock' })
  const leaving = new AbortController()
  const answer = client.images.generate({ model: MODEL, prompt: 'A river.' }, { signal: leaving.signal })
  await sim.clock.advance('500ms')
  leaving.abort()
  await expect(answer).rejects.toThrow('aborted')
  await sim.clock.advance('1m')
  expect(sim.journal.entries().map(({ kind }) => kind)).toContain('inference.left')
  expect(unitsOf(sim)).toEqual([])
})

test('an own deployment of an image model makes images and costs its rent only', async () => {
  const deployments = [{ model_name: 'acme/painter', task: 'text-to-image' as const }]
  const { sim, client } = imageWorld({ with: { deployments } })
  const { data } = await client.images.generate({ model: 'acme/painter', prompt: 'A river.', size: '64x64' as never })
  expect(decodePng(data![0]!.b64_json!)).toMatchObject({ width: 64 })
  expect(unitsOf(sim)).toEqual([])
  expect(sim.report().deployments[0]!.requests.served).toBe(1)
})

test('a scripted error answers in place of an image', async () => {
  const { sim, ask } = imageWorld()
  sim.inference.add({ contains: 'violence', answer: { error: { status: 400, message: 'refused by policy' } } })
  expect(await ask('/v1/images/generations', { model: MODEL, prompt: 'violence' })).toMatchObject({
    status: 400,
    body: { error: { message: 'refused by policy' } },
  })
})

test('a fault rule for a model also matches its uploads', async () => {
  const { sim } = imageWorld()
  const edit = (model: string) =>
    askTo(sim, 'POST /v1/images/edits', formOf({ model, prompt: 'A river.', image: UPLOAD }))
  sim.faults.add({ on: 'createImageEdit', model: MODEL, fault: { kind: 'status', status: 503 } })
  expect((await edit(MODEL)).status).toBe(503)
  expect((await edit('inkfold/canvas-fast')).status).toBe(200)
})

describe('a refused request', () => {
  const generations: [string, object, number, RegExp][] = [
    ['no prompt', { prompt: undefined }, 422, /prompt/],
    ['a long prompt', { prompt: 'x'.repeat(32_001) }, 422, /32000/],
    ['no images', { n: 0 }, 422, /greater than or equal to 1/],
    ['five images', { n: 5 }, 422, /less than or equal to 4/],
    ['a url', { response_format: 'url' }, 422, /b64_json/],
    ['a size that is not a size', { size: 'large' }, 400, /size 'large' is not supported: send WIDTHxHEIGHT/],
    ['a small size', { size: '63x64' }, 400, /sides of 64 to 2048 pixels/],
    ['a large size', { size: '1024x2049' }, 400, /sides of 64 to 2048 pixels/],
    ['a model of another task', { model: 'aurora-labs/aurora-8b-instruct' }, 400, /does text-generation/],
    ['an unknown model', { model: 'acme/none' }, 404, /does not exist/],
  ]
  test.each(generations)('changes nothing: %s', async (_, about, status, message) => {
    const { sim, ask } = imageWorld()
    const answer = await ask('/v1/images/generations', { model: MODEL, prompt: 'A river.', ...about })
    expect(answer.status).toBe(status)
    expect(JSON.stringify(answer.body)).toMatch(message)
    expect(sim.ledger.entries()).toEqual([])
  })

  const broken = UPLOAD.subarray(0, 20)
  const uploads: [string, 'edits' | 'variations', Record<string, string | Uint8Array<ArrayBuffer>>, number, RegExp][] =
    [
      ['text', 'edits', { image: new TextEncoder().encode('hello') }, 400, /"param":"image"/],
      ['text', 'variations', { image: new TextEncoder().encode('hello') }, 400, /is not a PNG, JPEG or WebP file/],
      ['a broken PNG', 'variations', { image: broken, size: '64x64' }, 400, /file of image is invalid/],
      ['a mask of another size', 'edits', { image: UPLOAD, mask: createPng({ width: 9, height: 9 }) }, 400, /9x9/],
      ['a broken mask', 'edits', { image: UPLOAD, mask: broken }, 400, /file of mask is invalid/],
      ['a mask as text', 'edits', { image: UPLOAD, mask: 'hello' }, 422, /"mask".*should be a file/],
      ['an image as text', 'edits', { image: 'hello' }, 422, /"image".*should be a file/],
      ['a list of texts', 'edits', { 'image[]': 'hello' }, 422, /"image".*should be a file/],
      ['a list for a variation', 'variations', { 'image[]': UPLOAD }, 422, /"image".*Field required/],
      ['a broken image of a list', 'edits', { image: UPLOAD, 'image[]': broken }, 400, /file of image is invalid/],
      ['no image', 'variations', {}, 422, /"image".*Field required/],
      ['a size that is not a size', 'variations', { image: UPLOAD, size: '1x1' }, 400, /"param":"size"/],
      ['no images', 'variations', { image: UPLOAD, n: '0' }, 422, /greater than or equal to 1/],
      ['too many bytes', 'edits', { image: new Uint8Array(20 * 1_048_576 + 1) }, 413, /larger than 20 MiB/],
      ['too many bytes', 'edits', { image: UPLOAD, mask: new Uint8Array(20 * 1_048_576) }, 413, /larger than 20 MiB/],
    ]
  test.each(uploads)('changes nothing: %s in %s', { tags: 'slow' }, async (_, operation, about, status, message) => {
    const { sim } = imageWorld()
    const fields = { model: MODEL, ...(operation === 'edits' && { prompt: 'A river.' }), ...about }
    const answer = await askTo(sim, `POST /v1/images/${operation}`, formOf(fields))
    expect(answer.status).toBe(status)
    expect(JSON.stringify(answer.body)).toMatch(message)
    expect(sim.ledger.entries()).toEqual([])
  })
})
