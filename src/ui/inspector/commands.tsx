import { CommandForm } from '../parts/command-form.tsx'
import { useAnswer } from '../store/use-answer.ts'

/** The kinds of things that commands have as targets, with the word of the commands for them. */
const TARGETS: Readonly<Record<string, string>> = {
  ...{ node: 'node', gpu_type: 'gpuType', pool: 'pool', zone: 'zone', deployment: 'deployment', batch: 'batch' },
  ...{ hosted: 'hosted', token: 'token', model: 'model' },
}

/** The commands that break or repair a thing. */
export function Commands({ kind, id }: { kind: string; id: string }) {
  const wanted = TARGETS[kind]
  const { value: commands } = useAnswer('GET /_sim/commands', wanted === undefined ? undefined : {}, {
    refresh: 'once',
  })
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
