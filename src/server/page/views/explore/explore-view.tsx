/** What an exploration of a client found. The page shows its report and runs no code of the client. */

import { FileLabel } from '../../parts/file-label.tsx'
import { formatCount, plural } from '../../parts/format.ts'
import { Panel } from '../../parts/panel.tsx'
import { openFile } from '../../store/open-file.ts'
import { useSession } from '../../store/session.ts'
import { FindingDetails } from './finding-details.tsx'
import { Matrix } from './matrix.tsx'
import type { ExploreReport } from './report.ts'
import { SaturationCurve } from './saturation-curve.tsx'

export function ExploreView() {
  const session = useSession()
  const reports = session.explored.value
  const { flow, finding } = session.place.value
  const report = reports.find(each => each.flow === flow) ?? reports[0]
  const selected = report?.findings.find(({ signature }) => signature === finding)
  return (
    <div class="stack">
      <section class="panel" aria-label="Report">
        <div class="toolbar">
          <FileLabel accept=".json,.jsonl" open={file => openFile(session, file)}>
            Open a report of explore
          </FileLabel>
          {reports.length > 1 && (
            <select
              aria-label="Flow"
              value={report?.flow}
              onChange={event => session.place.go({ flow: event.currentTarget.value, finding: undefined }, 'replace')}
            >
              {reports.map(({ flow: name }) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          )}
        </div>
        {report === undefined ? (
          <p class="empty">
            Explore your client with <code>modelhost-sim explore client.ts --json &gt; report.json</code>, and open the
            file here.
          </p>
        ) : (
          <Summary report={report} />
        )}
      </section>
      {report !== undefined && (
        <>
          <Panel title="Findings">
            {report.findings.length === 0 && <p>✓ No findings.</p>}
            <ul class="plain">
              {report.findings.map(({ signature, invariant, why }) => (
                <li key={signature} class="rule">
                  <button
                    type="button"
                    class="linklike"
                    aria-expanded={signature === finding}
                    onClick={() =>
                      session.place.go({ finding: signature === finding ? undefined : signature }, 'replace')
                    }
                  >
                    <span class="glyph bad" aria-hidden="true">
                      ✗
                    </span>{' '}
                    <strong>{invariant}</strong> <span class="faint">{signature}</span>
                    <br />
                    <span class="clamp">{why}</span>
                  </button>
                </li>
              ))}
            </ul>
          </Panel>
          {selected !== undefined && <FindingDetails key={selected.signature} finding={selected} />}
          <Matrix cells={report.matrix} />
          <SaturationCurve points={report.saturation} />
        </>
      )}
    </div>
  )
}

function Summary({ report }: { report: ExploreReport }) {
  const { flow, runs, points, findings, chance_of_new: chance, stopped_because: stopped, runs_of: runsOf } = report
  const stages = Object.entries(runsOf).filter(([, count]) => count > 0)
  return (
    <>
      <h2>{flow}</h2>
      <p>
        {plural(findings.length, 'finding')} in {plural(runs, 'run')} of {plural(points, 'single fault')} and their
        combinations. The chance that the next run shows something new is {(100 * chance).toFixed(1)} %. It ended
        because: {stopped}.
      </p>
      <p class="faint">{stages.map(([stage, count]) => `${stage} ${formatCount(count)}`).join(' · ')}</p>
    </>
  )
}
