/** What another user with the account does, and what fails for good: commands to batches, deployments and files. */
import { describe, expect, test } from 'vitest'
import { batchOf, linesIn, many } from './batch-world.ts'
import { pass, passUntil, spec, stage } from './small-world.ts'

const shared = () => many(40)
const own = () => many(4_000, { model: 'acme/chat' })

describe('a batch', () => {
  test('ends as cancelled with what was done', () => {
    const sim = stage()
    const batch = batchOf(sim, many(400))
    passUntil(sim, () => (batch.toRecord().request_counts?.completed ?? 0) > 5)
    sim.cluster.batch(batch.id).cancel()
    passUntil(sim, () => batch.status === 'cancelled')
    expect(linesIn(sim, batch.toRecord().output_file_id).length).toBeGreaterThan(5)
    expect(() => sim.cluster.batch(batch.id).cancel()).toThrow(`Failed to cancel the batch '${batch.id}'`)
  })

  test('fails while it is validated, and has no output', () => {
    const sim = stage()
    const batch = batchOf(sim, many(20))
    sim.cluster.batch(batch.id).fail()
    expect(batch.toRecord()).toMatchObject({ status: 'failed', errors: { data: [{ code: 'internal_error' }] } })
    pass(sim, '1h')
    expect(batch.toRecord()).toMatchObject({ status: 'failed', output_file_id: null })
  })

  test.each(['finalizing', 'cancelling'])('is refused while it is %s: then it can only end so', status => {
    const sim = stage()
    const batch = batchOf(sim, many(20))
    passUntil(sim, () => batch.status === 'in_progress')
    if (status === 'cancelling') batch.cancel()
    passUntil(sim, () => batch.status === status)
    expect(() => sim.cluster.batch(batch.id).fail()).toThrow(`it is ${status}. Only a batch that is validating or`)
    expect(batch.status).toBe(status)
  })

  test.each([
    ['of a deployment', own, true],
    ['on shared capacity', shared, true],
    ['that is validated', shared, false],
  ])('%s makes no progress until it expires', { tags: 'slow' }, (_, lines, isRunning) => {
    const sim = stage()
    const deployment = sim.world.deployments.createLlm(spec())
    passUntil(sim, () => deployment.status === 'running')
    const batch = batchOf(sim, lines())
    const done = () => batch.toRecord().request_counts?.completed ?? 0
    if (isRunning) passUntil(sim, () => batch.status === 'in_progress')
    sim.cluster.batch(batch.id).stall()
    const before = done()
    pass(sim, '20h')
    expect([batch.status, done()]).toEqual(['in_progress', before])
    pass(sim, '5h')
    expect(batch.status).toBe('expired')
  })
})

describe('a deployment', () => {
  test.each([
    ['stop', 'stopped'],
    ['delete', 'deleted'],
    ['fail', 'failed'],
  ] as const)('%s: it is %s, once', (end, status) => {
    const sim = stage()
    const deployment = sim.world.deployments.createLlm(spec())
    passUntil(sim, () => deployment.status === 'running')
    sim.cluster.deployment(deployment.deploy_id)[end]()
    expect(deployment.status).toBe(status)
    expect(() => sim.cluster.deployment(deployment.deploy_id)[end]()).toThrow(`it is ${status} already`)
  })
})

test('a file is deleted, and an unknown one is refused', () => {
  const sim = stage()
  const batch = batchOf(sim, many(5))
  passUntil(sim, () => batch.status === 'completed')
  const { output_file_id } = batch.toRecord()
  sim.cluster.file.delete(output_file_id!)
  expect(sim.world.files.get(output_file_id!)).toBeUndefined()
  expect(() => sim.cluster.file.delete(output_file_id!)).toThrow('Failed to delete the file')
})
