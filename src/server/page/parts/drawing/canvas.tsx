import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { useSize } from '../use-size.ts'
import { useTheme } from './use-theme.ts'

/** The colours of the page, for drawings. They change with the theme. */
export interface Palette {
  /** Returns a colour of the style sheet by its name: `text`, `line`, `ok`, `owner-3`. */
  color(name: string): string
  /** Returns one of two colours: that for a light ground, or that for a dark one. */
  pick(light: string, dark: string): string
}

export interface Drawing {
  readonly context: CanvasRenderingContext2D
  /** Size in CSS pixels. */
  readonly width: number
  readonly height: number
  readonly palette: Palette
}

interface CanvasProps {
  /** Draws everything. It is called when the size, the theme or `draw` itself changes. */
  readonly draw: (drawing: Drawing) => void
  /** Height in CSS pixels; the width is that of the place. */
  readonly height: number
  readonly class?: string
  /** What the drawing shows, for those who do not see it. */
  readonly label: string
  readonly onPointerMove?: (x: number, y: number) => void
  readonly onPointerLeave?: () => void
  readonly onClick?: (x: number, y: number) => void
  readonly onWheel?: (event: WheelEvent, x: number) => void
  readonly children?: ComponentChildren
}

/** A canvas as sharp as the screen, which draws once a frame at most. */
export function Canvas({ draw, height, label, onPointerMove, onPointerLeave, onClick, onWheel, ...rest }: CanvasProps) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const { width: drawnWidth } = useSize(canvas)
  const drawnTheme = useTheme()
  const palette = useRef<(Palette & { readonly theme: number }) | undefined>(undefined)
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
      if (palette.current?.theme !== drawnTheme) palette.current = { theme: drawnTheme, ...readPalette(element) }
      draw({ context, width: drawnWidth, height, palette: palette.current })
    })
    return () => cancelAnimationFrame(frame)
  }, [draw, drawnWidth, height, drawnTheme])
  return (
    <canvas
      ref={canvas}
      class={rest.class}
      style={{ height: `${height}px` }}
      role="img"
      aria-label={label}
      onPointerMove={event => onPointerMove?.(event.offsetX, event.offsetY)}
      onPointerLeave={onPointerLeave}
      onClick={event => onClick?.(event.offsetX, event.offsetY)}
      onWheel={event => onWheel?.(event, event.offsetX)}
    >
      {rest.children}
    </canvas>
  )
}

/** Reads colours as the browser computes them, because a canvas does not know `var()` and `light-dark()`. */
function readPalette(element: HTMLElement): Palette {
  const known = new Map<string, string>()
  const resolve = (css: string) => {
    let color = known.get(css)
    if (color === undefined) {
      const probe = document.createElement('span')
      probe.style.color = css
      element.parentElement!.append(probe)
      color = getComputedStyle(probe).color
      probe.remove()
      known.set(css, color)
    }
    return color
  }
  return {
    color: name => resolve(`var(--${name})`),
    pick: (light, dark) => resolve(`light-dark(${light}, ${dark})`),
  }
}
