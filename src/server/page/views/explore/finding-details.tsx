import { CopyButton } from '../../parts/copy-button.tsx'
import { DownloadButton } from '../../parts/download-button.tsx'
import { formatCount, plural } from '../../parts/format.ts'
import { intoView } from '../../parts/into-view.ts'
import { Panel } from '../../parts/panel.tsx'
import { StatusMark } from '../../parts/status-mark.tsx'
import type { Finding } from './report.ts'
import { ReproduceButton } from './reproduce.tsx'

/** Before each part of a finding that begins with a label. */
const NEXT_LABEL = / (?=[A-Z][a-z ]+: )/

/** One finding: its story, the shrunk plan against the original, and from which request on nothing could save the client. */
export function FindingDetails({ finding }: { finding: Finding }) {
  const { signature, why, plan, found_with: original, scenario, shrinking, stage } = finding
  return (
    <div ref={intoView}>
      <Panel title={signature} label={`Finding ${signature}`}>
        {why.split(NEXT_LABEL).map(part => (
          <p key={part}>{part}</p>
        ))}
        <div class="columns">
          <Plan
            title={`The shrunk plan: ${items(plan.length)}`}
            words={
              shrinking === undefined
                ? ''
                : `Shrinking: ${plural(shrinking.runs, 'run')}.${shrinking.minimal ? ' Each item is needed.' : ''}`
            }
            plan={plan}
          />
          <Plan
            title={`The plan that found it: ${items(original.length)}`}
            words={`Stage: ${stage}.`}
            plan={original}
          />
        </div>
        <Inevitability finding={finding} />
        <div class="toolbar actions">
          <CopyButton label="Copy the scenario" text={() => scenario} />
          <DownloadButton label="Save the scenario" name={`${toFileName(signature)}.yaml`} text={() => scenario} />
          <ReproduceButton finding={finding} />
        </div>
      </Panel>
    </div>
  )
}

function Plan({ title, words, plan }: { title: string; words: string; plan: readonly unknown[] }) {
  return (
    <div>
      <h3>{title}</h3>
      {words !== '' && <p class="faint">{words}</p>}
      <ol class="plan">
        {plan.map(item => (
          <li key={JSON.stringify(item)}>
            <code class="break">{JSON.stringify(item)}</code>
          </li>
        ))}
      </ol>
    </div>
  )
}

/** Shows the requests of the failing run, and the point after which no recovery of the service helps. */
function Inevitability({ finding: { requests, requests_total: total, inevitable } }: { finding: Finding }) {
  if (requests.length === 0) return null
  const after = inevitable?.after_request
  return (
    <>
      <h3>Its requests</h3>
      {after !== undefined && (
        <p>
          {after === 0
            ? 'Even a recovery before the first request does not save the client.'
            : `A recovery before request ${after} saves the client. A later one does not.`}
        </p>
      )}
      <ol class="requests-strip">
        {requests.map((request, index) => {
          const number = index + 1
          const isLost = after !== undefined && number > after
          return (
            <li key={number} class={isLost ? 'lost' : ''}>
              <span class="faint">{number}</span> {request.operation} <StatusMark status={request.status} />
              {number === after && <span class="bad"> ◄ the last moment</span>}
            </li>
          )
        })}
      </ol>
      {total > requests.length && (
        <p class="faint">
          {plural(total - requests.length, 'further request')} {total - requests.length === 1 ? 'follows' : 'follow'}.
        </p>
      )}
    </>
  )
}

function items(count: number): string {
  return count === 1 ? '1 item' : `${formatCount(count)} items`
}

function toFileName(signature: string): string {
  return signature.replaceAll(/[^\w-]+/g, '-')
}
