import type { ComponentChildren } from 'preact'

/** A note beside the pointer, within a box of the class `tip-place`. Pixels are those of the box. */
export function Tip({ x, y, width, children }: TipProps) {
  const isRight = x > width / 2
  return (
    <div
      class="tip"
      role="presentation"
      style={{ top: `${y + 16}px`, ...(isRight ? { right: `${width - x + 8}px` } : { left: `${x + 12}px` }) }}
    >
      {children}
    </div>
  )
}

interface TipProps {
  readonly x: number
  readonly y: number
  /** Width of the box. */
  readonly width: number
  readonly children: ComponentChildren
}
