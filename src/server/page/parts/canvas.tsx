import type { RefObject } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { useIsDark, useSize } from './hooks.ts'

interface Drawing {
  readonly context: CanvasRenderingContext2D
  /** Size in CSS pixels. */
  readonly width: number
  readonly height: number
  /** Returns a colour of the style sheet by its name: `text`, `line`, `ok`, `owner-3`. It changes with the theme. */
  readonly color: (name: string) => string
}

interface CanvasProps<Scene> {
  readonly brush: new (drawing: Drawing, scene: Scene) => Brush<Scene>
  /** What is drawn. It is drawn again when the size, the theme or a value of it changes. */
  readonly scene: Scene
  /** Height in CSS pixels; the width is that of the place. */
  readonly height: number
  /** What the drawing shows, for those who do not see it. */
  readonly label: string
}

/** A canvas as sharp as the screen, which draws once a frame at most. */
export function Canvas<Scene extends object>({ brush: BrushOf, scene, height, label }: CanvasProps<Scene>) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const { width: drawnWidth } = useSize(canvas)
  const isDark = useIsDark()
  const color = useMemo(() => readColors(canvas), [isDark])
  useEffect(() => {
    if (drawnWidth === 0) return
    const frame = requestAnimationFrame(() => {
      const element = canvas.current
      if (element === null) return
      const scale = devicePixelRatio
      element.width = Math.round(drawnWidth * scale)
      element.height = Math.round(height * scale)
      const context = element.getContext('2d')!
      context.scale(scale, scale)
      new BrushOf({ context, width: drawnWidth, height, color }, scene).draw()
    })
    return () => cancelAnimationFrame(frame)
  }, [...Object.values(scene), drawnWidth, height, color])
  return <canvas ref={canvas} style={{ height: `${height}px` }} role="img" aria-label={label} />
}

/** Reads colours as the browser computes them, because a canvas does not know `var()` and `light-dark()`. */
function readColors(canvas: RefObject<HTMLElement | null>): Drawing['color'] {
  const known = new Map<string, string>()
  return name => {
    let color = known.get(name)
    if (color === undefined) {
      const probe = document.createElement('span')
      probe.style.color = `var(--${name})`
      canvas.current!.parentElement!.append(probe)
      color = getComputedStyle(probe).color
      probe.remove()
      known.set(name, color)
    }
    return color
  }
}

/** A colour of the style sheet, or a pattern. */
type Fill = string | CanvasPattern

/** Returns a rectangle with round corners. */
export function roundBox(left: number, top: number, width: number, height: number, radius: number): Path2D {
  const shape = new Path2D()
  shape.roundRect(left, top, width, height, radius)
  return shape
}

/** Returns a circle around a point. */
export function circle(x: number, y: number, radius: number): Path2D {
  const shape = new Path2D()
  shape.arc(x, y, radius, 0, 2 * Math.PI)
  return shape
}

/** Draws a scene. */
export abstract class Brush<Scene> {
  readonly scene: Scene
  readonly context: CanvasRenderingContext2D
  readonly width: number
  readonly height: number
  readonly sans: string
  readonly mono: string
  /** Returns a colour of the style sheet by its name. */
  readonly color: Drawing['color']
  readonly #patterns = new Map<string, CanvasPattern>()

  constructor({ context, color, width, height }: Drawing, scene: Scene) {
    this.scene = scene
    const style = getComputedStyle(document.documentElement)
    this.context = context
    this.color = color
    this.width = width
    this.height = height
    this.sans = style.getPropertyValue('--sans')
    this.mono = style.getPropertyValue('--mono')
  }

  /** Draws everything. */
  abstract draw(): void

  /** Fills a rectangle with a colour of the style sheet, or with a pattern. */
  fill(style: Fill, left: number, top: number, width: number, height: number, alpha = 1): void {
    this.#paint(style, alpha, () => this.context.fillRect(left, top, width, height))
  }

  /** Fills a shape. */
  fillShape(style: Fill, shape: Path2D, alpha = 1): void {
    this.#paint(style, alpha, () => this.context.fill(shape))
  }

  #paint(style: Fill, alpha: number, draw: () => void): void {
    const { context } = this
    const before = context.globalAlpha
    context.globalAlpha = before * alpha
    context.fillStyle = typeof style === 'string' ? this.color(style) : style
    draw()
    context.globalAlpha = before
  }

  /** Draws the outline of a shape, or a line. */
  stroke(color: string, shape: Path2D, width = 1, dash: readonly number[] = []): void {
    const { context } = this
    context.strokeStyle = this.color(color)
    context.lineWidth = width
    context.setLineDash([...dash])
    context.stroke(shape)
  }

  /** Sets how texts are drawn. `font` has no family: `600 11px`. */
  setFont(font: string, align: CanvasTextAlign = 'left', baseline: CanvasTextBaseline = 'middle', family = this.sans) {
    const { context } = this
    context.font = `${font} ${family}`
    context.textAlign = align
    context.textBaseline = baseline
  }

  /** Writes a text in a colour of the style sheet. It is narrowed to `most` pixels. */
  write(text: string, color: string, x: number, y: number, most?: number): void {
    this.context.fillStyle = this.color(color)
    this.context.fillText(text, x, y, most)
  }

  /** Returns the width of a text in pixels. */
  widthOf(text: string): number {
    return this.context.measureText(text).width
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
    context.stroke(
      new Path2D(`M-7 7l8 -8m-2 8l8 -8m-2 8l8 -8${lines === 'cross' ? 'M-7 -1l8 8m-2 -8l8 8m-2 -8l8 8' : ''}`),
    )
    pattern = this.context.createPattern(tile, 'repeat')!
    this.#patterns.set(key, pattern)
    return pattern
  }

  /** Draws two lines from corner to corner. */
  cross(left: number, top: number, width: number, height: number): void {
    const lines = new Path2D(`M${left} ${top}l${width} ${height}m0 ${-height}l${-width} ${height}`)
    this.stroke('bad', lines, width > 12 ? 2 : 1.4)
  }

  /** Returns a text that fits into a width: cut with an ellipsis in its middle, because names often end in a number. */
  shorten(text: string, width: number): string {
    if (this.widthOf(text) <= width) return text
    for (let kept = text.length - 1; kept > 1; kept--) {
      const end = Math.ceil(kept / 2)
      const short = `${text.slice(0, kept - end)}…${text.slice(-end)}`
      if (this.widthOf(short) <= width) return short
    }
    return ''
  }
}
