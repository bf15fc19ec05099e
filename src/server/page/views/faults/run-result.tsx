import { formatDuration, formatTime, plural } from '../../parts/format.ts'
import { goBack } from '../../shell/timeline.tsx'
import { DEFAULT_WORLD, type ScenarioRun, type Session, useSession } from '../../store/session.ts'

/** Runs a scenario whole and keeps the result. With `open`, returns the name of a world that has the run as its past. */
export async function runScenario(session: Session, name: string, open?: true): Promise<string | undefined> {
  const fields = { name, ...(open && { open }) }
  const run = await session.act(`Run ${name}`, 'POST /_sim/scenarios/{name}/run', fields, DEFAULT_WORLD)
  if (run !== undefined) session.runs.value = { ...session.runs.peek(), [name]: run }
  return run?.world ?? undefined
}

/** Whether a run passed, what it did step by step, and the ways into its world. */
export function RunResult({ run }: { run: ScenarioRun | undefined }) {
  const session = useSession()
  if (run === undefined) return null
  const { name, passed, failure, line, checks, seed, seconds, wall_ms: wall, digest, steps } = run
  /** Shows the end of the run, or its world then. The world of a run is opened once. */
  const visit = async (at?: string) => {
    const worlds = await session.ask('GET /_sim/worlds', {}, { world: DEFAULT_WORLD })
    const world = worlds.some(each => each.world === run.world) ? run.world : await runScenario(session, name, true)
    if (world == null) return
    if (at === undefined) session.place.go({ world, origin: undefined })
    else await goBack(session, world, at)
  }
  return (
    <>
      <p role="status" class={passed ? 'ok' : 'bad'}>
        {passed ? '✓ Passed' : `✗ Failed${line === null ? '' : ` at line ${line}`}: ${failure}`}
      </p>
      <p class="faint">
        {plural(checks, 'check')} · {formatDuration(seconds)} virtual, {formatDuration(wall / 1000)} real · seed {seed}{' '}
        · digest {digest}
      </p>
      <details>
        <summary>{plural(steps.length, 'step')}</summary>
        <ol class="chain">
          {steps.map(({ at, text }, index) => (
            <li key={index}>
              <time dateTime={at}>{formatTime(at)}</time>{' '}
              <button type="button" class="linklike break" title="Show its world then" onClick={() => visit(at)}>
                {text}
              </button>
            </li>
          ))}
        </ol>
      </details>
      <button type="button" class="small" onClick={() => visit()}>
        Open its world
      </button>
    </>
  )
}
