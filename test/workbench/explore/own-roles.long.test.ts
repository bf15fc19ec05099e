/** Own endpoints under many runs: a client that polls on, and a careful one under random plans. */
import { expect, test } from 'vitest'
import { type Pod, podClient, type Run, reportOf, signaturesOf } from './own-pods.ts'

/** Waits for the end of a pod that ends by itself after a minute. */
const wait =
  (phases: readonly string[], onError: 'repeat' | 'leave' | 'read on'): Run =>
  async context => {
    const { call, get, create } = podClient(context)
    const { podId } = await create('job', { minutes: 1 })
    for (;;) {
      const read = onError === 'repeat' ? get(podId) : call<Pod>('GET', `/pods/${podId}`)
      const pod = await read.catch(error => {
        if (onError === 'repeat') throw error
        return undefined
      })
      if (phases.includes(pod?.phase ?? '') || (onError === 'leave' && pod === undefined)) break
      await context.sleep(15_000)
    }
    return { podId, phase: 'over' }
  }

test('a client that polls on after the end is a finding, and is stopped in later runs', async () => {
  const outage = { on: 'getPod', nth: 1, for: '5m', fault: { kind: 'status', status: 503 } } as const
  const { findings, runs } = await reportOf(
    wait(['RUNNING'], 'read on'),
    { faults: [outage] },
    { classes: ['latency'] },
  )
  // It also polls on after its token was revoked.
  expect(signaturesOf(findings)).toEqual(['settles@getPod/error', 'settles@getPod/ok'])
  const [, { why, also }] = findings as [unknown, (typeof findings)[number]]
  expect(why).toContain('nothing can change any more')
  expect(signaturesOf(also)).toEqual(['readsEnd@getPod/ok'])
  expect(also[0]!.why).toMatch(/the pod pod_\w+ is EXITED\. The client polled on/)
  expect(runs).toBeGreaterThan(1)
  const careful = await reportOf(wait(['RUNNING', 'EXITED'], 'repeat'), { faults: [outage] })
  expect(signaturesOf(careful.findings)).toEqual([])
})

test('a client that leaves at the first bad poll has not read the end, which it usually reads', async () => {
  const { findings } = await reportOf(wait(['EXITED'], 'leave'), {}, { classes: ['status503'] })
  expect(signaturesOf(findings)).toEqual(['readsEnd@getPod/ok'])
})

test('a careful client is accused of nothing, also under random plans', async () => {
  const careful: Run = async context => {
    const { call, again, create, until, get, remove, invoicesOf } = podClient(context)
    const { podId } = await create('chat')
    try {
      const { phase, volumeGb } = await until(podId, ['RUNNING', 'EXITED'])
      // An earlier start of this client has done its work.
      if (phase === 'EXITED' && (await invoicesOf(podId)).length > 0) return { podId, volume: volumeGb, phase }
      if (phase === 'EXITED') throw new Error(`the pod ${podId} is EXITED`)
      await again(async () => {
        await call('PATCH', `/pods/${podId}`, { volumeGb: 50 })
        if ((await get(podId)).volumeGb !== 50) throw new Error(`the pod ${podId} has another volume`)
      })
      await again(async () => (await invoicesOf(podId)).length > 0 || (await call('POST', '/invoices', { podId })))
      await context.sleep(600_000)
      await again(async () => {
        if ((await get(podId)).phase === 'RUNNING') await call('POST', `/pods/${podId}/stop`)
      })
      const ended = await until(podId, ['EXITED'])
      return { podId, volume: ended.volumeGb, phase: ended.phase }
    } catch (error) {
      await remove(podId)
      throw error
    }
  }
  const { findings } = await reportOf(careful, {}, { faults: 'swarm', budget: 500 })
  expect(findings.map(({ signature, why }) => [signature, why])).toEqual([])
})
