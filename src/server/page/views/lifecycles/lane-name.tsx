import { useMemo } from 'preact/hooks'
import { formatCount, formatDuration } from '../../parts/format.ts'
import { ThingLink } from '../../parts/thing-link.tsx'
import { compareLives } from './lane-places.ts'
import type { Lifecycle, Row } from './lifecycle-model.ts'
import { styleOfState, wordsOfState } from './state-styles.ts'

const MICROS = 1_000_000

interface LaneNameProps {
  readonly row: Row
  readonly now: number
  readonly ghostNow: number | undefined
  readonly ghostWorld: string | undefined
  readonly height: number
}

/** The name of a row with its state, in words. */
export function LaneName({ row: { id, kind, name, own, ghost }, now, ghostNow, ghostWorld, height }: LaneNameProps) {
  const life = own ?? ghost!
  const { color, glyph } = styleOfState(life.state)
  const since = life.segments.at(-1)
  const requests = life.requests ?? 0
  const isOther = useMemo(
    () => ghost !== undefined && own !== undefined && ghostNow !== undefined && differs(ghost, own, ghostNow, now),
    [ghost, own, ghostNow, now],
  )
  const other =
    own === undefined
      ? `only in ${ghostWorld}`
      : ghostNow !== undefined && ghost === undefined
        ? `not in ${ghostWorld}`
        : isOther
          ? `≠ ${ghostWorld}`
          : undefined
  return (
    <li class="lane-name" style={{ height: `${height}px` }}>
      <span class="lane-title">
        <ThingLink id={id} text={name === '' ? id : name} />
        {name !== '' && name !== id && <span class="faint mono lane-id">{id}</span>}
      </span>
      <span class="lane-state faint">
        <span class={`glyph ${color}`} aria-hidden="true">
          {glyph}
        </span>{' '}
        <span class="wide-only">{kind} </span>
        {wordsOfState(life.state)}
        {other !== undefined && <span class="warn"> · {other}</span>}
        {since !== undefined && since.end === null && own !== undefined && (
          <> · {formatDuration(Math.max(0, now - since.begin) / MICROS)}</>
        )}
        {requests > 0 && <> · {formatCount(requests)} req.</>}
      </span>
    </li>
  )
}

function differs(ghost: Lifecycle, own: Lifecycle, ghostNow: number, ownNow: number): boolean {
  return compareLives(ghost, own, { ghostNow, ownNow }).some(({ isSame }) => !isSame)
}
