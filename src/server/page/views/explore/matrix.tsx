import { Panel } from '../../parts/panel.tsx'
import type { MatrixCell } from './report.ts'

/** Operations by fault classes: what was tried, and what came of it. */
export function Matrix({ cells }: { cells: readonly MatrixCell[] }) {
  const operations = [...new Set(cells.map(({ operation }) => operation))]
  const classes = [...new Set(cells.map(cell => cell.class))]
  const byKey = new Map(cells.map(cell => [`${cell.operation} ${cell.class}`, cell]))
  return (
    <Panel title="Operations and faults">
      <p class="faint">✗ finding · ! unavoidable · ✓ survived · ○ not reached · empty: fault does not apply</p>
      <div class="scroll-x" tabIndex={0} role="region" aria-label="Matrix of operations and faults">
        <table class="matrix">
          <thead>
            <tr>
              <th scope="col">Operation</th>
              {classes.map(name => (
                <th key={name} scope="col" class="tilted">
                  <span>{name}</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {operations.map(operation => (
              <tr key={operation}>
                <th scope="row" class="mono">
                  {operation}
                </th>
                {classes.map(name => (
                  <Cell key={name} cell={byKey.get(`${operation} ${name}`)} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  )
}

function Cell({ cell }: { cell: MatrixCell | undefined }) {
  if (cell === undefined) return <td />
  const { found, surfaced, survived, notReached } = cell
  const [glyph, tone] =
    found > 0 ? ['✗', 'bad'] : surfaced > 0 ? ['!', 'warn'] : survived > 0 ? ['✓', 'ok'] : ['○', 'faint']
  const title = `${found} found, ${surfaced} unavoidable, ${survived} survived, ${notReached} not reached`
  return (
    <td class={`cell ${tone}`} title={title}>
      <span aria-hidden="true">{glyph}</span>
      <span class="hidden">{title}</span>
    </td>
  )
}
