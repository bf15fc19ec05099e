import { useEffect, useMemo } from 'preact/hooks'
import type { AnswersByRoute, ControlRoute, FieldsByRoute } from './ask.ts'
import { type Asked, LiveAnswer } from './live-answer.ts'
import { useSession } from './session.ts'

interface AskOptions {
  /**
   * `changes`: asks again whenever the world may have changed. `requests`: also after each request of a client, for an
   * answer about requests. Default: `changes`.
   */
  readonly refresh?: 'changes' | 'requests' | 'once'
  /** Least real milliseconds between two requests. Default: 500. */
  readonly pauseMs?: number
  /** Asks only when nothing has changed for so many real milliseconds, or after twice `pauseMs`. Default: 0. */
  readonly restMs?: number
  /** Default: the shown world. */
  readonly world?: string
}

/**
 * Returns what the control plane answers, and draws the component again when the answer changes. With `undefined` as the
 * fields, nothing is asked.
 *
 * @example const { value, error } = useAnswer('GET /_sim/cluster/nodes', {})
 */
export function useAnswer<Route extends ControlRoute>(
  route: Route,
  fields: FieldsByRoute[Route] | undefined,
  { refresh = 'changes', pauseMs, restMs, world }: AskOptions = {},
): Asked<AnswersByRoute[Route]> {
  const session = useSession()
  const answer = useMemo(() => new LiveAnswer(session, route, { pauseMs, restMs }), [session, route, pauseMs, restMs])
  const shown = world ?? session.world.value
  const key = JSON.stringify(fields)
  useEffect(() => {
    answer.change(fields, shown)
    const revisions = refresh === 'requests' ? session.requestRevision : session.revision
    const begun = revisions.peek()
    const stop = revisions.subscribe(revision => {
      if (refresh !== 'once' && revision !== begun) answer.refresh()
    })
    return () => {
      stop()
      answer.close()
    }
  }, [answer, key, shown, refresh])
  return answer.asked.value
}
