/** Draws the images of answers: a landscape with a sun and hills in front of a sky. */
import { hash32 } from '../../../kernel/random.ts'
import { encodePng } from './png.ts'

export interface Drawing {
  /** Names the image: equal keys and sizes give equal bytes. */
  readonly key: string
  /** In pixels, from 1. */
  readonly width: number
  readonly height: number
}

type Color = readonly [red: number, green: number, blue: number]

/** Colours of the sky from its top to the horizon, of the sun, and of the nearest hill. */
const MOODS: readonly { readonly top: Color; readonly horizon: Color; readonly sun: Color; readonly hill: Color }[] = [
  { top: [24, 40, 92], horizon: [250, 182, 120], sun: [255, 236, 190], hill: [38, 32, 62] },
  { top: [78, 150, 214], horizon: [226, 240, 246], sun: [255, 250, 226], hill: [36, 84, 62] },
  { top: [16, 20, 48], horizon: [92, 84, 142], sun: [236, 236, 250], hill: [14, 16, 34] },
  { top: [232, 120, 96], horizon: [255, 222, 170], sun: [255, 250, 220], hill: [92, 38, 58] },
  { top: [60, 124, 138], horizon: [236, 226, 196], sun: [255, 246, 214], hill: [28, 62, 70] },
  { top: [148, 132, 190], horizon: [250, 216, 214], sun: [255, 244, 236], hill: [70, 54, 96] },
]
const SKY_COLORS = 96
const HILLS = 5
/** Colours of a hill from its ridge to its foot. */
const HILL_COLORS = 24
const SUN = SKY_COLORS
const FIRST_HILL = SUN + 1

/**
 * Returns a PNG file of exactly this size. It takes about 10 ns of CPU time per pixel.
 *
 * @example drawImage({ key: 'a river in spring', width: 1024, height: 1024 })
 */
export function drawImage({ key, width, height }: Drawing): Uint8Array<ArrayBuffer> {
  const draw = createDraws(key)
  const mood = MOODS[Math.floor(draw() * MOODS.length)]!
  const palette = createPalette(mood)
  const sun = { x: width * (0.2 + 0.6 * draw()), y: height * (0.15 + 0.3 * draw()) }
  const radius = Math.min(width, height) * (0.05 + 0.08 * draw())
  const ridges = Array.from({ length: HILLS }, (_, hill) => createRidge(draw, width, height, hill))
  const horizon = height * 0.75
  const rows = new Uint8Array((width + 1) * height)
  for (let y = 0, at = 0; y < height; y++) {
    at++
    const sky = Math.min(SKY_COLORS - 1, Math.floor((y / horizon) * SKY_COLORS))
    rows.fill(sky, at, at + width)
    const reach = radius * radius - (y - sun.y) * (y - sun.y)
    if (reach > 0) {
      const half = Math.sqrt(reach)
      rows.fill(SUN, at + Math.max(0, Math.ceil(sun.x - half)), at + Math.min(width, Math.floor(sun.x + half)))
    }
    at += width
  }
  const shades = createShades(height)
  for (let hill = 0; hill < HILLS; hill++) {
    const cover = coverOf(ridges, hill, height)
    paintHill(rows, { ridge: ridges[hill]!, cover, firstColor: FIRST_HILL + hill * HILL_COLORS, shades })
  }
  return encodePng({ width, height }, rows, palette)
}

/** Returns a function that draws numbers in [0, 1) from a text. */
function createDraws(key: string): () => number {
  let state = hash32(key) | 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}

function createPalette({ top, horizon, sun, hill }: (typeof MOODS)[number]): Uint8Array {
  const colors: Color[] = []
  for (let i = 0; i < SKY_COLORS; i++) colors.push(mix(top, horizon, i / (SKY_COLORS - 1)))
  colors.push(sun)
  for (let i = 0; i < HILLS; i++) {
    const ridge = mix(horizon, hill, (i + 1) / HILLS)
    const foot = mix(ridge, horizon, 0.35)
    for (let j = 0; j < HILL_COLORS; j++) colors.push(mix(ridge, foot, j / (HILL_COLORS - 1)))
  }
  return Uint8Array.from(colors.flat())
}

function mix(from: Color, to: Color, share: number): Color {
  const at = (i: 0 | 1 | 2) => Math.round(from[i] + (to[i] - from[i]) * share)
  return [at(0), at(1), at(2)]
}

/** Returns the row at which a hill begins in each column: the sum of three smooth waves with random heights. */
function createRidge(draw: () => number, width: number, height: number, hill: number): Int32Array {
  const base = height * (0.52 + 0.1 * hill)
  const ridge = new Float64Array(width).fill(base)
  for (const [waves, share] of [
    [2 + Math.floor(draw() * 3), 0.09],
    [7, 0.03],
    [23, 0.008],
  ] as const) {
    const points = Array.from({ length: waves + 2 }, () => (draw() - 0.5) * 2 * share * height)
    for (let x = 0; x < width; x++) {
      const position = (x / width) * waves
      const index = Math.floor(position)
      const part = position - index
      // The smooth step has no slope at its ends, so that the waves join without corners.
      ridge[x] = ridge[x]! + points[index]! + (points[index + 1]! - points[index]!) * part * part * (3 - 2 * part)
    }
  }
  return Int32Array.from(ridge, value => Math.max(0, Math.min(height, Math.round(value))))
}

/** Returns the colour of a hill at each distance from its ridge. */
function createShades(height: number): Uint8Array {
  const band = Math.max(1, Math.ceil((height * 0.4) / HILL_COLORS))
  return Uint8Array.from({ length: height }, (_, depth) => Math.min(HILL_COLORS - 1, Math.floor(depth / band)))
}

/** Returns the row from which nearer hills cover a hill, in each column. */
function coverOf(ridges: readonly Int32Array[], hill: number, height: number): Int32Array {
  const cover = new Int32Array(ridges[hill]!.length).fill(height)
  for (const nearer of ridges.slice(hill + 1)) {
    for (let x = 0; x < cover.length; x++) if (nearer[x]! < cover[x]!) cover[x] = nearer[x]!
  }
  return cover
}

interface Hill {
  /** The rows at which it begins and from which nearer hills cover it, in each column. */
  readonly ridge: Int32Array
  readonly cover: Int32Array
  readonly firstColor: number
  /** Its colour at each distance from its ridge, counted from the first. */
  readonly shades: Uint8Array
}

/** Paints the rows from a ridge to what covers its hill. The colours follow the distance from the ridge. */
function paintHill(rows: Uint8Array, { ridge, cover, firstColor, shades }: Hill): void {
  const width = ridge.length
  // The shades have one value for each row of the image.
  let top = shades.length
  let bottom = 0
  for (let x = 0; x < width; x++) {
    if (ridge[x]! < top) top = ridge[x]!
    if (cover[x]! > bottom) bottom = cover[x]!
  }
  for (let y = top; y < bottom; y++) {
    const start = y * (width + 1) + 1
    for (let x = 0; x < width; x++) {
      if (y >= ridge[x]! && y < cover[x]!) rows[start + x] = firstColor + shades[y - ridge[x]!]!
    }
  }
}
