import type { ComponentChildren } from 'preact'
import { useSession } from '../store/session.ts'
import { formatDay, formatTime } from './format.ts'

/** A time of the world with its day. */
export function DayTime({ iso }: { iso: string }) {
  return (
    <time dateTime={iso}>
      {formatDay(iso)} {formatTime(iso)}
    </time>
  )
}

/** Opens the inspector of a thing: a deployment, a node, a request by its position, and so on. */
export function ThingLink({ id, text = id }: { id: string; text?: string }) {
  const { place } = useSession()
  const { value } = place
  return (
    <a class="thing" href={place.link({ ...value, id })}>
      {text}
    </a>
  )
}

/** The status of an answer with a glyph, so that it is legible without colours. 0: the client got no answer. */
export function StatusMark({ status }: { status: number }) {
  const [glyph, tone] =
    status === 0 ? ['⚡', 'bad'] : status >= 500 ? ['✗', 'bad'] : status >= 400 ? ['!', 'warn'] : ['✓', 'ok']
  return (
    <span class={`status-mark ${tone}`} title={status === 0 ? 'No answer reached the client' : undefined}>
      <Glyph of={glyph!} /> {status === 0 ? 'lost' : status}
    </span>
  )
}

/** A sign beside words that say the same. */
export function Glyph({ of, tone = '' }: { of: string; tone?: string }) {
  return (
    <span class={`glyph ${tone}`} aria-hidden="true">
      {of}
    </span>
  )
}

/** Whether something went wrong with a journal entry, or was repaired: marks have a shape and a colour for each. */
type Tone = 'bad' | 'good' | 'neutral'

const GOOD =
  /\.(?:up|repaired|uncordoned|recovered|reset|freed|restocked|spotReturned|unthrottled|normal|accepted|resumed|restored)$|^fault\.removed$/
const BAD =
  /^fault\.|\.down$|lost|crash|fail|suspend|preempt|broken|declin|stockedOut|soldOut|throttled|frozen|slowed|degraded|revoked|disk\.filled/i

/** Returns the tone of a kind of journal entries. */
export function toneOf(kind: string): Tone {
  return GOOD.test(kind) ? 'good' : BAD.test(kind) ? 'bad' : 'neutral'
}

/** Sentences about a thing, one a line. */
export function Sentences({ of }: { of: readonly string[] | undefined }) {
  return (
    <ul class="sentences">
      {of?.map(sentence => (
        <li key={sentence}>{sentence}</li>
      ))}
    </ul>
  )
}

/** Shows JSON, or a text as it is. */
export function JsonView({ value, label }: { value: unknown; label: string }) {
  const text = typeof value === 'string' ? value : JSON.stringify(value, undefined, 2)
  return (
    <pre class="json" tabIndex={0} role="region" aria-label={label}>
      {text}
    </pre>
  )
}

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
