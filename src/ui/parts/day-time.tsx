import { formatDay, formatTime } from './format.ts'

/** A time of the world with its day. */
export function DayTime({ iso }: { iso: string }) {
  return (
    <time dateTime={iso}>
      {formatDay(iso)} {formatTime(iso)}
    </time>
  )
}
