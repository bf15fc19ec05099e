import { useCallback } from 'preact/hooks'
import { Canvas, type Drawing } from '../../parts/drawing/canvas.tsx'
import { plural } from '../../parts/format.ts'
import { Panel } from '../../parts/panel.tsx'
import type { ExploreReport } from './report.ts'

const HEIGHT = 140
const MARGIN = { left: 44, right: 36, top: 8, bottom: 22 }

/** How the chance of something new fell while the findings grew. */
export function SaturationCurve({ points }: { points: ExploreReport['saturation'] }) {
  const draw = useCallback((drawing: Drawing) => drawCurve(drawing, points), [points])
  if (points.length < 2) return null
  const last = points.at(-1)!
  return (
    <Panel title="Saturation">
      <p class="faint">
        ━ the chance that the next run shows something new, in % · ┅ the number of findings, up to {last.findings}
      </p>
      <Canvas
        draw={draw}
        height={HEIGHT}
        label={`After ${plural(last.runs, 'run')}: ${plural(last.findings, 'finding')}, chance of something new ${(100 * last.chance_of_new).toFixed(1)} %`}
      />
    </Panel>
  )
}

function drawCurve({ context, width, height, palette }: Drawing, points: ExploreReport['saturation']): void {
  const last = points.at(-1)!
  const x = (runs: number) => MARGIN.left + (runs / last.runs) * (width - MARGIN.left - MARGIN.right)
  const y = (share: number) => height - MARGIN.bottom - share * (height - MARGIN.top - MARGIN.bottom)
  context.font = '11px system-ui, sans-serif'
  context.fillStyle = palette.color('faint')
  context.strokeStyle = palette.color('line')
  context.textAlign = 'right'
  for (const share of [0, 0.5, 1]) {
    context.fillText(`${100 * share} %`, MARGIN.left - 6, y(share) + 4)
    line(context, [
      [MARGIN.left, y(share)],
      [width - MARGIN.right, y(share)],
    ])
  }
  context.textAlign = 'center'
  context.fillText(plural(last.runs, 'run'), width - MARGIN.right, height - 6)
  context.lineWidth = 2
  context.strokeStyle = palette.color('owner-0')
  line(
    context,
    points.map(point => [x(point.runs), y(point.chance_of_new)]),
  )
  context.setLineDash([5, 4])
  context.strokeStyle = palette.color('bad')
  const most = Math.max(1, last.findings)
  line(
    context,
    points.map(point => [x(point.runs), y(point.findings / most)]),
  )
  context.setLineDash([])
}

function line(context: CanvasRenderingContext2D, points: readonly (readonly [number, number])[]): void {
  context.beginPath()
  for (const [x, y] of points) context.lineTo(x, y)
  context.stroke()
}
