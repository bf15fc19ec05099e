import { expect, test } from 'vitest'
import { ArchiveReader, ArchiveWriter, forkState } from '../../src/kernel/archive.ts'
import type { SimulationContext } from '../../src/simulation/context.ts'
import { CONTROLLER, DeploymentLogs } from '../../src/simulation/recording/deployment-logs.ts'

const context = { clock: { now: 7 } } as unknown as SimulationContext

test('each line keeps its fields while older lines are dropped, in forks and after a snapshot too', {
  tags: 'slow',
}, () => {
  const logs = new DeploymentLogs(context)
  const append = (to: DeploymentLogs, count: number) => {
    for (let i = 0; i < count; i++) {
      to.append(i % 3, i, 'instance.ready')
      to.append(i % 3, i, 'instance.placed', { node: `node-${i}`, gpus: i })
      // The same kind with other fields.
      to.append(i % 3, CONTROLLER, 'instance.placed', { reason: null, late: i % 2 === 0, node: i / 2 })
      to.append(i % 3, i, 'instance.pending', { deployment: 'x' })
    }
  }
  append(logs, 20_000)
  const fork = new DeploymentLogs(context)
  forkState([logs], [fork])
  append(logs, 10)
  append(fork, 3_000)
  const archive = new ArchiveWriter()
  fork.archive(archive)
  const restored = new DeploymentLogs(context)
  restored.archive(new ArchiveReader(archive.values))
  append(restored, 3)

  for (const [one, last] of [
    [logs, 9],
    [fork, 2_999],
    [restored, 2],
  ] as const) {
    const lines = [...one.linesOf(last % 3)]
    expect(lines.slice(-4)).toEqual([
      { at: 7, instanceIndex: last, kind: 'instance.ready', fields: undefined },
      { at: 7, instanceIndex: last, kind: 'instance.placed', fields: { node: `node-${last}`, gpus: last } },
      {
        at: 7,
        instanceIndex: CONTROLLER,
        kind: 'instance.placed',
        fields: { reason: null, late: last % 2 === 0, node: last / 2 },
      },
      { at: 7, instanceIndex: last, kind: 'instance.pending', fields: undefined },
    ])
    const oldest = lines.find(({ fields }) => fields?.gpus !== undefined)!
    expect(oldest.fields).toEqual({ node: `node-${oldest.instanceIndex}`, gpus: oldest.instanceIndex })
    const count = [0, 1, 2].reduce((sum, deployment) => sum + [...one.linesOf(deployment)].length, 0)
    expect(count).toBeGreaterThanOrEqual(65_536)
    expect(count).toBeLessThanOrEqual(65_536 + 256)
  }
})
