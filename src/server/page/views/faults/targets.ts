import { useMemo } from 'preact/hooks'
import { useSession } from '../../store/session.ts'
import { useAnswer } from '../../store/use-answer.ts'

/** Which subjects of the journal are targets of a command, by the kind of target. */
const SUBJECT_KINDS: Readonly<Record<string, RegExp>> = {
  deployment: /^deployment\./,
  batch: /^batch\./,
  hosted: /^hosted\./,
  model: /^model\./,
  token: /^token\./,
}

/** Returns the names that a command could be given to. The simulator checks the one that is sent. */
export function useTargets(kind: string | undefined): readonly string[] {
  const { feed } = useSession()
  const ofFleet = kind === 'node' || kind === 'gpu' || kind === 'pool' || kind === 'zone' || kind === 'gpuType'
  const { value: nodes } = useAnswer('GET /_sim/cluster/nodes', ofFleet ? {} : undefined, { refresh: 'once' })
  const revision = feed.revision.value
  return useMemo(() => {
    switch (kind) {
      case 'node':
        return (nodes ?? []).map(({ name }) => name)
      case 'gpu':
        return (nodes ?? [])
          .slice(0, 20)
          .flatMap(({ name, gpus }) => Array.from({ length: gpus }, (_, i) => `${name}/${i}`))
      case 'pool':
        return [...new Set((nodes ?? []).map(({ pool }) => pool))]
      case 'zone':
        return [...new Set((nodes ?? []).map(({ zone }) => zone))]
      case 'gpuType':
        return [...new Set((nodes ?? []).map(({ gpu }) => gpu))]
      default: {
        const pattern = SUBJECT_KINDS[kind ?? '']
        if (pattern === undefined) return []
        return [...new Set(feed.entries.filter(entry => pattern.test(entry.kind)).map(({ subject }) => subject))]
      }
    }
  }, [kind, nodes, revision])
}
