/** Who waits for GPUs, and which pools give none: each since when and why. */

import { formatCount, formatDay, formatDuration, formatTime, plural, secondsBetween } from '../../parts/format.ts'
import { Panel } from '../../parts/panel.tsx'
import { ThingLink } from '../../parts/thing-link.tsx'
import { useSession } from '../../store/session.ts'
import { type Fleet, type FleetGroup, keyOf, type WaitingDeployment } from './fleet-model.ts'
import { UNAVAILABLE_WORDS } from './fleet-words.ts'

/** The most pools that are listed. Those that give no GPU come first. */
const MAX_POOLS = 30

/** The deployments that wait for GPUs, the longest wait first. */
export function Waiting({ fleet: { waiting, waiting_count } }: { fleet: Fleet }) {
  if (waiting_count === 0) return null
  return (
    <Panel title="Waiting for GPUs">
      <ul class="plain">
        {waiting.map(one => (
          <Wait key={one.id} wait={one} />
        ))}
      </ul>
      {waiting_count > waiting.length && (
        <p class="faint">{formatCount(waiting_count - waiting.length)} more are not listed.</p>
      )}
    </Panel>
  )
}

function Wait({ wait: { id, name, gpu, gpus, instances, since, sentence } }: { wait: WaitingDeployment }) {
  return (
    <li class="rule" data-waiting={id}>
      <ThingLink id={id} text={name} />
      <div>{sentence}</div>
      <div class="faint">
        {plural(instances, 'instance')} of {gpus} × {gpu}
        {since !== null && (
          <>
            , <Since time={since} />
          </>
        )}
      </div>
    </li>
  )
}

/** The pools with what keeps them from giving GPUs. */
export function Pools({ groups }: { groups: readonly FleetGroup[] }) {
  // Groups of a pool can differ in what they have, and say the same here.
  const byKey = new Map(groups.map(group => [keyOf(group), { key: keyOf(group), ...group }]))
  const order = [...byKey.values()].sort((a, b) => Number(a.unavailable === null) - Number(b.unavailable === null))
  return (
    <Panel title="Pools">
      <ul class="plain">
        {order.slice(0, MAX_POOLS).map(({ key, pool, zone, market, gpu, unavailable }) => (
          <li class="rule" key={key}>
            <span class="line">
              <span>{gpu}</span>
              {unavailable === null ? (
                <span class="faint">✓ in stock</span>
              ) : (
                <span class="bad">✗ {UNAVAILABLE_WORDS[unavailable.cause]}</span>
              )}
            </span>
            <div class="faint">
              {pool} · {zone}
              {market === 'spot' && ' · spot'}
              {unavailable !== null && (
                <>
                  {unavailable.since !== null && (
                    <>
                      {' · '}
                      <Since time={unavailable.since} />
                    </>
                  )}
                  {unavailable.until !== null &&
                    `, until ${formatDay(unavailable.until)} ${formatTime(unavailable.until)}`}
                </>
              )}
            </div>
          </li>
        ))}
      </ul>
      {order.length > MAX_POOLS && <p class="faint">{formatCount(order.length - MAX_POOLS)} more are not listed.</p>}
    </Panel>
  )
}

/** A time, and how long ago it was: `since 00:30:00 (5 min)`. */
function Since({ time }: { time: string }) {
  const now = useSession().clock.value?.now ?? time
  return (
    <>
      since <time dateTime={time}>{formatTime(time)}</time> ({formatDuration(Math.max(0, secondsBetween(time, now)))})
    </>
  )
}
