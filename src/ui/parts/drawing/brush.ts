/** What several drawings share: fonts, patterns, and texts that fit. */
import type { Drawing, Palette } from './canvas.tsx'

export class Brush {
  readonly context: CanvasRenderingContext2D
  readonly width: number
  readonly height: number
  readonly sans: string
  readonly mono: string
  readonly #palette: Palette
  readonly #patterns = new Map<string, CanvasPattern>()

  constructor({ context, palette, width, height }: Drawing) {
    const style = getComputedStyle(document.documentElement)
    this.context = context
    this.#palette = palette
    this.width = width
    this.height = height
    this.sans = style.getPropertyValue('--sans')
    this.mono = style.getPropertyValue('--mono')
  }

  color(name: string): string {
    return this.#palette.color(name)
  }

  /** Returns a pattern of diagonal lines: in one direction, or in both. */
  hatch(color: string, alpha = 0.4, lines: 'hatch' | 'cross' = 'hatch'): CanvasPattern {
    const key = `${color} ${alpha} ${lines}`
    let pattern = this.#patterns.get(key)
    if (pattern !== undefined) return pattern
    const tile = document.createElement('canvas')
    tile.width = 6
    tile.height = 6
    const context = tile.getContext('2d')!
    context.strokeStyle = this.color(color)
    context.globalAlpha = alpha
    context.lineWidth = 1.5
    context.beginPath()
    for (const shift of [-6, 0, 6]) {
      context.moveTo(shift - 1, 7)
      context.lineTo(shift + 7, -1)
      if (lines === 'cross') {
        context.moveTo(shift - 1, -1)
        context.lineTo(shift + 7, 7)
      }
    }
    context.stroke()
    pattern = this.context.createPattern(tile, 'repeat')!
    this.#patterns.set(key, pattern)
    return pattern
  }

  /** Draws two lines from corner to corner. */
  cross(left: number, top: number, width: number, height: number): void {
    const { context } = this
    context.strokeStyle = this.color('bad')
    context.lineWidth = width > 12 ? 2 : 1.4
    context.beginPath()
    context.moveTo(left, top)
    context.lineTo(left + width, top + height)
    context.moveTo(left + width, top)
    context.lineTo(left, top + height)
    context.stroke()
  }

  /** Returns a text that fits into a width: cut with an ellipsis in its middle, because names often end in a number. */
  shorten(text: string, width: number): string {
    const { context } = this
    if (context.measureText(text).width <= width) return text
    for (let kept = text.length - 1; kept > 1; kept--) {
      const end = Math.ceil(kept / 2)
      const short = `${text.slice(0, kept - end)}…${text.slice(-end)}`
      if (context.measureText(short).width <= width) return short
    }
    return ''
  }
}
