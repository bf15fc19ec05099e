/** Own endpoints are judged as those of the provider are: by the roles of their declarations. */

import { expect, test } from 'vitest'
import { sendTo } from '../../setup/send-to.ts'
import { type Pod, podClient, type Run, reportOf, signaturesOf } from './own-pods.ts'

/** Changes the volume of a pod, and does not look at the answer unless it is careful. */
const resize =
  (isCareful: boolean): Run =>
  async context => {
    const { call, again, create, get, until } = podClient(context)
    const { podId } = await create('chat')
    await until(podId, ['RUNNING'])
    const patch = () => call('PATCH', `/pods/${podId}`, { volumeGb: 50 })
    if (!isCareful) await patch().catch(() => {})
    else {
      await again(async () => {
        await patch()
        if ((await get(podId)).volumeGb !== 50) throw new Error(`the pod ${podId} has another volume`)
      })
    }
    return { podId, volume: 'as asked for' }
  }

test('a setting that was swallowed is a finding, also if the service answered 204', { tags: 'slow' }, async () => {
  const { findings } = await reportOf(resize(false), {}, { classes: ['status503'] })
  expect(signaturesOf(findings)).toEqual(['doneAsSaid@patchPod/ok'])
  expect(findings[0]!.why).toContain("the setting volumeGb of the pod 'chat' did not take effect")
  const own = [{ on: 'patchPod', fault: { kind: 'status', status: 204 } }] as const
  const swallowed = await reportOf(resize(false), { faults: own }, { classes: ['latency'] })
  expect(signaturesOf(swallowed.findings)).toEqual(['doneAsSaid@patchPod/ok'])
  const careful = await reportOf(resize(true), { faults: own }, { faults: 'swarm', budget: 60 })
  expect(signaturesOf(careful.findings)).toEqual([])
})

test('a change that a made-up success replaced is a finding, although the client reads no answer to it', {
  tags: 'slow',
}, async () => {
  const unread =
    (isCareful: boolean): Run =>
    async context => {
      const { again, create, get, until } = podClient(context)
      const { podId } = await create('chat')
      await until(podId, ['RUNNING'])
      await again(async () => {
        const answer = await sendTo(context, `PATCH /rest/pods/${podId}`, { volumeGb: 50 })
        if (!answer.ok) throw new Error(`${answer.status}`)
        if (isCareful && (await get(podId)).volumeGb !== 50) throw new Error(`the pod ${podId} has another volume`)
      })
      return podId
    }
  for (const status of [200, 204]) {
    const faults = [{ on: 'patchPod', fault: { kind: 'status', status } }] as const
    const { findings } = await reportOf(unread(false), { faults }, { classes: ['latency'] })
    expect(signaturesOf(findings)).toEqual(['doneAsSaid@patchPod/ok'])
    expect(signaturesOf((await reportOf(unread(true), { faults }, { classes: ['latency'] })).findings)).toEqual([])
  }
})

/** Stops a pod, and says that it is stopped. */
const stop =
  (isCareful: boolean): Run =>
  async context => {
    const { call, again, create, until } = podClient(context)
    const { podId } = await create('chat')
    await until(podId, ['RUNNING', 'EXITING', 'EXITED'])
    const order = () => call('POST', `/pods/${podId}/stop`)
    await (isCareful ? again(order).then(() => until(podId, ['EXITED'])) : order().catch(() => {}))
    return { stopped: podId }
  }

test('an order that was swallowed is a finding', { tags: 'slow' }, async () => {
  const { findings } = await reportOf(stop(false), {}, { classes: ['status503'] })
  expect(signaturesOf(findings)).toEqual(['doneAsSaid@stopPod/ok'])
  expect(findings[0]!.why).toContain("the order to stop the pod 'chat' did not take effect")
  expect(signaturesOf((await reportOf(stop(true))).findings)).toEqual([])
})

/** Pays for a pod. */
const pay =
  (isCareful: boolean): Run =>
  async context => {
    const { call, again, create, invoicesOf } = podClient(context)
    const { podId } = await create('chat')
    const send = () => call('POST', '/invoices', { podId })
    await again(async () => (isCareful && (await invoicesOf(podId)).length > 0) || (await send()))
    return { podId, isPaid: true }
  }

/** Pays by a request that can be repeated. */
const settle: Run = async context => {
  const { call, again, create } = podClient(context)
  const { podId } = await create('chat')
  await again(() => call('PUT', `/pods/${podId}/invoice`))
  return { podId, isPaid: true }
}

test('a payment that was made twice is a finding, although its record has ended', { tags: 'slow' }, async () => {
  const { findings } = await reportOf(pay(false), {}, { classes: ['resetDone'] })
  expect(signaturesOf(findings)).toEqual(['idempotentRestart@payInvoice/crash', 'noDouble@payInvoice/ok'].sort())
  expect(signaturesOf((await reportOf(settle)).findings)).toEqual([])
  expect(findings.map(({ why }) => why).join()).toContain("'pay invoice' took effect 2 times, and without faults 1")
  expect(signaturesOf((await reportOf(pay(true), {}, { faults: 'swarm', budget: 60 })).findings)).toEqual([])
})

test('a pod that ended is not returned as if it ran, unless the result says so', { tags: 'slow' }, async () => {
  const start =
    (shows: boolean): Run =>
    async context => {
      const { call, create } = podClient(context)
      const { podId } = await create('job', { minutes: 20 })
      for (let polls = 0; polls < 90; polls++) {
        const { phase = '' } = await call<Pod>('GET', `/pods/${podId}`).catch((): Partial<Pod> => ({}))
        if (/RUNNING|EXITED/.test(phase)) return shows ? { podId, phase } : { podId }
        await context.sleep(60_000)
      }
      throw new Error(`pod ${podId} is not running`)
    }
  const outage = { on: 'getPod', nth: 1, for: '30m', fault: { kind: 'status', status: 503 } } as const
  const more = [{ faults: [outage] }, { classes: ['latency'] }] as const
  const { findings } = await reportOf(start(false), ...more)
  expect(signaturesOf(findings)).toEqual(['noSilentLoss@getPod/ok'])
  expect(findings[0]!.why).toContain('as if it were done')
  expect(signaturesOf((await reportOf(start(true), ...more)).findings)).toEqual([])
})

test('a pod that is left is a leak', { tags: 'slow' }, async () => {
  const leak: Run = async context => {
    const { call, again } = podClient(context)
    return (await again(() => call<Pod>('POST', '/pods', { title: 'chat' }))).podId
  }
  const { findings } = await reportOf(leak, {}, { classes: ['resetDone'] })
  expect(findings.map(({ invariant }) => invariant)).toContain('noLeak')
})

test('a signature names the create if the last request of the client has no operation', { tags: 'slow' }, async () => {
  const blind: Run = async ({ fetch, url, token }) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const options = { method: 'POST', headers, body: '{"title":"chat"}', signal: AbortSignal.timeout(45_000) }
    const pod: Partial<Pod> = await fetch(`${url}/rest/pods`, options).then(
      answer => answer.json(),
      () => ({}),
    )
    const read = await fetch(`${url}/rest/${pod.podId === undefined ? 'none' : `pods/${pod.podId}`}`, { headers })
    if (!read.ok) throw new Error(`no pod: ${read.status}`)
    return pod.podId
  }
  const { findings } = await reportOf(blind, {}, { classes: ['resetDone'] })
  expect(signaturesOf(findings)).toContain('noLeak@createPod/error')
  expect(signaturesOf(findings).filter(signature => signature.includes('@/'))).toEqual([])
})
