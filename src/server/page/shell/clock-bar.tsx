/** The clock of the world: its time, what comes next, and the ways to move it. */

import { useSignal } from '@preact/signals'
import { Button } from '../parts/buttons.tsx'
import { bound } from '../parts/fields.tsx'
import { formatDay, formatTime } from '../parts/format.ts'
import { advance, HOLD_OWNER, nextEvent, togglePause, useSession } from '../store/session.ts'
import { Timeline } from './timeline.tsx'

const STEPS = { '+10 s': '10s', '+10 min': '10m', '+1 h': '1h', '+1 d': '1d' } as const

export function ClockBar() {
  const session = useSession()
  const clock = session.clock.value
  const custom = useSignal('')
  const isMoving = session.pending.value.size > 0
  if (clock === undefined) return <section class="clock-bar" aria-label="Clock" aria-busy="true" />
  const { now, mode, speed, paused_by: holders, next_event_in_seconds: next } = clock
  return (
    <section class="clock-bar" aria-label="Clock">
      <div class="clock-now">
        <span class="clock-day">{formatDay(now)}</span>
        <time class="clock-time" dateTime={now}>
          {formatTime(now)}
        </time>
        <span class="clock-mode">
          {holders.length > 0 ? `paused by ${holders.join(', ')}` : speed === null ? mode : `${mode}, ${speed}×`}
        </span>
      </div>
      <div class="clock-moves" role="group" aria-label="Move the clock">
        <Button
          words={holders.includes(HOLD_OWNER) ? '▶ Play' : '‖ Pause'}
          onClick={() => togglePause(session)}
          disabled={mode === 'manual'}
          title={mode === 'manual' ? 'A manual clock moves only by request' : 'Space'}
        />
        <Button
          words="⇥ Next event"
          class="primary"
          disabled={isMoving || next === null}
          onClick={() => nextEvent(session)}
          title={next === null ? 'Nothing is scheduled' : 'Key: →'}
        />
        {Object.entries(STEPS).map(([label, by]) => (
          <Button words={label} key={by} disabled={isMoving} onClick={() => advance(session, by)} />
        ))}
        <form
          class="inline"
          onSubmit={event => {
            event.preventDefault()
            if (custom.value !== '') void advance(session, custom.value.trim())
          }}
        >
          <input aria-label="Advance by a duration" placeholder="90m" size={6} {...bound(custom)} />
          <Button words="Advance" type="submit" disabled={isMoving} />
        </form>
      </div>
      <Timeline />
    </section>
  )
}
