import { useSignal } from '@preact/signals'
import { Address } from '../parts/address.tsx'
import { DetailsHead } from '../parts/details-head.tsx'
import { formatCount, formatMicrocents, formatTime } from '../parts/format.ts'
import { Problem } from '../parts/panel.tsx'
import { NextWords, Sentences } from '../parts/sentences.tsx'
import { ThingLink } from '../parts/thing-link.tsx'
import { useKeys } from '../parts/use-keys.ts'
import type { AnswersByRoute } from '../store/ask.ts'
import { useSession } from '../store/session.ts'
import { useAnswer } from '../store/use-answer.ts'

/** How many effects are shown at first, and how many more by each press. */
const SHOWN_EFFECTS = 100

type Tree = AnswersByRoute['GET /_sim/causes/{seq}']

interface CauseGraphProps {
  /** Position of the selected entry. */
  readonly seq: number
  readonly select: (seq: number) => void
  readonly close: () => void
}

/** The causes of an entry above it, its effects below it and what they cost: text first, indented by who caused whom. */
export function CauseGraph({ seq, select, close }: CauseGraphProps) {
  const limit = useSignal(SHOWN_EFFECTS)
  const fields = { seq: String(seq), limit: limit.value }
  const { value: tree, error } = useAnswer('GET /_sim/causes/{seq}', fields)
  const { value: explanation } = useAnswer('GET /_sim/explain/{subject}', { subject: String(seq) })
  const { causes = [], effects = [], entry, matched = 0, waiting = [], money = [] } = tree ?? {}
  const [first, cause, effect] = [causes[0], causes.at(-1), effects[0]]
  const go = (target: { readonly seq: number } | undefined) => () => target !== undefined && select(target.seq)
  useKeys({ '[': go(cause), ']': go(effect) })
  return (
    <section class="split-details" aria-label={`Causes and effects of entry ${seq}`}>
      <DetailsHead what="the entry" close={close}>
        <h2>Entry {seq}</h2>
      </DetailsHead>
      <div class="toolbar">
        <button type="button" class="small" disabled={first === undefined} onClick={go(first)}>
          ⇤ First cause
        </button>
        <button type="button" class="small" title="[" disabled={cause === undefined} onClick={go(cause)}>
          ← Cause
        </button>
        <button type="button" class="small" title="]" disabled={effect === undefined} onClick={go(effect)}>
          Effect →
        </button>
        <span class="space" />
        <Address route="GET /_sim/causes/{seq}" fields={fields} />
      </div>
      <Problem text={error} />
      <Sentences of={explanation?.sentences} />
      <NextWords next={explanation?.next} />
      <ol class="cause-tree" aria-label="Causes first, then the entry, then its effects">
        {causes.map((each, depth) => (
          <Node key={each.seq} entry={each} part="cause" depth={depth} select={select} />
        ))}
        {entry !== undefined && <Node entry={entry} part="selected" depth={causes.length} select={select} />}
        {effects.map(each => (
          <Node key={each.seq} entry={each} part="effect" depth={causes.length + each.depth} select={select} />
        ))}
      </ol>
      {matched > effects.length && (
        <button
          type="button"
          class="small"
          onClick={() => {
            limit.value += SHOWN_EFFECTS
          }}
        >
          Show more of {formatCount(matched)} effects
        </button>
      )}
      {waiting.length > 0 && (
        <>
          <h3>Waiting because of it, now</h3>
          <ul class="plain">
            {waiting.map(({ id, name }) => (
              <li key={id}>
                <ThingLink id={id} text={name} />
              </li>
            ))}
          </ul>
        </>
      )}
      {entry !== undefined && money.length > 0 && <Money since={entry.at} money={money} />}
    </section>
  )
}

/** The deepest indent, so that a long chain keeps its width. */
const MAX_INDENT = 12

interface NodeProps {
  readonly entry: Tree['entry']
  readonly part: 'cause' | 'selected' | 'effect'
  readonly depth: number
  readonly select: (seq: number) => void
}

function Node({ entry: { seq, at, kind, subject, sentence }, part, depth, select }: NodeProps) {
  return (
    <li class={`cause-node ${part}`} style={{ marginLeft: `${Math.min(depth, MAX_INDENT)}em` }}>
      <span class="glyph" aria-hidden="true">
        {part === 'cause' ? '○' : part === 'selected' ? '●' : '↳'}
      </span>
      <div>
        <button type="button" class="linklike" aria-current={part === 'selected'} onClick={() => select(seq)}>
          {sentence}
        </button>
        <div class="faint">
          <time dateTime={at}>{formatTime(at)}</time> <span class="mono">{kind}</span>{' '}
          {kind === 'request' ? <span class="mono">{subject}</span> : <ThingLink id={subject} />}
        </div>
      </div>
    </li>
  )
}

/** What the things of an entry and its effects cost since then, each with its lines of the ledger. */
function Money({ since, money }: { since: string; money: Tree['money'] }) {
  const { place } = useSession()
  return (
    <>
      <h3>Cost since {formatTime(since)}</h3>
      <ul class="plain">
        {money.map(({ id, name, since_microcents: cost, burn_microcents_per_hour: burn }) => (
          <li key={id} class="line">
            <span>
              <ThingLink id={id} text={name} /> {formatMicrocents(cost)}, now {formatMicrocents(burn)} per hour
            </span>
            <a href={place.link({ view: 'money', ledger: 'open', subject: id })}>
              ledger<span class="hidden"> of {name}</span>
            </a>
          </li>
        ))}
      </ul>
    </>
  )
}
