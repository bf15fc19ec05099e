/** Why something is so: the causes and the effects of journal entries, as sentences. */

import { useSignal } from '@preact/signals'
import { Small } from '../parts/buttons.tsx'
import { formatCount, formatMicrocents, formatTime } from '../parts/format.ts'
import { set } from '../parts/hooks.ts'
import { Problem } from '../parts/panel.tsx'
import { Glyph, ThingLink } from '../parts/words.tsx'
import type { AnswersByRoute } from '../store/ask.ts'
import { useSession } from '../store/session.ts'
import { useAnswer } from '../store/use-answer.ts'

/** How many effects are shown at first, and how many more by each press. */
const SHOWN_EFFECTS = 100

type Tree = AnswersByRoute['GET /_sim/causes/{seq}']
type Entries = readonly Pick<Tree['entry'], 'seq' | 'at' | 'sentence'>[]

/** The causes of an entry above it, its effects below it and what they cost: text first, indented by who caused whom. */
export function CauseTree({ seq }: { seq: string }) {
  const limit = useSignal(SHOWN_EFFECTS)
  const { value: tree, error } = useAnswer('GET /_sim/causes/{seq}', { seq, limit: limit.value })
  const { causes = [], effects = [], entry, matched = 0, waiting = [], money = [] } = tree ?? {}
  return (
    <section aria-label={`Causes and effects of entry ${seq}`}>
      <Problem text={error} />
      <ol class="cause-tree" aria-label="Causes first, then the entry, then its effects">
        {causes.map((each, depth) => (
          <Node key={each.seq} entry={each} part="cause" depth={depth} />
        ))}
        {entry !== undefined && <Node entry={entry} part="selected" depth={causes.length} />}
        {effects.map(each => (
          <Node key={each.seq} entry={each} part="effect" depth={causes.length + each.depth} />
        ))}
      </ol>
      {matched > effects.length && (
        <Small
          words={`Show more of ${formatCount(matched)} effects`}
          onClick={() => set(limit, limit.value + SHOWN_EFFECTS)}
        />
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

type NodeProps = { entry: Tree['entry']; part: 'cause' | 'selected' | 'effect'; depth: number }

function Node({ entry: { seq, at, kind, subject, sentence }, part, depth }: NodeProps) {
  const { place } = useSession()
  return (
    <li class={`cause-node ${part}`} style={{ marginLeft: `${Math.min(depth, MAX_INDENT)}em` }}>
      <Glyph of={part === 'cause' ? '○' : part === 'selected' ? '●' : '↳'} />
      <div>
        <a class="linklike" aria-current={part === 'selected'} href={place.link({ ...place.value, id: String(seq) })}>
          {sentence}
        </a>
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

/** Journal entries as sentences, each with a link to its causes. */
export function EntryList({ title, entries }: { title?: string; entries: Entries }) {
  const { place } = useSession()
  if (entries.length === 0) return null
  return (
    <>
      {title !== undefined && <h3>{title}</h3>}
      <ol class="chain">
        {entries.map(({ seq, at, sentence }) => (
          <li key={seq}>
            <time dateTime={at}>{formatTime(at)}</time>{' '}
            <a href={place.link({ ...place.value, id: String(seq) })}>{sentence}</a>
          </li>
        ))}
      </ol>
    </>
  )
}
