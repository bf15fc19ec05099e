import { formatDay, formatTime } from './format.ts'

/** A time of the world with its day. */
export function DayTime({ iso, title }: { iso: string; title?: string }) {
  return (
    <time dateTime={iso} title={title}>
      {formatDay(iso)} {formatTime(iso)}
    </time>
  )
}
