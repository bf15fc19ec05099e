import { useEffect, useMemo } from 'preact/hooks'
import type { AnswersByRoute, ControlRoute, FieldsByRoute } from '../simulator/ask.ts'
import { type Asked, type Folding, LiveAnswer } from './live-answer.ts'
import { useSession } from './session.ts'

interface AskOptions {
  /** `changes`: asks again whenever the world may have changed. Default: `changes`. */
  readonly refresh?: 'changes' | 'once'
  /** Least real milliseconds between two requests. Default: 500. */
  readonly pauseMs?: number
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
  options?: AskOptions,
): Asked<AnswersByRoute[Route]> {
  return useFoldedAnswer<Route, AnswersByRoute[Route]>(route, fields, undefined, options)
}

/** Works as `useAnswer`, for an operation that answers what changed. `folding` has to stay the same object. */
export function useFoldedAnswer<Route extends ControlRoute, Value>(
  route: Route,
  fields: FieldsByRoute[Route] | undefined,
  folding: Folding<Route, Value> | undefined,
  { refresh = 'changes', pauseMs, world }: AskOptions = {},
): Asked<Value> {
  const session = useSession()
  const answer = useMemo(() => new LiveAnswer(session, route, folding, pauseMs), [session, route, folding, pauseMs])
  const shown = world ?? session.world.value
  const key = JSON.stringify(fields)
  useEffect(() => {
    answer.change(fields, shown)
    const begun = session.revision.peek()
    const stop = session.revision.subscribe(revision => {
      if (refresh === 'changes' && revision !== begun) answer.refresh()
    })
    return () => {
      stop()
      answer.close()
    }
  }, [answer, key, shown, refresh])
  return answer.asked.value
}
