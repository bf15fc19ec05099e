import { CommandForm } from '../parts/command-form.tsx'
import { useAnswer } from '../store/use-answer.ts'

/** The commands that break or repair a thing. */
export function Commands({ kind, id }: { kind: string; id: string }) {
  const { value: commands } = useAnswer('GET /_sim/commands', {}, { refresh: 'once' })
  const wanted = kind === 'gpu_type' ? 'gpuType' : kind
  const fitting = commands?.filter(({ target }) => target === wanted) ?? []
  if (fitting.length === 0) return null
  return (
    <>
      <h3>Break or repair</h3>
      <div class="toolbar">
        {fitting.map(command => (
          <CommandForm key={command.verb} look="button" command={command} target={id} />
        ))}
      </div>
    </>
  )
}
