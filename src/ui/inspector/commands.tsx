import { useSession } from '../store/session.ts'
import { useAnswer } from '../store/use-answer.ts'

/** Kinds of things whose commands can be given without arguments from here. */
const TARGETS: readonly string[] = ['node', 'gpu', 'deployment', 'batch', 'hosted', 'token', 'model']

/** The commands that break or repair a thing. Those with arguments are in the view of faults. */
export function Commands({ kind, id }: { kind: string; id: string }) {
  const session = useSession()
  const isTarget = TARGETS.includes(kind)
  const { value: commands } = useAnswer('GET /_sim/commands', isTarget ? {} : undefined, { refresh: 'once' })
  const fitting = commands?.filter(({ target }) => target === kind) ?? []
  if (fitting.length === 0) return null
  return (
    <>
      <h3>Break or repair</h3>
      <div class="toolbar">
        {fitting.map(({ verb, says }) => (
          <button
            key={verb}
            type="button"
            class="small"
            title={says}
            disabled={session.pending.value.has(`${verb} ${id}`)}
            onClick={() => session.act(`${verb} ${id}`, 'POST /_sim/commands', { verb, target: id })}
          >
            {verb}
          </button>
        ))}
      </div>
    </>
  )
}
