/** What an exploration of a client found. The page shows its report and runs no code of the client. */
import { CopyButton, Small, saveFile } from '../parts/buttons.tsx'
import { Select } from '../parts/fields.tsx'
import { formatCount, plural } from '../parts/format.ts'
import { intoView } from '../parts/hooks.ts'
import { Panel } from '../parts/panel.tsx'
import { Glyph } from '../parts/words.tsx'
import type { ExploreReport, Finding, MatrixCell } from '../store/report.ts'
import { useSession } from '../store/session.ts'

/** The report that was opened. It has a tab as long as there is one. */
export function ReportView() {
  const session = useSession()
  const reports = session.explored.value
  const { flow, finding } = session.place.value
  const report = reports.find(each => each.flow === flow) ?? reports[0]!
  const selected = report.findings.find(({ signature }) => signature === finding)
  return (
    <div class="stack">
      <section class="panel" aria-label="Report">
        {reports.length > 1 && (
          <Select
            label={<span class="hidden">Flow</span>}
            value={report.flow}
            options={reports.map(({ flow: name }) => name)}
            onChange={flow => session.place.go({ flow, finding: undefined }, 'replace')}
          />
        )}
        <Summary report={report} />
      </section>
      <Panel title="Findings">
        {report.findings.length === 0 && <p>✓ No findings.</p>}
        <ul class="plain">
          {report.findings.map(({ signature, invariant, why }) => (
            <li key={signature} class="rule">
              <button
                type="button"
                class="linklike"
                aria-expanded={signature === finding}
                onClick={() => session.place.go({ finding: signature === finding ? undefined : signature }, 'replace')}
              >
                <Glyph of="✗" tone="bad" /> <strong>{invariant}</strong> <span class="faint">{signature}</span>
                <br />
                <span class="clamp">{why}</span>
              </button>
            </li>
          ))}
        </ul>
      </Panel>
      {selected !== undefined && <FindingDetails key={selected.signature} finding={selected} />}
      <Matrix cells={report.matrix} />
    </div>
  )
}

function Summary({ report }: { report: ExploreReport }) {
  const { flow, runs, points, findings, card } = report
  const stages = Object.entries(report.runs_of).filter(([, count]) => count > 0)
  return (
    <>
      <h2>{flow}</h2>
      <p>
        {plural(findings.length, 'finding')} in {plural(runs, 'run')} of {plural(points, 'single fault')} and their
        combinations. The chance that the next run shows something new is {(100 * report.chance_of_new).toFixed(1)} %.
        It ended because: {report.stopped_because}.
      </p>
      {card !== undefined && <pre>{card.lines.join('\n')}</pre>}
      <p class="faint">{stages.map(([stage, count]) => `${stage} ${formatCount(count)}`).join(' · ')}</p>
    </>
  )
}

/** Operations by fault classes: what was tried, and what came of it. */
function Matrix({ cells }: { cells: readonly MatrixCell[] }) {
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

/** Before each part of a finding that begins with a label. */
const NEXT_LABEL = / (?=[A-Z][a-z ]+: )/

/** One finding: its story, and the shrunk plan. */
function FindingDetails({ finding }: { finding: Finding }) {
  const { signature, why, plan, scenario, shrinking, stage } = finding
  return (
    <div ref={intoView}>
      <Panel title={signature} label={`Finding ${signature}`}>
        {why.split(NEXT_LABEL).map(part => (
          <p key={part}>{part}</p>
        ))}
        <h3>The shrunk plan: {plural(plan.length, 'item')}</h3>
        <p class="faint">
          Stage: {stage}.{shrinking !== undefined && ` Shrinking: ${plural(shrinking.runs, 'run')}.`}
          {shrinking?.minimal && ' Each item is needed.'}
        </p>
        <ol class="plan">
          {plan.map(item => (
            <li key={JSON.stringify(item)}>
              <code class="break">{JSON.stringify(item)}</code>
            </li>
          ))}
        </ol>
        <div class="toolbar actions">
          <CopyButton label="Copy the scenario" text={() => scenario} />
          <Small
            words="Save the scenario"
            onClick={() => saveFile(`${signature.replaceAll(/[^\w-]+/g, '-')}.yaml`, scenario)}
          />
        </div>
      </Panel>
    </div>
  )
}
