import { useMemo } from 'preact/hooks'
import { formatTime } from '../../parts/format.ts'
import { ThingLink } from '../../parts/thing-link.tsx'
import type { AnswersByRoute } from '../../simulator/ask.ts'
import { useSession } from '../../store/session.ts'
import { useAnswer } from '../../store/use-answer.ts'
import { type CauseNode, findCauseTree } from './cause-tree.ts'

interface CauseGraphProps {
  /** Position of the selected entry. */
  readonly seq: number
  readonly select: (seq: number) => void
  readonly close: () => void
}

/** The causes of an entry above it, its effects below it: text first, indented by who caused whom. */
export function CauseGraph({ seq, select, close }: CauseGraphProps) {
  const { feed } = useSession()
  const revision = feed.revision.value
  const nodes = useMemo(() => findCauseTree(feed.journal, seq), [revision, seq])
  const { value: explanation, error } = useAnswer('GET /_sim/explain/{subject}', { subject: String(seq) })
  const sentences = useMemo(() => sentencesOf(explanation), [explanation])
  const depth = nodes.filter(({ distance }) => distance < 0).length
  return (
    <section class="split-details" aria-label={`Causes and effects of entry ${seq}`}>
      <div class="details-head">
        <h2>Entry {seq}</h2>
        <button type="button" class="quiet" aria-label="Close the entry" onClick={close}>
          ✕
        </button>
      </div>
      {error !== undefined && <p role="alert">✗ {error}</p>}
      <ul class="sentences">
        {explanation?.sentences.map(sentence => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
      {explanation?.next !== undefined && (
        <p>
          <strong>Next, in {explanation.next.in}:</strong> {explanation.next.sentence}
        </p>
      )}
      {nodes.length === 0 && <p class="faint">The page does not have this entry any more.</p>}
      <ol class="cause-tree" aria-label="Causes first, then the entry, then its effects">
        {nodes.map(node => (
          <Node
            key={node.entry.seq}
            node={node}
            depth={depth}
            sentence={sentences.get(node.entry.seq)}
            select={select}
          />
        ))}
      </ol>
    </section>
  )
}

interface NodeProps {
  readonly node: CauseNode
  /** How many causes are above the selected entry. */
  readonly depth: number
  readonly sentence: string | undefined
  readonly select: (seq: number) => void
}

function Node({ node: { entry, distance, hidden }, depth, sentence, select }: NodeProps) {
  const role = distance < 0 ? 'cause' : distance === 0 ? 'selected' : 'effect'
  return (
    <li class={`cause-node ${role}`} style={{ marginLeft: `${(depth + distance) * 14}px` }}>
      <span class="glyph" aria-hidden="true">
        {distance < 0 ? '○' : distance === 0 ? '●' : '↳'}
      </span>
      <div>
        <button type="button" class="linklike" aria-current={distance === 0} onClick={() => select(entry.seq)}>
          {sentence ?? `${entry.kind}`}
        </button>
        <div class="faint">
          <time dateTime={entry.at}>{formatTime(entry.at)}</time> <span class="mono">{entry.kind}</span>{' '}
          {entry.kind === 'request' ? <span class="mono">{entry.subject}</span> : <ThingLink id={entry.subject} />}
          {hidden > 0 && ` · ${hidden} more effects`}
        </div>
      </div>
    </li>
  )
}

function sentencesOf(explanation: AnswersByRoute['GET /_sim/explain/{subject}'] | undefined): Map<number, string> {
  const explained = [...(explanation?.chain ?? []), ...(explanation?.effects ?? [])]
  return new Map(explained.map(({ seq, sentence }) => [seq, sentence]))
}
